import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import EarlyStopping, EpochScoring, LRScheduler

torch.manual_seed(0)
x, y = make_classification(200, 8, n_informative=5, random_state=0)
x, y = x.astype(np.float32), y.astype(np.int64)


class Net(torch.nn.Module):
    def __init__(self, width=10):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(8, width), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(width, 2), torch.nn.Softmax(-1)
        )  # fmt: skip

    def forward(self, x):
        return self.layers(x)


callbacks = [
    EpochScoring("roc_auc", lower_is_better=False),
    LRScheduler("StepLR", step_size=2),
    EarlyStopping(patience=5),
]
net = NeuralNetClassifier(
    Net,
    max_epochs=4,
    lr=0.1,
    optimizer=torch.optim.SGD,
    optimizer__momentum=0.9,
    iterator_train__shuffle=True,
    callbacks=callbacks,
    verbose=0,
)
net.fit(x, y)
for row in net.history:
    print(
        row["epoch"],
        *(f"{row[key]:.6f}" for key in ("train_loss", "valid_loss", "valid_acc", "roc_auc")),
    )
print(net.predict(x[:10]).tolist(), *(f"{p:.5f}" for p in net.predict_proba(x[:3]).ravel()))
net.partial_fit(x, y)
print(f"{net.history[-1, 'train_loss']:.6f}")
search = GridSearchCV(
    NeuralNetClassifier(Net, max_epochs=2, verbose=0, train_split=None),
    {"lr": [0.01, 0.1], "module__width": [4, 12]},
    cv=3,
    scoring="accuracy",
    refit=False,
)
search.fit(x, y)
print(search.best_params_, *(f"{s:.5f}" for s in search.cv_results_["mean_test_score"]))
regressor = NeuralNetRegressor(
    torch.nn.Linear, module__in_features=8, module__out_features=1, max_epochs=3, verbose=0
)
regressor.fit(x, x[:, :1] * 2)
print(*(f"{v:.6f}" for v in regressor.history[:, "valid_loss"]))
