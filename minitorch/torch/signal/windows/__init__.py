"""Window functions, symmetric unless asked otherwise."""

from ...ops.windows import bartlett as bartlett
from ...ops.windows import blackman as blackman
from ...ops.windows import cosine as cosine
from ...ops.windows import exponential as exponential
from ...ops.windows import gaussian as gaussian
from ...ops.windows import general_cosine as general_cosine
from ...ops.windows import general_hamming as general_hamming
from ...ops.windows import hamming as hamming
from ...ops.windows import hann as hann
from ...ops.windows import kaiser as kaiser
from ...ops.windows import nuttall as nuttall
