"""Linear algebra, by family: solving, factorizations, spectra, norms, functions of matrices."""

from . import factorizations as factorizations
from . import functions as functions
from . import ldl as ldl
from . import norms as norms
from . import solving as solving
from . import spectra as spectra
