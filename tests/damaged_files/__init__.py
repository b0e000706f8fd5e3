"""Damaged files of every kind that the project reads: each must give a clear error, in bounded memory.

    python -m tests.damaged_files 30000             # the cases 0 to 29,999 of seed 0
    python -m tests.damaged_files 30000 --seed 7    # others
    python -m tests.damaged_files --case 123        # one of them, with its traceback

`kinds.py` lists what is read and which errors are documented, `mutations.py` and `zip_tricks.py` damage
files, `workers.py` reads them in processes with a limit on memory and time.
"""
