"""SummaryWriter: a program's log of numbers, pictures and texts."""

from __future__ import annotations

import os
import socket
import time
import warnings
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from tensorboard.compat.proto import event_pb2  # type: ignore[import-not-found]
from tensorboard.plugins.projector.projector_config_pb2 import (  # type: ignore[import-not-found]
    ProjectorConfig,
)
from tensorboard.summary.writer.event_file_writer import (  # type: ignore[import-not-found]
    EventFileWriter,
)

from . import summary


class FileWriter:
    """Writes entries into one file."""

    def __init__(
        self, log_dir: Any, max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = ""
    ) -> None:
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        """The folder of the file."""
        return self.event_writer.get_logdir()

    def add_summary(self, entry: Any, global_step: Any = None, walltime: Any = None) -> None:
        """Write an entry, of a step and a time."""
        event = event_pb2.Event(summary=entry)
        event.wall_time = time.time() if walltime is None else walltime
        if global_step is not None:
            event.step = int(global_step)
        self.event_writer.add_event(event)

    def flush(self) -> None:
        """Write what is waiting."""
        self.event_writer.flush()

    def close(self) -> None:
        """End the file."""
        self.event_writer.close()


class SummaryWriter:
    """Writes a log into a folder; `tensorboard --logdir runs` shows it.

    Args:
        log_dir: the folder; by default one below `runs`, named by the time and the machine
        comment: added to the name of the default folder
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = str(log_dir)
        self.options = max_queue, flush_secs, filename_suffix
        self.all_writers: dict[str, FileWriter] | None = {}
        self.file_writer = self._writer(self.log_dir)
        self.projector = ProjectorConfig()

    def _writer(self, folder: str) -> FileWriter:
        """What writes into a folder."""
        if self.all_writers is None:
            self.all_writers = {}
        if folder not in self.all_writers:
            self.all_writers[folder] = FileWriter(folder, *self.options)
        return self.all_writers[folder]

    def _add(self, entry: Any, step: Any, walltime: Any) -> None:
        self._writer(self.log_dir).add_summary(entry, step, walltime)

    def get_logdir(self) -> str:
        """The folder of the log."""
        return self.log_dir

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: Any = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Log a number."""
        self._add(summary.scalar(tag, scalar_value), global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: Any = None,
        walltime: Any = None,
    ) -> None:
        """Log several numbers that belong in one diagram."""
        base = os.path.join(self.log_dir, main_tag.replace("/", "_"))
        for tag, value in tag_scalar_dict.items():
            writer = self._writer(f"{base}_{tag}")
            writer.add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: Any = None,
        max_bins: int | None = None,
    ) -> None:
        """Log how often values of each size occur."""
        self._add(summary.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: Any = None,
        dataformats: str = "CHW",
    ) -> None:
        """Log a picture."""
        self._add(summary.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: Any = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Log several pictures side by side."""
        self._add(summary.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: Any = None,
        close: bool = True,
        walltime: Any = None,
    ) -> None:
        """Log a figure of Matplotlib's, or several."""
        import matplotlib.pyplot as plt
        import numpy as np

        for each in figure if isinstance(figure, list) else [figure]:
            each.canvas.draw()
            pixels = np.asarray(each.canvas.buffer_rgba())[:, :, :3]
            self._add(summary.image(tag, pixels, "HWC"), global_step, walltime)
            if close:
                plt.close(each)

    def add_text(
        self, tag: str, text_string: str, global_step: Any = None, walltime: Any = None
    ) -> None:
        """Log a text."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: Mapping[str, Any],
        metric_dict: Mapping[str, Any],
        hparam_domain_discrete: Any = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Log the settings of a run, and what came of them."""
        if not isinstance(hparam_dict, Mapping) or not isinstance(metric_dict, Mapping):
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        folder = os.path.join(self.log_dir, run_name or str(time.time()))
        with SummaryWriter(log_dir=folder) as writer:
            for entry in summary.settings(hparam_dict, metric_dict):
                writer.file_writer.add_summary(entry, global_step)
            for name, value in metric_dict.items():
                writer.add_scalar(name, value, global_step)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: Any = None,
    ) -> None:
        """Log precision and recall of predicted probabilities of labels, 0 or 1."""
        curve = summary.pr_curve(tag, labels, predictions, num_thresholds, weights)
        self._add(curve, global_step, walltime)

    def add_graph(
        self,
        model: Any,
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Log the operations of a model, run once on an input, or on a tuple of them."""
        from .model_graph import graph_of

        inputs = input_to_model if isinstance(input_to_model, tuple) else (input_to_model,)
        graph = graph_of(model, inputs)
        if verbose:
            print(graph)  # noqa: T201
        event = event_pb2.Event(graph_def=graph.SerializeToString(), wall_time=time.time())
        self._writer(self.log_dir).event_writer.add_event(event)

    def add_embedding(
        self,
        mat: Any,
        metadata: Any = None,
        label_img: Any = None,
        global_step: Any = None,
        tag: str = "default",
        metadata_header: Any = None,
    ) -> None:
        """Log points of many dimensions, for the projector.

        Args:
            mat: a row for each point (N, D)
            metadata: the label of each, or a list of labels, under `metadata_header`
            label_img: a picture of each (N, C, H, W)
        """
        from google.protobuf import text_format  # type: ignore[import-not-found]

        from . import embedding

        step = global_step or 0
        folder = Path(self.log_dir, embedding.folder_name(tag, step))
        if folder.is_dir():
            warnings.warn(
                "Embedding dir exists, did you set global_step for add_embedding()?", stacklevel=2
            )
        embedding.write(folder, summary.as_array(mat), metadata, metadata_header, label_img)
        self.projector.embeddings.append(embedding.entry(tag, step, metadata, label_img))
        told = text_format.MessageToString(self.projector)
        Path(self.log_dir, "projector_config.pbtxt").write_text(told)

    def flush(self) -> None:
        """Write what is waiting."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """End the files."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
