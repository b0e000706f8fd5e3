import torch
import torchmetrics

torch.manual_seed(0)
scores, target = torch.randn(40, 4).softmax(-1), torch.randint(0, 4, (40,))
for metric in (
    torchmetrics.Accuracy("multiclass", num_classes=4),
    torchmetrics.F1Score("multiclass", num_classes=4, average="macro"),
    torchmetrics.AUROC("multiclass", num_classes=4),
    torchmetrics.ConfusionMatrix("multiclass", num_classes=4),
):
    for part in range(0, 40, 10):
        metric.update(scores[part : part + 10], target[part : part + 10])
    print(type(metric).__name__, *(f"{v:.5f}" for v in metric.compute().flatten().tolist()))
x, y = torch.randn(50), torch.randn(50)
for metric in (
    torchmetrics.MeanSquaredError(),
    torchmetrics.PearsonCorrCoef(),
    torchmetrics.R2Score(),
):
    print(type(metric).__name__, f"{metric(x, y).item():.5f}")
