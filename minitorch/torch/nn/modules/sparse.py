"""Embeddings: tables of vectors that are looked up by index."""

from __future__ import annotations

from typing import Any, ClassVar

from ...autograd.modes import no_grad
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .layer import add_parameters
from .module import Module


class _Table(Module):
    """The base class of embeddings: a table of normally distributed numbers, with zeros in the padding row."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    weight: Parameter

    def _make_table(
        self, padding_idx: int | None, given: Tensor | None, device: Any, dtype: Any
    ) -> None:
        count, size = self.num_embeddings, self.embedding_dim
        if padding_idx is not None:
            if not -count <= padding_idx < max(count, 1):
                raise AssertionError("Padding_idx must be within num_embeddings")
            padding_idx = padding_idx + count if padding_idx < 0 else padding_idx
        self.padding_idx = padding_idx
        if given is None:
            add_parameters(self, device, dtype, weight=(count, size))
            self.reset_parameters()
        elif list(given.shape) != [count, size]:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        else:
            self.weight = Parameter(given)

    def reset_parameters(self) -> None:
        """Fill with normally distributed numbers, and zeros in the padding row."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def _settings(self, *shown: tuple[str, Any]) -> str:
        """The sizes, and the settings that differ from their defaults, for `repr`."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        for name, usual in shown:
            value = getattr(self, name)
            if value != usual:
                text += f", {name}={value!r}"
        return text

    @classmethod
    def _from_table(cls, embeddings: Tensor, freeze: bool, **settings: Any) -> Any:
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        made = cls(rows, columns, _weight=embeddings, **settings)
        made.weight.requires_grad = not freeze
        return made


class Embedding(_Table):
    """Rows of a table, by index."""

    __constants__: ClassVar = [
        "num_embeddings", "embedding_dim", "padding_idx", "max_norm", "norm_type",
        "scale_grad_by_freq", "sparse",
    ]  # fmt: skip

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._make_table(padding_idx, _weight, device, dtype)
        self.weight.requires_grad = not _freeze

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.sparse,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return self._settings(
            ("padding_idx", None), ("max_norm", None), ("norm_type", 2),
            ("scale_grad_by_freq", False), ("sparse", False),
        )  # fmt: skip

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """An embedding with a given table."""
        return cls._from_table(
            embeddings, freeze, padding_idx=padding_idx, max_norm=max_norm, norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq, sparse=sparse,
        )  # fmt: skip


class EmbeddingBag(_Table):
    """Sums, means or maxima of the embeddings in bags of indices."""

    __constants__: ClassVar = [
        "num_embeddings", "embedding_dim", "max_norm", "norm_type", "scale_grad_by_freq", "mode",
        "sparse", "include_last_offset", "padding_idx",
    ]  # fmt: skip

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self._make_table(padding_idx, _weight, device, dtype)

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        return F.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
            self.mode, self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return self._settings(
            ("max_norm", None), ("norm_type", 2), ("scale_grad_by_freq", False), ("mode", None),
            ("padding_idx", None),
        )  # fmt: skip

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """An embedding bag with a given table."""
        return cls._from_table(
            embeddings, freeze, max_norm=max_norm, norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq, mode=mode, sparse=sparse,
            include_last_offset=include_last_offset, padding_idx=padding_idx,
        )  # fmt: skip
