"""safetensors' own functions for Torch: files of tensors, shared weights, metadata, whole models."""

import hashlib
import tempfile
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model

TYPES = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool".split()

torch.manual_seed(0)
tensors = {name: (torch.randn(3, 5) * 40).to(getattr(torch, name)) for name in TYPES}
tensors["scalar"] = torch.tensor(2.5)
tensors["empty"] = torch.zeros(0, 4)
folder = Path(tempfile.mkdtemp())
file = folder / "tensors.safetensors"
save_file(tensors, file, metadata={"format": "pt"})
print(hashlib.sha256(file.read_bytes()).hexdigest())
for name, value in sorted(load_file(file).items()):
    print(
        name,
        value.dtype,
        tuple(value.shape),
        torch.equal(value, tensors[name]),
        f"{value.double().sum():.6f}",
    )
with safe_open(file, framework="pt", device="cpu") as opened:
    part = opened.get_slice("float32")
    print(opened.metadata(), sorted(opened.keys()), part.get_shape(), part[1:, ::1].sum().item())
print(sorted(load(save(tensors))) == sorted(tensors))


class Tied(torch.nn.Module):
    """Two layers with one weight."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(7, 4)
        self.head = torch.nn.Linear(4, 7, bias=False)
        self.norm = torch.nn.BatchNorm1d(4)
        self.head.weight = self.embedding.weight


model, other = Tied(), Tied()
try:
    save_file(model.state_dict(), folder / "tied.safetensors")
except RuntimeError as error:
    print(str(error).split(":")[0].strip())
try:
    save_file({"column": torch.randn(3, 4)[:, 0]}, folder / "column.safetensors")
except ValueError as error:
    print(str(error).split(":")[0].strip())
save_model(model, str(folder / "model.safetensors"))
print(*load_model(other, str(folder / "model.safetensors")))
for name, value in other.state_dict().items():
    print(name, torch.equal(value, model.state_dict()[name]), f"{value.double().sum():.6f}")
print(other.head.weight is other.embedding.weight)
