"""Many processes that compute together: Torch's collectives, on MPI.

Ranks are started by `python -m minitorch.torch.distributed.run --nproc_per_node 2 train.py`, by
`minitorch run --nproc 2 train.py`, or by the program itself (`torch.multiprocessing.spawn`). Each calls
`init_process_group`, and from then on they exchange tensors. MPI is loaded by that call.
"""

from __future__ import annotations

from ..lazy_attributes import lazy_attributes
from .collectives import _make_nccl_premul_sum as _make_nccl_premul_sum
from .collectives import all_gather as all_gather
from .collectives import all_gather_into_tensor as all_gather_into_tensor
from .collectives import all_reduce as all_reduce
from .collectives import all_reduce_coalesced as all_reduce_coalesced
from .collectives import all_to_all as all_to_all
from .collectives import all_to_all_single as all_to_all_single
from .collectives import barrier as barrier
from .collectives import broadcast as broadcast
from .collectives import gather as gather
from .collectives import monitored_barrier as monitored_barrier
from .collectives import reduce as reduce
from .collectives import reduce_scatter as reduce_scatter
from .collectives import reduce_scatter_tensor as reduce_scatter_tensor
from .collectives import scatter as scatter
from .debug import DebugLevel as DebugLevel
from .debug import get_debug_level as get_debug_level
from .debug import set_debug_level as set_debug_level
from .debug import set_debug_level_from_env as set_debug_level_from_env
from .errors import DistBackendError as DistBackendError
from .errors import DistError as DistError
from .errors import DistNetworkError as DistNetworkError
from .errors import DistStoreError as DistStoreError
from .groups import new_group as new_group
from .groups import new_subgroups as new_subgroups
from .groups import new_subgroups_by_enumeration as new_subgroups_by_enumeration
from .groups import split_group as split_group
from .objects import all_gather_object as all_gather_object
from .objects import broadcast_object_list as broadcast_object_list
from .objects import gather_object as gather_object
from .objects import recv_object_list as recv_object_list
from .objects import scatter_object_list as scatter_object_list
from .objects import send_object_list as send_object_list
from .point_to_point import P2POp as P2POp
from .point_to_point import batch_isend_irecv as batch_isend_irecv
from .point_to_point import irecv as irecv
from .point_to_point import isend as isend
from .point_to_point import recv as recv
from .point_to_point import send as send
from .process_group import ProcessGroup as ProcessGroup
from .reductions import ReduceOp as ReduceOp
from .reductions import ReduceOp as reduce_op  # noqa: F401, N813
from .rendezvous import rendezvous as rendezvous
from .store import FileStore as FileStore
from .store import HashStore as HashStore
from .store import PrefixStore as PrefixStore
from .store import Store as Store
from .tcp_store import TCPStore as TCPStore
from .work import Work as Work
from .world import DEFAULT_TIMEOUT as default_pg_timeout  # noqa: F401, N811
from .world import Backend as Backend
from .world import GroupMember as GroupMember
from .world import destroy_process_group as destroy_process_group
from .world import get_backend as get_backend
from .world import get_default_backend_for_device as get_default_backend_for_device
from .world import get_global_rank as get_global_rank
from .world import get_group_rank as get_group_rank
from .world import get_node_local_rank as get_node_local_rank
from .world import get_pg_count as get_pg_count
from .world import get_process_group_ranks as get_process_group_ranks
from .world import get_rank as get_rank
from .world import get_world_size as get_world_size
from .world import group as group
from .world import init_process_group as init_process_group
from .world import is_available as is_available
from .world import is_backend_available as is_backend_available
from .world import is_gloo_available as is_gloo_available
from .world import is_initialized as is_initialized
from .world import is_mpi_available as is_mpi_available
from .world import is_nccl_available as is_nccl_available
from .world import is_torchelastic_launched as is_torchelastic_launched
from .world import is_ucc_available as is_ucc_available
from .world import is_xccl_available as is_xccl_available
from .world import supports_complex as supports_complex

all_gather_single, reduce_scatter_single = all_gather_into_tensor, reduce_scatter_tensor

_LATER = frozenset(
    ("algorithms", "autograd", "checkpoint", "device_mesh", "distributed_c10d", "elastic", "fsdp", "nn", "optim", "rpc", "run", "tensor")
)  # fmt: skip
"""Modules that load when they are first asked for."""
_NAMES_LATER = {
    "DeviceMesh": ".device_mesh", "init_device_mesh": ".device_mesh", "GradBucket": "..nn.parallel.buckets",
}  # fmt: skip
"""Names of such modules."""

__getattr__ = lazy_attributes(__name__, _LATER, _NAMES_LATER)
