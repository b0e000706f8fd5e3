"""Settings that programs set. They are kept; what they ask for is done anyway or means nothing on a CPU."""

from types import SimpleNamespace

from ..compiler.settings import patch_of

patch = patch_of(__name__, "torch._inductor.config")

coordinate_descent_tuning: bool = False
coordinate_descent_check_all_directions: bool = False
epilogue_fusion: bool = True
force_fuse_int_mm_with_mul: bool = False
use_mixed_mm: bool = True
fx_graph_cache: bool = True
max_autotune: bool = False
shape_padding: bool = True
freezing: bool = False
debug: bool = False
compile_threads: int = 1
triton = SimpleNamespace(cudagraphs=False, unique_kernel_names=True, cudagraph_trees=True)
cpp = SimpleNamespace(threads=-1, simdlen=None)
cuda = SimpleNamespace()
trace = SimpleNamespace(enabled=False)
