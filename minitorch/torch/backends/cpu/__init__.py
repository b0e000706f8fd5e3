"""The CPU: kernels that take the place of formulas (`torch/formulas/`) where arrays are large.

Small arrays, and types that kernels do not handle, are left to NumPy; large ones, of float32 or float64, are
computed on all cores by kernels, which are compiled (and Numba loaded) when first needed.

| file             | what |
|------------------|------|
| backend.py       | the CPU as a device |
| allocation.py    | freed memory is kept for the next step |
| kernel_table.py  | which formulas have kernels, and from which size on; dispatch.py chooses |
| maps.py loops.py | scalar functions (`torch/scalars.py`) of each element, and the loop around them |
| x_kernels.py     | the kernels of `formulas/x.py` |
| matmul.py        | products of matrices, shared out over the threads of the kernels |
| optim.py         | steps of optimizers |
| kernels.py       | how kernels are compiled and run |
| primitives.py    | NumPy's functions of one number, for kernels |
| runs.py blas.py vectors.py | reductions of contiguous memory, products inside kernels, registers |
"""
