import torch
from pytorch_metric_learning import losses, miners

torch.manual_seed(0)
points, labels = torch.randn(24, 8, requires_grad=True), torch.arange(24) % 4
for loss in (
    losses.TripletMarginLoss(),
    losses.NTXentLoss(),
    losses.ContrastiveLoss(),
    losses.ArcFaceLoss(4, 8),
):
    pairs = miners.MultiSimilarityMiner()(points, labels)
    value = (
        loss(points, labels)
        if isinstance(loss, losses.ArcFaceLoss)
        else loss(points, labels, pairs)
    )
    points.grad = None
    value.backward()
    print(type(loss).__name__, f"{value.item():.5f} {points.grad.abs().sum().item():.4f}")
