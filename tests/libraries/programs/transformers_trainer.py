import tempfile
from pathlib import Path

import torch
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

torch.manual_seed(0)
rows = torch.randint(0, 60, (48, 12)).tolist()
data = [{"input_ids": row, "labels": row} for row in rows]


class Printer(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        shown = {
            k: v
            for k, v in logs.items()
            if k in ("loss", "grad_norm", "learning_rate", "eval_loss")
        }
        print(state.global_step, *(f"{k} {v:.6f}" for k, v in sorted(shown.items())))


def model():
    torch.manual_seed(1)
    return GPT2LMHeadModel(
        GPT2Config(n_layer=2, n_head=2, n_embd=16, vocab_size=60, n_positions=16)
    )


def trainer(folder, steps):
    args = TrainingArguments(
        folder, max_steps=steps, per_device_train_batch_size=8, gradient_accumulation_steps=2, learning_rate=5e-3,
        warmup_steps=2, logging_steps=1, save_steps=4, eval_strategy="steps", eval_steps=4, seed=7,
        report_to=[], disable_tqdm=True, use_cpu=True,
    )  # fmt: skip
    made = Trainer(
        model(), args, train_dataset=data[:40], eval_dataset=data[40:], callbacks=[Printer()]
    )
    made.remove_callback(PrinterCallback)  # it prints how long things took
    return made


with tempfile.TemporaryDirectory() as folder:
    first = trainer(folder, 8)
    first.train()
    print("resumed")
    again = trainer(folder, 8)
    again.train(resume_from_checkpoint=str(Path(folder, "checkpoint-4")))
    same = [
        torch.allclose(a, b, atol=1e-6)
        for a, b in zip(first.model.parameters(), again.model.parameters(), strict=True)
    ]
    print(all(same), len(same), sorted(p.name for p in Path(folder, "checkpoint-8").iterdir()))
    loaded = GPT2LMHeadModel.from_pretrained(Path(folder, "checkpoint-8"))
    print(f"{loaded(torch.tensor(rows[:4]), labels=torch.tensor(rows[:4])).loss.item():.6f}")
