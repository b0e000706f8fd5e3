import torch
from vit_pytorch import SimpleViT, ViT
from vit_pytorch.cct import CCT

torch.manual_seed(0)
pictures, labels = torch.randn(2, 3, 32, 32), torch.tensor([0, 3])
for model in (
    ViT(image_size=32, patch_size=8, num_classes=5, dim=32, depth=2, heads=2, mlp_dim=64),
    SimpleViT(image_size=32, patch_size=8, num_classes=5, dim=32, depth=2, heads=2, mlp_dim=64),
    CCT(img_size=(32, 32), embedding_dim=32, num_layers=2, num_heads=2, mlp_ratio=2, num_classes=5),
):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(3):
        loss = torch.nn.functional.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(type(model).__name__, f"{loss.item():.5f}")
