import torch
from einops import rearrange, reduce, repeat
from einops.layers.torch import Rearrange, Reduce

torch.manual_seed(0)
model = torch.nn.Sequential(
    Rearrange("b c (h p) (w q) -> b (h w) (c p q)", p=4, q=4), torch.nn.Linear(48, 16), torch.nn.GELU(),
    Reduce("b n d -> b d", "mean"), torch.nn.Linear(16, 3),
)  # fmt: skip
x, y = torch.randn(8, 3, 16, 16), torch.arange(8) % 3
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.6f}")
print(
    rearrange(x, "b c h w -> h (b w c)").shape,
    f"{reduce(x, 'b c h w -> c', 'max').sum().item():.5f}",
)
print(repeat(torch.arange(3), "n -> (n 2)").tolist())
