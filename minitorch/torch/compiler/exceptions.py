"""What `torch.compile` raises; programs know it as `torch._dynamo.exc`."""


class TorchDynamoException(RuntimeError):  # noqa: N818
    """An error of the compiler."""


class Unsupported(TorchDynamoException):
    """A function cannot be traced, and `fullgraph=True` says that it must be."""


class InvalidBackend(TorchDynamoException):
    """There is no backend of a name."""


class UserError(Unsupported):
    """A program asks for what cannot be."""
