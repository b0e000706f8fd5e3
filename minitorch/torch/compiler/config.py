"""Settings of the compiler; programs know them as `torch._dynamo.config`.

What is set here and means nothing to us is kept, as in any module.
"""

from .settings import patch_of

patch = patch_of(__name__, "torch._dynamo.config")

cache_size_limit: int = 8
"""How many tapes a function may have; calls that fit none of them are then eager."""

plays_before_programs: int = 24
"""How often Python plays a tape before it is compiled: compiling takes seconds, and pays if many plays follow."""

recompile_limit: int = 8
"""As `cache_size_limit`; the smaller one counts."""

disable: bool = False
"""Whether compiled functions are called as they are."""

suppress_errors: bool = False
"""Whether a function that stays eager does so without a warning."""

inline_inbuilt_nn_modules: bool = True
"""Whether modules are traced into, as they are here always."""

verbose: bool = False
automatic_dynamic_shapes: bool = True
assume_static_by_default: bool = True
capture_scalar_outputs: bool = False
capture_dynamic_output_shape_ops: bool = False
optimize_ddp: bool = False
