"""Lesson 0: a tree of modules that finds every parameter below it."""

from __future__ import annotations

from typing import Any


class Parameter:
    """A value that training may change.

    A value that knows about gradients (it has `requires_grad_`) is told to keep one.
    """

    def __init__(self, x: Any, name: str | None = None) -> None:
        self.name = name
        self.update(x)

    def update(self, x: Any) -> None:
        """Replace the value."""
        self.value = x
        if hasattr(x, "requires_grad_"):
            x.requires_grad_(True)
            if self.name is not None:
                x.name = self.name

    def __repr__(self) -> str:
        return repr(self.value)

    def __str__(self) -> str:
        return str(self.value)


class Module:
    """A node of a tree: it holds parameters, child modules, and whatever else is set on it.

    Assigning a `Parameter` or a `Module` to an attribute files it in `_parameters` or
    `_modules`; anything else is an ordinary attribute. Subclasses call
    `super().__init__()` before they assign, and write `forward`.

    >>> class Line(Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.slope = Parameter(2.0)
    ...
    ...     def forward(self, x):
    ...         return self.slope.value * x
    >>> Line()(3.0), Line().named_parameters()
    (6.0, [('slope', 2.0)])

    `mode` says in a word what `training` says: "train" or "eval".
    """

    _modules: dict[str, Module]
    _parameters: dict[str, Parameter]
    training: bool

    def __init__(self) -> None:
        self.__dict__.update(_modules={}, _parameters={}, training=True)

    def modules(self) -> list[Module]:
        """The direct children."""
        return list(self._modules.values())

    def train(self) -> None:
        """Put this module and all below it into training mode."""
        self._set_training(True)

    def eval(self) -> None:
        """Put this module and all below it into evaluation mode."""
        self._set_training(False)

    def _set_training(self, training: bool) -> None:
        self.training = training
        for child in self.modules():
            child._set_training(training)

    def named_parameters(self) -> list[tuple[str, Parameter]]:
        """(dotted name, parameter) for this module and all below it, its own first."""
        named = list(self._parameters.items())
        for child_name, child in self._modules.items():
            named += [(f"{child_name}.{name}", p) for name, p in child.named_parameters()]
        return named

    def parameters(self) -> list[Parameter]:
        """The parameters of this module and all below it, its own first."""
        return [p for _, p in self.named_parameters()]

    def add_parameter(self, k: str, v: Any) -> Parameter:
        """Make a parameter named k out of the value v, and return it.

        Useful where parameters are counted rather than named one by one.
        """
        parameter = Parameter(v, k)
        setattr(self, k, parameter)
        return parameter

    def __setattr__(self, key: str, value: Any) -> None:
        if "_modules" not in self.__dict__:
            raise AttributeError(
                f"{type(self).__name__}: call super().__init__() before assigning {key!r}"
            )
        own = self.__dict__
        for place in (own["_parameters"], own["_modules"], own):
            place.pop(key, None)
        if isinstance(value, Parameter):
            own["_parameters"][key] = value
        elif isinstance(value, Module):
            own["_modules"][key] = value
        else:
            super().__setattr__(key, value)

    def __getattr__(self, key: str) -> Any:
        # Only called where ordinary look-up found nothing.
        for place in ("_parameters", "_modules"):
            found = self.__dict__.get(place, {})
            if key in found:
                return found[key]
        if key == "mode" and "training" in self.__dict__:
            return "train" if self.training else "eval"
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {key!r}")

    def __delattr__(self, key: str) -> None:
        for place in (self._parameters, self._modules):
            if key in place:
                del place[key]
                return
        super().__delattr__(key)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the module's output; every subclass that is called writes its own."""
        raise NotImplementedError(f"{type(self).__name__} has no forward method")

    def __repr__(self) -> str:
        if not self._modules:
            return f"{type(self).__name__}()"
        lines = []
        for name, child in self._modules.items():
            first, *rest = repr(child).split("\n")
            lines.append(f"  ({name}): {first}")
            lines += [f"  {line}" for line in rest]
        return "\n".join([f"{type(self).__name__}(", *lines, ")"])
