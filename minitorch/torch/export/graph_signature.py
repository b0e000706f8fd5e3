"""What the inputs and outputs of an exported graph are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto


@dataclass
class TensorArgument:
    """A tensor that a graph takes or gives, by the name of its node."""

    name: str


@dataclass
class ConstantArgument:
    """A value that is no tensor, as it was when the program was exported."""

    name: str
    value: object = None


class InputKind(Enum):
    """Where an input comes from."""

    USER_INPUT = auto()
    PARAMETER = auto()
    BUFFER = auto()
    CONSTANT_TENSOR = auto()


class OutputKind(Enum):
    """What an output is for."""

    USER_OUTPUT = auto()


@dataclass
class InputSpec:
    """One input: its kind, the argument, and of parameters and buffers their name in the module."""

    kind: InputKind
    arg: TensorArgument | ConstantArgument
    target: str | None = None
    persistent: bool | None = None

    def __str__(self) -> str:
        target = "" if self.target is None else f" target='{self.target}'"
        persistent = "" if self.persistent is None else f" persistent={self.persistent}"
        return f"{self.arg.name}: {self.kind.name}{target}{persistent}"


@dataclass
class OutputSpec:
    """One output."""

    kind: OutputKind
    arg: TensorArgument | ConstantArgument
    target: str | None = None

    def __str__(self) -> str:
        return f"{self.arg.name}: {self.kind.name}"


@dataclass
class ExportGraphSignature:
    """All inputs and outputs, in the order of the graph."""

    input_specs: list[InputSpec] = field(default_factory=list)
    output_specs: list[OutputSpec] = field(default_factory=list)

    def _targets(self, kind: InputKind) -> tuple[str, ...]:
        return tuple(str(spec.target) for spec in self.input_specs if spec.kind is kind)

    def _by_name(self, kind: InputKind) -> Mapping[str, str]:
        return {s.arg.name: str(s.target) for s in self.input_specs if s.kind is kind}

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters that are inputs."""
        return self._targets(InputKind.PARAMETER)

    @property
    def buffers(self) -> tuple[str, ...]:
        """The names of the buffers that are inputs."""
        return self._targets(InputKind.BUFFER)

    @property
    def non_persistent_buffers(self) -> tuple[str, ...]:
        """The names of those that state dicts have not."""
        return tuple(str(s.target) for s in self.input_specs if s.persistent is False)

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        """The names of tensors that the program wrote down."""
        return self._targets(InputKind.CONSTANT_TENSOR)

    @property
    def user_inputs(self) -> tuple[object, ...]:
        """The names of the arguments; of those that are no tensors, their values."""
        specs = [s.arg for s in self.input_specs if s.kind is InputKind.USER_INPUT]
        return tuple(a.value if isinstance(a, ConstantArgument) else a.name for a in specs)

    @property
    def user_outputs(self) -> tuple[object, ...]:
        """The names of the results; of those that are no tensors, their values."""
        args = [spec.arg for spec in self.output_specs]
        return tuple(a.value if isinstance(a, ConstantArgument) else a.name for a in args)

    @property
    def inputs_to_parameters(self) -> Mapping[str, str]:
        """For names of nodes, the parameters that they are."""
        return self._by_name(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> Mapping[str, str]:
        """For names of nodes, the buffers that they are."""
        return self._by_name(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> Mapping[str, str]:
        """For names of nodes, the tensors that they are."""
        return self._by_name(InputKind.CONSTANT_TENSOR)

    @property
    def buffers_to_mutate(self) -> Mapping[str, str]:
        """Outputs that buffers are set to: none, buffers are written in place."""
        return {}

    def __str__(self) -> str:
        inputs, outputs = "\n".join(map(str, self.input_specs)), "\n".join(map(str, self.output_specs))  # fmt: skip
        return f"\n# inputs\n{inputs}\n\n# outputs\n{outputs}\n"
