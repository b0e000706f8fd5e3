"""Averages of a bucket: as it is, or in half precision, which is half the bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .... import dtypes
from ... import collectives, world

Hook = Callable[[Any, Any], Any]


def _averaged(group: Any, tensor: Any) -> Any:
    """A future of the average of a tensor over a group."""
    tensor.div_(world.get_world_size(group))
    work = collectives.all_reduce(tensor, group=group, async_op=True)
    return work.get_future().then(lambda future: future.value()[0])


def allreduce_hook(process_group: Any, bucket: Any) -> Any:
    """The average of a bucket."""
    return _averaged(process_group, bucket.buffer())


def _compressed(process_group: Any, bucket: Any, kind: Any) -> Any:
    buffer = bucket.buffer()
    future = _averaged(process_group, buffer.to(kind))
    return future.then(lambda found: buffer.copy_(found.value()))


def fp16_compress_hook(process_group: Any, bucket: Any) -> Any:
    """The average of a bucket, exchanged in float16."""
    return _compressed(process_group, bucket, dtypes.float16)


def bf16_compress_hook(process_group: Any, bucket: Any) -> Any:
    """The average of a bucket, exchanged in bfloat16."""
    return _compressed(process_group, bucket, dtypes.bfloat16)


def _wrapped(hook: Hook, kind: Any) -> Hook:
    def wrapper(state: Any, bucket: Any) -> Any:
        """What a hook makes of the bucket in half precision."""
        own = bucket.buffer()
        bucket.set_buffer(own.to(kind))
        return hook(state, bucket).then(lambda found: own.copy_(found.value()))

    return wrapper


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that is given the bucket in float16."""
    return _wrapped(hook, dtypes.float16)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that is given the bucket in bfloat16."""
    return _wrapped(hook, dtypes.bfloat16)
