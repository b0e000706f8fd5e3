"""YOLO: models of four tasks are made, one learns to find boxes, and boxes are chosen among the found."""

import os
import tempfile

os.environ["YOLO_CONFIG_DIR"] = tempfile.mkdtemp()
os.environ["YOLO_VERBOSE"] = "false"

import torch
from ultralytics.cfg import get_cfg
from ultralytics.nn.tasks import ClassificationModel, DetectionModel, PoseModel, SegmentationModel
from ultralytics.utils import ops
from ultralytics.utils.nms import non_max_suppression


def shown(tensor):
    """A tensor in a few numbers."""
    return tuple(tensor.shape), f"{tensor.double().mean():.6f} {tensor.double().abs().max():.5f}"


def first(out):
    """The tensor within what a model gives."""
    while isinstance(out, (tuple, list)):
        out = out[0]
    return out


torch.manual_seed(0)
image = torch.rand(2, 3, 64, 64)
for make, file in (
    (DetectionModel, "yolov8n.yaml"),
    (DetectionModel, "yolo11n.yaml"),
    (SegmentationModel, "yolo11n-seg.yaml"),
    (PoseModel, "yolo11n-pose.yaml"),
    (ClassificationModel, "yolo11n-cls.yaml"),
):
    torch.manual_seed(1)
    model = make(file, nc=5, verbose=False).eval()
    with torch.no_grad():
        print(file, sum(p.numel() for p in model.parameters()), *shown(first(model(image))))

torch.manual_seed(2)
model = DetectionModel("yolov8n.yaml", nc=3, verbose=False)
model.args = get_cfg()
batch = {
    "img": torch.rand(2, 3, 64, 64),
    "batch_idx": torch.tensor([0.0, 0.0, 1.0]),
    "cls": torch.tensor([[0.0], [2.0], [1.0]]),
    "bboxes": torch.tensor([[0.5, 0.5, 0.4, 0.3], [0.3, 0.6, 0.2, 0.2], [0.6, 0.4, 0.5, 0.5]]),
}
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, nesterov=True)
for step in range(3):
    loss, parts = model(batch)
    optimizer.zero_grad()
    loss.sum().backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
    optimizer.step()
    print(step, *(f"{v:.4f}" for v in parts.values()), f"{norm:.3f}")
model.eval().fuse(verbose=False)
with torch.no_grad():
    found = first(model(batch["img"]))
print(*shown(found))
print(
    *shown(ops.xywh2xyxy(batch["bboxes"])),
    ops.scale_boxes((64, 64), torch.tensor([[8.0, 8.0, 40.0, 50.0]]), (128, 128)).tolist(),
)
torch.manual_seed(3)
boxes = torch.cat([torch.rand(1, 4, 30) * 40 + 10, torch.rand(1, 3, 30)], 1)
for each in non_max_suppression(boxes, conf_thres=0.6, iou_thres=0.4)[0].tolist():
    print(*(f"{v:.4f}" for v in each))
