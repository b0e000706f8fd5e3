import tempfile

import torch
from fastai.basics import DataLoader, DataLoaders, Learner, accuracy, set_seed
from fastai.callback.all import GradientClip
from fastai.losses import CrossEntropyLossFlat
from fastai.optimizer import Adam, ranger

set_seed(4, reproducible=True)
x = torch.randn(120, 5)
y = (x[:, 0] * x[:, 1] > 0).long()
pairs = list(zip(x, y, strict=True))


def learner(folder, opt):
    torch.manual_seed(4)
    dls = DataLoaders(DataLoader(pairs[:96], bs=16, shuffle=True), DataLoader(pairs[96:], bs=12))
    net = torch.nn.Sequential(
        torch.nn.Linear(5, 24), torch.nn.BatchNorm1d(24), torch.nn.ReLU(), torch.nn.Linear(24, 2)
    )
    return Learner(
        dls, net, loss_func=CrossEntropyLossFlat(), opt_func=opt, metrics=accuracy, path=folder
    )


with tempfile.TemporaryDirectory() as folder:
    for opt in (Adam, ranger):
        learn = learner(folder, opt)
        with learn.no_bar(), learn.no_logging():
            learn.fit_one_cycle(3, 1e-2, cbs=[GradientClip(0.3)])
            print(*(f"{v:.6f}" for row in learn.recorder.values for v in row))
            learn.fit_flat_cos(2, 5e-3)
            print(*(f"{v:.6f}" for row in learn.recorder.values for v in row))
            learn.save("model")
            probabilities, targets = learn.get_preds()
            learn.fit(1, 0.1)
            learn.load("model")
            again, _ = learn.get_preds()
        print(
            torch.equal(probabilities, again),
            *(f"{v:.5f}" for v in probabilities[:3].flatten().tolist()),
        )
        print(*(f"{v:.6f}" for v in learn.recorder.lrs[:6]))
