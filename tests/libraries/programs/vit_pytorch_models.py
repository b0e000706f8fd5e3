import torch
from torch.nn import functional
from vit_pytorch import SimpleViT, ViT
from vit_pytorch.cait import CaiT
from vit_pytorch.cct import CCT
from vit_pytorch.deepvit import DeepViT
from vit_pytorch.distill import DistillableViT, DistillWrapper
from vit_pytorch.levit import LeViT
from vit_pytorch.max_vit import MaxViT
from vit_pytorch.t2t import T2TViT


def train(name, model, images, loss_of):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(2):
        loss = loss_of(model, images)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(name, f"{loss.item():.6f}")


def classify(model, images):
    return functional.cross_entropy(model(images), torch.arange(images.shape[0]))


small = {
    "image_size": 32,
    "patch_size": 8,
    "num_classes": 5,
    "dim": 32,
    "depth": 2,
    "heads": 4,
    "mlp_dim": 48,
}
makers = {
    "ViT": lambda: ViT(**small, dropout=0.1, emb_dropout=0.1),
    "SimpleViT": lambda: SimpleViT(**small),
    "DeepViT": lambda: DeepViT(**small),
    "CaiT": lambda: CaiT(**{**small, "dim_head": 8}, cls_depth=1, layer_dropout=0.0),
    "T2TViT": lambda: T2TViT(
        image_size=32,
        dim=32,
        depth=2,
        heads=2,
        mlp_dim=32,
        num_classes=5,
        t2t_layers=((3, 2), (3, 2)),
    ),
    "CCT": lambda: CCT(
        img_size=32,
        embedding_dim=32,
        n_conv_layers=1,
        kernel_size=3,
        stride=2,
        padding=1,
        num_layers=2,
        num_heads=2,
        mlp_ratio=2.0,
        num_classes=5,
    ),
    "LeViT": lambda: LeViT(
        image_size=32, num_classes=5, stages=2, dim=(16, 24), depth=2, heads=(2, 3), mlp_mult=2
    ),
    "MaxViT": lambda: MaxViT(
        num_classes=5,
        dim_conv_stem=16,
        dim=16,
        dim_head=8,
        depth=(1, 1),
        window_size=4,
        mbconv_expansion_rate=2,
        dropout=0.1,
    ),
}
for name, make in makers.items():
    torch.manual_seed(2)
    train(name, make(), torch.randn(4, 3, 32, 32), classify)
torch.manual_seed(2)
images = torch.randn(4, 3, 32, 32)
distiller = DistillWrapper(
    student=DistillableViT(**small), teacher=ViT(**small), temperature=3, alpha=0.5, hard=False
)
train("distill", distiller, images, lambda m, x: m(x, torch.arange(4)))
