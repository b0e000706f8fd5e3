"""What `torch.onnx` raises."""


class OnnxExporterError(RuntimeError):
    """A program that cannot be written as an ONNX file."""


class UnsupportedOperatorError(OnnxExporterError):
    """An operation that has no form in ONNX."""
