"""Entries of a log: numbers, histograms, pictures, texts, settings of a run."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import (  # type: ignore[import-not-found]
    HistogramProto,
    Summary,
    SummaryMetadata,
)
from tensorboard.compat.proto.tensor_pb2 import TensorProto  # type: ignore[import-not-found]
from tensorboard.compat.proto.tensor_shape_pb2 import (  # type: ignore[import-not-found]
    TensorShapeProto,
)

from ...tensor import Tensor

Array = Any


def as_array(value: Any) -> Array:
    """A tensor, a number or a list as an array."""
    return value.detach().numpy() if isinstance(value, Tensor) else np.asarray(value)


def scalar(tag: str, value: Any) -> Any:
    """A number."""
    number = as_array(value).squeeze()
    if number.ndim != 0:
        raise AssertionError(
            "Tensor should contain one element (0 dimensions). Was given size: "
            f"{number.size} and {number.ndim} dimensions."
        )
    return Summary(value=[Summary.Value(tag=tag, simple_value=float(number))])


def bins_by_name(name: Any) -> Any:
    """The limits of a histogram's bins; TensorFlow's grow by a tenth each."""
    if name != "tensorflow":
        return name
    limits, limit = [], 1e-12
    while limit < 1e20:
        limits.append(limit)
        limit *= 1.1
    return [-v for v in limits[::-1]] + [0] + limits


def histogram(tag: str, values: Any, bins: Any, max_bins: int | None = None) -> Any:
    """How often values of each size occur."""
    values = as_array(values).astype(float).reshape(-1)
    if values.size == 0:
        raise ValueError("The input has no element.")
    counts, limits = np.histogram(values, bins=bins_by_name(bins))
    if max_bins is not None and len(counts) > max_bins:
        width = len(counts) // max_bins
        counts = np.pad(counts, (0, -len(counts) % width)).reshape(-1, width).sum(axis=1)
        limits = np.append(limits[:-1:width], limits[-1])
    filled = np.flatnonzero(counts)
    start, end = int(filled[0]), int(filled[-1]) + 1
    kept = counts[start - 1 : end] if start > 0 else np.concatenate([[0], counts[:end]])
    proto = HistogramProto(
        min=values.min(), max=values.max(), num=len(values), sum=values.sum(),
        sum_squares=values.dot(values), bucket_limit=limits[start : end + 1].tolist(),
        bucket=kept.tolist(),
    )  # fmt: skip
    return Summary(value=[Summary.Value(tag=tag, histo=proto)])


def image(tag: str, pixels: Any, dataformats: str = "CHW") -> Any:
    """A picture, or several side by side, given in any order of dimensions."""
    array = _height_width_channels(as_array(pixels), dataformats.upper())
    scale = 1 if array.dtype == np.uint8 else 255
    array = (array.astype(np.float32) * scale).clip(0, 255).astype(np.uint8)
    height, width, channels = array.shape
    proto = Summary.Image(
        height=height, width=width, colorspace=channels, encoded_image_string=png(array)
    )
    return Summary(value=[Summary.Value(tag=tag, image=proto)])


def png(pixels: Array) -> bytes:
    """Bytes (H, W, 3) as a PNG file."""
    from PIL import Image

    content = io.BytesIO()
    Image.fromarray(pixels).save(content, format="PNG")
    return content.getvalue()


def _height_width_channels(array: Array, order: str) -> Array:
    """A picture as (H, W, 3); several (N) become one, in rows of eight."""
    if len(set(order)) != len(order) or array.ndim != len(order):
        raise AssertionError(
            f"size of input tensor and input format are different. tensor shape: {array.shape}, "
            f"input_format: {order}"
        )
    if "N" in order:
        array = side_by_side(array.transpose([order.index(c) for c in "NHWC"]), 8)
    elif "C" in order:
        array = array.transpose([order.index(c) for c in "HWC"])
    else:
        array = array.transpose([order.index(c) for c in "HW"])[:, :, None]
    return np.concatenate([array] * 3, axis=2) if array.shape[2] == 1 else array


def side_by_side(images: Array, columns: int) -> Array:
    """Images (N, H, W, C) as one, with `columns` in a row."""
    columns = min(columns, len(images))
    missing = -len(images) % columns
    images = np.concatenate([images, np.zeros((missing, *images.shape[1:]), images.dtype)])
    rows, (_, height, width, channels) = len(images) // columns, images.shape
    grid = images.reshape(rows, columns, height, width, channels).swapaxes(1, 2)
    return grid.reshape(rows * height, columns * width, channels)


def pr_curve(tag: str, labels: Any, predictions: Any, thresholds: int, weights: Any = None) -> Any:
    """Hits, misses, precision and recall of predicted probabilities, at so many thresholds."""
    from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData  # type: ignore[import-not-found]

    thresholds = min(thresholds, 127)
    positive = as_array(labels).astype(np.float64)
    weights = 1.0 if weights is None else as_array(weights)
    places = np.floor(as_array(predictions) * (thresholds - 1)).astype(np.int32)
    true, false = (
        np.histogram(places, thresholds, (0, thresholds - 1), weights=w)[0][::-1].cumsum()[::-1]
        for w in (positive * weights, (1 - positive) * weights)
    )
    precision, recall = (
        true / np.maximum(1e-7, total) for total in (true + false, true + true[0] - true)
    )
    curve = np.stack((true, false, false[0] - false, true[0] - true, precision, recall))
    content = PrCurvePluginData(version=0, num_thresholds=thresholds).SerializeToString()
    plugin = SummaryMetadata.PluginData(plugin_name="pr_curves", content=content)
    tensor = TensorProto(
        dtype="DT_FLOAT",
        float_val=curve.reshape(-1).tolist(),
        tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in curve.shape]),
    )
    about = SummaryMetadata(plugin_data=plugin)
    return Summary(value=[Summary.Value(tag=tag, metadata=about, tensor=tensor)])


def text(tag: str, content: str) -> Any:
    """A text."""
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
    tensor = TensorProto(
        dtype="DT_STRING",
        string_val=[content.encode()],
        tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)]),
    )
    return Summary(
        value=[Summary.Value(tag=f"{tag}/text_summary", metadata=metadata, tensor=tensor)]
    )


def settings(chosen: Mapping[str, Any], measured: Mapping[str, Any]) -> list[Any]:
    """The settings of a run and the names of what was measured: three entries."""
    from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2  # type: ignore[import-not-found]

    started = plugin_data_pb2.SessionStartInfo()
    infos = []
    for name, value in chosen.items():
        if isinstance(value, bool):
            kind, started.hparams[name].bool_value = "DATA_TYPE_BOOL", value
        elif isinstance(value, str):
            kind, started.hparams[name].string_value = "DATA_TYPE_STRING", value
        elif isinstance(value, (int, float, Tensor)):
            kind, started.hparams[name].number_value = "DATA_TYPE_FLOAT64", float(value)
        elif value is None:
            continue
        else:
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        infos.append(api_pb2.HParamInfo(name=name, type=api_pb2.DataType.Value(kind)))
    metrics = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=tag)) for tag in measured]
    experiment = api_pb2.Experiment(hparam_infos=infos, metric_infos=metrics)
    ended = plugin_data_pb2.SessionEndInfo(status=api_pb2.Status.Value("STATUS_SUCCESS"))

    def entry(tag: str, **content: Any) -> Any:
        data = plugin_data_pb2.HParamsPluginData(version=metadata.PLUGIN_DATA_VERSION, **content)
        plugin = SummaryMetadata.PluginData(
            plugin_name=metadata.PLUGIN_NAME, content=data.SerializeToString()
        )
        about = SummaryMetadata(plugin_data=plugin)
        return Summary(value=[Summary.Value(tag=tag, metadata=about)])

    return [
        entry(metadata.EXPERIMENT_TAG, experiment=experiment),
        entry(metadata.SESSION_START_INFO_TAG, session_start_info=started),
        entry(metadata.SESSION_END_INFO_TAG, session_end_info=ended),
    ]
