import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=2, n_embd=32, vocab_size=100, n_positions=64))
tokens = torch.randint(0, 100, (2, 16))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
model.train()
for _ in range(3):
    loss = model(input_ids=tokens, labels=tokens).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.6f}")
model.eval()
print(model.generate(tokens[:1, :4], max_new_tokens=8, do_sample=False, pad_token_id=0).tolist())
