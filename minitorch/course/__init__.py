"""The course as assignments: workspaces, checks, hints, grading (`minitorch course`).

What belongs to which task is data: `tasks` names the functions and their hints, `catalogue`
the wrong answers people give. A workspace is made from the library itself.
"""
