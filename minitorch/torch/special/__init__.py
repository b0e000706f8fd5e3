"""Special functions, under Torch's names."""

from typing import TYPE_CHECKING, Any

from ..ops import FUNCTIONS as _FUNCTIONS
from ..ops.arguments import checked_functions as _checked_functions
from ..ops.special_functions import SPECIAL as _SPECIAL

# Names here, and the names that `torch` has for the same functions.
_TWINS = {
    "digamma": "digamma", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "exp2": "exp2", "expit": "sigmoid",
    "expm1": "expm1", "gammainc": "igamma", "gammaincc": "igammac", "gammaln": "lgamma", "i0": "i0",
    "log1p": "log1p", "log_softmax": "log_softmax", "logit": "logit", "logsumexp": "logsumexp",
    "multigammaln": "mvlgamma", "polygamma": "polygamma", "psi": "digamma", "round": "round", "sinc": "sinc",
    "softmax": "softmax", "xlogy": "xlogy",
}  # fmt: skip

globals().update(_SPECIAL, **{name: _FUNCTIONS[twin] for name, twin in _TWINS.items()})
globals().update(_checked_functions("special", globals()))

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
