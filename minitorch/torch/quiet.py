"""Divisions by zero and overflows give infinities and NaN, as in Torch, without a word.

NumPy warns of them; a filter for this package is cheaper than a guard around every call.
"""

import warnings

warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"minitorch\.torch\.")
