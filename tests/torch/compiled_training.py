"""Random training runs, compiled and eager: models, optimizers, and what people do between steps.

A run is a small model, an optimizer and a step (accumulated gradients, clipping, autocast, masks, hooks, a scaled loss, ...), which is
called a dozen times; between calls something may change: a learning rate, `training`, a shape, a parameter's memory, hooks,
groups, the seed. After each call losses, parameters, gradients, buffers, the optimizer's state and the random state must agree.

    python -m tests.torch.compiled_training 500           # the runs 0 to 499
    python -m tests.torch.compiled_training 500 10000     # others
    python -m tests.torch.compiled_training 200 --native  # compiled before the first play, and compared to rounding
"""

from __future__ import annotations

import random
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import minitorch.torch as library
from minitorch.torch.compiler.compiled import Compiled

from .compile_cases.ways import Numbers, agree
from .compiled_programs import native

torch: Any = library
nn, functional = torch.nn, torch.nn.functional
CALLS = 12
WIDE = 6


# --- Models --------------------------------------------------------------------------------------


class Residual(nn.Module):
    """Adds what a layer makes of its input."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner, self.scale, self.skips = inner, 1.0, False

    def forward(self, x: Any) -> Any:
        return x if self.skips else x + self.scale * self.inner(x)


class Masked(nn.Module):
    """Leaves out what is small, in one of several ways."""

    def __init__(self, way: int) -> None:
        super().__init__()
        self.way = way
        self.register_buffer("seen", torch.zeros(WIDE))

    def forward(self, x: Any) -> Any:
        small = x.abs() < 0.1
        self.seen.add_(small.sum(0))
        if self.way == 0:
            return x.masked_fill(small, 0.0)
        if self.way == 1:
            return torch.where(small, x * 0.1, x)
        if self.way == 2:
            return x * (~small)
        made = x.clone()
        made[:, ::2] *= 0.5
        return made


class Attention(nn.Module):
    """Rows attend to each other."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(WIDE, 3 * WIDE)

    def forward(self, x: Any) -> Any:
        q, k, v = self.project(x).unsqueeze(0).chunk(3, dim=-1)
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True).squeeze(0)


def layer(chance: random.Random, depth: int = 0) -> Any:
    """A layer that keeps the width."""
    makers: list[Callable[[], Any]] = [
        lambda: nn.Linear(WIDE, WIDE), lambda: nn.Linear(WIDE, WIDE, bias=False), nn.ReLU, nn.Tanh, nn.GELU, nn.SiLU,
        lambda: nn.LayerNorm(WIDE), lambda: nn.BatchNorm1d(WIDE), lambda: nn.Dropout(0.3), lambda: nn.Softmax(dim=1),
        lambda: Masked(chance.randrange(4)), Attention, lambda: nn.PReLU(), lambda: nn.RMSNorm(WIDE),
    ]  # fmt: skip
    if depth < 2 and chance.random() < 0.3:
        return Residual(layer(chance, depth + 1))
    return chance.choice(makers)()


def optimizer_for(chance: random.Random, model: Any) -> Any:
    """An optimizer with one or two groups."""
    params = list(model.parameters())
    groups = [{"params": params}]
    if chance.random() < 0.4:
        groups = [{"params": params[:1], "lr": 0.02}, {"params": params[1:], "weight_decay": 0.1}]
    optim = torch.optim
    makers = [
        lambda: optim.SGD(groups, lr=0.05), lambda: optim.SGD(groups, lr=0.05, momentum=0.9, nesterov=chance.random() < 0.5),
        lambda: optim.Adam(groups, lr=0.01, eps=0.01, amsgrad=chance.random() < 0.3),
        lambda: optim.AdamW(groups, lr=0.01, eps=0.01), lambda: optim.RMSprop(groups, lr=0.01, eps=0.01),
        lambda: optim.Adagrad(groups, lr=0.01, eps=0.01), lambda: optim.NAdam(groups, lr=0.01, eps=0.01),
    ]  # fmt: skip
    return chance.choice(makers)()


# --- Steps ---------------------------------------------------------------------------------------


class Run:
    """A model, its optimizer, and all that a step is made of."""

    def __init__(self, seed: int) -> None:
        chance = self.chance = random.Random(seed)
        torch.manual_seed(seed)
        self.model = nn.Sequential(*[layer(chance) for _ in range(chance.randint(1, 5))])
        self.model.append(nn.Linear(WIDE, 3))
        self.model.double()
        self.optimizer = optimizer_for(chance, self.model)
        self.scheduler = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, 0.9)
        self.scaler = torch.amp.GradScaler(
            "cpu", init_scale=8.0, growth_interval=3, enabled=chance.random() < 0.2
        )
        self.parts = chance.choice((1, 1, 1, 2))
        self.to_none = chance.random() < 0.7
        self.clips = chance.choice((None, None, "norm", "value"))
        self.casts = chance.random() < 0.15
        self.task = chance.choice(("classes", "squares", "masked"))
        self.whole = chance.random() < 0.7  # or forward alone is compiled
        self.handles: list[Any] = []

    def loss(self, x: Any, y: Any) -> Any:
        """The loss of a batch."""
        with torch.autocast("cpu", enabled=self.casts):
            found = self.model(x)
        if self.task == "classes":
            return functional.cross_entropy(found, y)
        wanted = functional.one_hot(y, 3).to(found.dtype)
        error = (found - wanted).square()
        if self.task == "masked":
            error = error.masked_fill(y.unsqueeze(1) == 0, 0.0)
        return error.mean()

    def step(self, x: Any, y: Any) -> Any:
        """One step of training."""
        self.optimizer.zero_grad(set_to_none=self.to_none)
        losses = []
        for part, target in zip(x.chunk(self.parts), y.chunk(self.parts), strict=True):
            loss = self.loss(part, target) / self.parts
            self.scaler.scale(loss).backward()
            losses.append(loss.detach())
        if self.clips == "norm":
            self.scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self.model.parameters(), 0.1)
        elif self.clips == "value":
            nn.utils.clip_grad_value_(self.model.parameters(), 0.01)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return torch.stack(losses).sum()

    # --- Between steps ---------------------------------------------------------------------------

    def change(self, n: int) -> None:
        """Something that a program does between two calls, or nothing."""
        if self.chance.random() < 0.5:
            return
        model, optimizer, chance = self.model, self.optimizer, self.chance
        params = list(model.parameters())
        p = chance.choice(params)
        actions: list[Callable[[], Any]] = [
            self.scheduler.step, model.eval, model.train, lambda: torch.manual_seed(n), lambda: p.data.mul_(0.9),
            lambda: setattr(p, "grad", None), lambda: p.requires_grad_(not p.requires_grad),
            lambda: setattr(p, "data", p.data.clone()), lambda: model.load_state_dict(model.state_dict()),
            lambda: optimizer.load_state_dict(optimizer.state_dict()), self._add_hook, self._remove_hook, self._set_layer,
            lambda: optimizer.param_groups[0].update(lr=0.0), lambda: optimizer.param_groups[0].update(weight_decay=0.1),
            lambda: p.grad is None or p.grad.mul_(0.5), lambda: setattr(self, "parts", 3 - self.parts),
            lambda: model.append(nn.Linear(3, 3).double()), lambda: torch.rand(3), lambda: setattr(self, "task", "squares"),
            lambda: [b.zero_() for b in model.buffers() if b.is_floating_point()],
        ]  # fmt: skip
        chance.choice(actions)()

    def _add_hook(self) -> None:
        kind, layer = self.chance.randrange(4), self.model[self.chance.randrange(len(self.model))]
        if kind == 0:
            self.handles.append(layer.register_forward_hook(lambda m, i, o: o * 0.9))
        elif kind == 1:
            self.handles.append(layer.register_forward_pre_hook(lambda m, i: (i[0] + 0.01,)))
        elif kind == 2:
            p = self.chance.choice(list(self.model.parameters()))
            if p.requires_grad:
                self.handles.append(p.register_hook(lambda g: g * 0.5))
        else:
            self.handles.append(
                layer.register_full_backward_hook(
                    lambda m, i, o: tuple(None if g is None else g * 2 for g in i)
                )
            )

    def _remove_hook(self) -> None:
        if self.handles:
            self.handles.pop().remove()

    def _set_layer(self) -> None:
        for module in self.model.modules():
            if isinstance(module, Residual):
                module.scale, module.skips = module.scale + 0.5, self.chance.random() < 0.3
            elif isinstance(module, nn.Dropout):
                module.p = 0.5
            elif isinstance(module, nn.BatchNorm1d):
                module.momentum = 0.2

    def seen(self) -> list[Any]:
        """All that a call left behind."""
        facts: list[Any] = []
        for tensor in (*self.model.parameters(), *self.model.buffers()):
            facts.append(Numbers(tensor))
            facts.append(None if tensor.grad is None else Numbers(tensor.grad))
        for state in self.optimizer.state.values():
            facts += [Numbers(v) if isinstance(v, torch.Tensor) else v for v in state.values()]
        return [*facts, Numbers(torch.get_rng_state()), self.scaler.get_scale()]


def losses_of(run: Run, compile: Callable[[Any], Any]) -> list[Any]:
    """Train, and note everything after each call."""
    if run.whole:
        step = compile(run.step)
    else:
        run.loss, step = compile(run.loss), run.step  # type: ignore[method-assign]
    chance, found = random.Random(run.chance.random()), []
    for n in range(CALLS):
        if n > 3:
            run.change(n)
        rows = 4 if n < 6 or chance.random() < 0.7 else 6
        x = torch.randn(rows, WIDE, dtype=torch.float64, generator=torch.Generator().manual_seed(n))
        y = torch.arange(rows) % 3
        try:
            with torch.set_grad_enabled(True):
                loss = step(x, y)
            found.append(Numbers(loss))
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}")
        found.append(run.seen())
    return found


def run(seed: int, exactly: bool = True) -> str:
    """Train both ways; AssertionError where a call differs, by more than roundings if not `exactly`.

    Returns:
        "played", or why it stayed eager
    """
    made: list[Compiled] = []

    def compile(fn: Any) -> Any:
        made.append(Compiled(fn, False))
        return made[0]

    eager = losses_of(Run(seed), lambda fn: fn)
    compiled = losses_of(Run(seed), compile)
    for n, (a, b) in enumerate(zip(eager, compiled, strict=True)):
        assert agree(a, b, exactly), f"run {seed}, call {n // 2}"
    return "played" if made[0].traced else made[0].eager or "traced"


def main(count: int, first: int = 0, *, exactly: bool = True) -> int:
    """Run so many and say which differ."""
    outcomes: Counter[str] = Counter()
    failed = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(first, first + count):
            try:
                outcomes[run(seed, exactly).partition(" (")[0]] += 1
            except AssertionError as error:
                failed += 1
                print(str(error).partition("\n")[0], flush=True)
    for outcome, times in outcomes.most_common(12):
        print(f"{times:6}  {outcome}")
    print(f"{count} runs, {failed} differ")
    return bool(failed)


if __name__ == "__main__":
    if "--native" in sys.argv:
        sys.argv.remove("--native")
        with native():
            sys.exit(main(*map(int, sys.argv[1:]), exactly=False))
    sys.exit(main(*map(int, sys.argv[1:])))
