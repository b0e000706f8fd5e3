"""The deprecated package `functorch`, with the functions of `torch.func`."""

from .func import grad as grad
from .func import grad_and_value as grad_and_value
from .func import hessian as hessian
from .func import jacfwd as jacfwd
from .func import jacrev as jacrev
from .func import jvp as jvp
from .func import vjp as vjp
from .func import vmap as vmap
from .version import __version__ as __version__
