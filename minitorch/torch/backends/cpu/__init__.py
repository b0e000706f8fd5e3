"""Fast functions of NumPy arrays on the CPU.

Small arrays, and types that kernels do not handle, are computed by NumPy; large ones, of
float32 or float64, by kernels on all cores, which are compiled (and Numba loaded) when first
needed. Half precision is computed in float32 and rounded once. `dispatch.py` chooses.

| file          | functions |
|---------------|-----------|
| matmul.py     | products of matrices, shared out over the threads of the kernels |
| maps.py       | scalar functions (`torch/scalars.py`) of each element |
| softmax.py    | softmax, log_softmax, logsumexp along a dimension, and backward |
| losses.py     | cross_entropy and backward |
| norms.py      | layer_norm, rms_norm, group_norm, batch_norm and backward |
| reductions.py | sum, mean, prod, norm, amax, amin, argmax, argmin, var, var_mean, cumsum |
| indexing.py   | index_select, index_add, embedding, gather, scatter, scatter_add |
| conv.py, pool.py | convolution and pooling |
| attention.py  | attention weights, values mixed by them, and backward |
| recurrent.py  | a layer of LSTM, GRU or plain cells over all steps, and backward |

The kernels of `x.py` are in `x_kernels.py`. What these share: primitives.py
(NumPy's functions of one number, for kernels), loops.py (the loop around them), runs.py (reductions of contiguous
memory), blas.py (products inside kernels), vectors.py (registers); kernels.py compiles and runs them.
"""
