import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
base = GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=2, n_embd=32, vocab_size=100, n_positions=64))
model = get_peft_model(base, LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True))
trained = [p for p in model.parameters() if p.requires_grad]
print(sum(p.numel() for p in trained))
tokens = torch.randint(0, 100, (2, 16))
optimizer = torch.optim.AdamW(trained, lr=1e-2)
for _ in range(4):
    loss = model(input_ids=tokens, labels=tokens).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f}")
merged = model.merge_and_unload().eval()
print(f"{merged(input_ids=tokens, labels=tokens).loss.item():.5f}")
