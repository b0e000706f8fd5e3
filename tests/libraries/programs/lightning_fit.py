import logging
import tempfile
from pathlib import Path

import lightning
import torch
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.plugins.environments import LightningEnvironment
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Regression(lightning.LightningModule):
    def __init__(self, width=16, lr=0.02):
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(4, width), torch.nn.Tanh(), torch.nn.Linear(width, 1)
        )

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, index):
        loss = functional.mse_loss(self(batch[0]), batch[1])
        self.log("train", loss, on_step=True, on_epoch=True)
        return loss

    def validation_step(self, batch, index):
        self.log("valid", functional.mse_loss(self(batch[0]), batch[1]))

    def predict_step(self, batch, index):
        return self(batch[0])

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        return {
            "optimizer": optimizer,
            "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 2),
        }


class Printer(lightning.Callback):
    def on_train_epoch_end(self, trainer, module):
        print(
            trainer.current_epoch,
            *(f"{k} {v:.6f}" for k, v in sorted(trainer.callback_metrics.items())),
        )


def trainer(folder, epochs):
    best = ModelCheckpoint(folder, monitor="valid", filename="{epoch}", save_last=True)
    callbacks = [best, EarlyStopping("valid", patience=2), LearningRateMonitor(), Printer()]
    return lightning.Trainer(
        max_epochs=epochs, accelerator="cpu", callbacks=callbacks, logger=CSVLogger(folder), gradient_clip_val=0.5,
        accumulate_grad_batches=2, log_every_n_steps=1, enable_progress_bar=False, enable_model_summary=False,
        plugins=LightningEnvironment(),  # no search for MPI
    )  # fmt: skip


lightning.seed_everything(3, verbose=False)
x = torch.randn(96, 4)
y = (x[:, :1] * x[:, 1:2]).sin() + 0.1 * torch.randn(96, 1)
train = DataLoader(TensorDataset(x[:64], y[:64]), batch_size=8, shuffle=True)
valid = DataLoader(TensorDataset(x[64:], y[64:]), batch_size=16)
with tempfile.TemporaryDirectory() as folder:
    model = Regression()
    first = trainer(folder, 3)
    first.fit(model, train, valid)
    print(Path(first.checkpoint_callback.best_model_path).name, first.global_step)
    again = trainer(folder, 5)
    again.fit(
        Regression(), train, valid, ckpt_path=str(Path(folder, "last.ckpt")), weights_only=False
    )
    loaded = Regression.load_from_checkpoint(
        again.checkpoint_callback.best_model_path, weights_only=False
    )
    print(loaded.hparams.width, again.global_step)
    print(
        *(
            f"{v:.6f}"
            for batch in again.predict(loaded, valid)
            for v in batch.flatten().tolist()[:3]
        )
    )
    print(sorted(p.name for p in Path(folder).iterdir() if p.suffix == ".ckpt"))
