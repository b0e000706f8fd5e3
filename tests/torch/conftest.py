"""Torch's tests on another device: `pytest -m cuda tests/torch`, or `MINITORCH_TEST_DEVICE=cuda` for any of them.

New tensors and modules are then made on that device, PyTorch's stay on the CPU. Random numbers are the CPU's, moved there, so that they
can be compared (test_cuda.py has those of the GPU), `numpy()` and `from_numpy()` copy, and texts do not say where a tensor is. Tests of what
has no device are left out.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

ON_CPU = {
    "test_compile", "test_compile_sound", "test_compiled_programs", "test_counting", "test_coverage", "test_cpu_conv", "test_cpu_kernels",
    "test_cuda_flash", "test_cuda_kernels", "test_cuda_source", "test_data", "test_quantization", "test_distributed", "test_distributed_compiled", "test_dlpack", "test_layouts", "test_seam", "test_distributed_shards", "test_fuzz", "test_library_names",
    "test_machines", "test_multiprocessing", "test_names", "test_native", "test_new_operation", "test_numpy_warnings", "test_runner", "test_scalars",
    "test_threads", "test_torchvision", "test_transformer_floors", "test_without_compiler", "test_wrong_calls",
}  # fmt: skip
"""Files about kernels, memory and processes of the CPU, or about names."""

NAMING_THE_CPU = {
    "test_libraries_of_operations", "test_map_location", "test_safe_open", "test_a_model_computes_the_same_in_the_other_library",
    "test_devices_are_contexts", "test_what_pytorch_can_override_can_be_here", "test_a_sparse_product_is_the_dense_one",
    "test_rows_are_added_in_order", "test_modules_without_memory", "test_autocast_reaches_functions_held_anywhere_and_replaces_nothing",
}  # fmt: skip
"""Tests that make tensors on the CPU by name, look at what this file replaces, or at the order in which the CPU adds."""

OWN = {"test_cuda", "test_cuda_graphs", "test_cuda_places", "test_cuda_training", "test_examples"}
"""Files that choose their devices."""


def pytest_configure(config: pytest.Config) -> None:
    """`-m cuda` means the whole suite on a GPU, where there is one or one is simulated."""
    chosen = config.getoption("markexpr", "") == "cuda"
    if chosen and (os.environ.get("MINITORCH_CUDA") == "simulated" or _gpu_found()):
        os.environ.setdefault("MINITORCH_TEST_DEVICE", "cuda")


def _gpu_found() -> bool:
    return any(Path("/dev").glob("nvidia[0-9]*"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """On another device, tests that have one are marked so, the others skipped."""
    if os.environ.get("MINITORCH_TEST_DEVICE", "cpu") == "cpu":
        return
    for item in items:
        if item.path.parent != Path(__file__).parent:
            continue
        name = getattr(item, "originalname", item.name)
        if item.path.stem in ON_CPU or name in NAMING_THE_CPU:
            item.add_marker(pytest.mark.skip(reason="of the CPU"))
        elif item.path.stem not in OWN:
            item.add_marker(pytest.mark.cuda)


@pytest.fixture(autouse=True)
def on_device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """New tensors are on the device of this run."""
    where = os.environ.get("MINITORCH_TEST_DEVICE", "cpu")
    if where == "cpu" or request.path.stem in OWN | ON_CPU:
        yield
        return
    import minitorch.torch as torch
    from minitorch.torch.ops import conversion

    from .drawing import draw_on_the_cpu

    tensor: Any = torch.Tensor
    to_numpy: Any = vars(tensor)["numpy"]
    draw_on_the_cpu(monkeypatch)
    shared = torch.from_numpy
    monkeypatch.setattr(torch, "from_numpy", lambda array: shared(array).to(where))
    monkeypatch.setattr(tensor, "numpy", lambda self, *, force=False: to_numpy(self.cpu(), force=force))  # fmt: skip
    shown = conversion.tensor_text

    def text(array: Any, *, device: str = "cpu", **named: Any) -> str:
        return shown(array, device="cpu" if device.startswith(where) else device, **named)

    monkeypatch.setattr(conversion, "tensor_text", text)
    torch.set_default_device(where)
    yield
    torch.set_default_device(None)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A GPU, or one that is simulated."""
    import minitorch.torch as torch
    from minitorch.torch.backends.cuda.backend import find_cuda
    from minitorch.torch.backends.interface import unregister

    find_cuda.cache_clear()
    if not torch.cuda.is_available():
        monkeypatch.setenv("MINITORCH_CUDA", "simulated:2")
        find_cuda.cache_clear()
    backend = find_cuda()[0]
    assert backend is not None
    yield backend
    unregister(backend)
    monkeypatch.undo()
    find_cuda.cache_clear()
