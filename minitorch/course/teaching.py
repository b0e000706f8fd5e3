"""`minitorch course` for teachers."""


def add_commands(add):
    pass
