import torch
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

torch.manual_seed(0)
layers = Decoder(dim=32, depth=2, heads=2, rotary_pos_emb=True, ff_glu=True)
model = AutoregressiveWrapper(TransformerWrapper(num_tokens=50, max_seq_len=24, attn_layers=layers))
tokens = torch.randint(0, 50, (2, 20))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(4):
    loss = model(tokens)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f}")
model.eval()
print(model.generate(tokens[:1, :4], 6, temperature=0.0).tolist())
