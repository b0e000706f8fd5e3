"""Fast functions of NumPy arrays on the CPU.

Small arrays, and types that kernels do not handle, are computed by NumPy; large ones, of
float32 or float64, by kernels on all cores, which are compiled (and Numba loaded) when first
needed. Half precision is computed in float32 and rounded once.

| file          | functions |
|---------------|-----------|
| matmul.py     | products of matrices, shared out over the threads of the kernels |
| maps.py       | add, sub, mul, ..., exp, log, tanh, gelu, ... and gelu_backward, ... of each element |
| softmax.py    | softmax, log_softmax, logsumexp along a dimension, and backward |
| norms.py      | layer_norm and backward |
| reductions.py | sum, mean, prod, norm, amax, amin, argmax, argmin, var, var_mean, cumsum |
| conv.py, pool.py | convolution and pooling |
| attention.py  | shares of keys, values mixed by them, and backward |
| recurrent.py  | a layer of LSTM, GRU or plain cells over all steps, and backward |

Kernels: scalars.py (functions of one number), loops.py (the loop around them), runs.py (sums
and maxima along a row), blas.py (products inside kernels), softmax_kernels.py, norm_kernels.py, reduction_kernels.py; kernels.py
compiles them.
"""
