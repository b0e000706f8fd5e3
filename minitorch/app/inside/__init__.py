"""What runs in the process of a library: each file computes what one page shows, as plain data.

These files say `import minitorch`, which there means the student's library or the reference.
"""
