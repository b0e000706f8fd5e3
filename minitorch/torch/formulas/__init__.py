"""What operations on many elements compute: formulas of NumPy's functions, from arrays to arrays.

They define the operations, and hold for the arrays of every device that answers NumPy's functions. Those under
`@accelerated` may have a kernel of the CPU's, under their name (`backends/cpu/kernel_table.py`), which takes
their place where arrays are large. Functions of single numbers are in `scalars.py`.
"""
