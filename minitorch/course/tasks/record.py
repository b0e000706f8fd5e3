"""What a task consists of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A function whose body a student writes.

    Attributes:
        file: in `minitorch/`
        name: the function, with what encloses it: `Module.train`, `tensor_map._map`
        idea: the second hint: how to think of it
        nearly: the third hint: the code of a short body, all but the code of a longer one
    """

    file: str
    name: str
    idea: str
    nearly: str

    def __str__(self) -> str:
        return f"{self.name} in minitorch/{self.file}"


@dataclass(frozen=True)
class Task:
    """One assignment.

    Attributes:
        number: as the course counts, `0.1`
        title: what it is about
        places: the functions to write
        tests: the files in `tests/course/` that hold its tests
        about: the first hint, for the task as a whole
        points: what it is worth when graded
        slow: how many times longer than usual one call of its functions may compute: training takes time
    """

    number: str
    title: str
    places: tuple[Place, ...]
    tests: tuple[str, ...]
    about: str
    points: int = 10
    slow: int = 1

    @property
    def module(self) -> int:
        """The module it belongs to."""
        return int(self.number[0])

    @property
    def marker(self) -> str:
        """The pytest marker of its tests."""
        return f"task{self.number[0]}_{self.number[2]}"

    @property
    def needs_torch(self) -> bool:
        """Whether it is written on the Torch floor."""
        return any(file.startswith("torch_") for file in self.files)

    @property
    def files(self) -> list[str]:
        """The files a student edits."""
        return list(dict.fromkeys(place.file for place in self.places))


def places(file: str, *rows: tuple[str, str, str]) -> tuple[Place, ...]:
    """Functions of a file, each with its name and its second and third hint."""
    return tuple(Place(file, *row) for row in rows)


def alike(file: str, names: str, idea: str, nearly: str) -> tuple[Place, ...]:
    """Several functions that are written alike; `{}` in a hint stands for the name."""
    made = []
    for name in names.split():
        short = name.split(".")[0] if name[0].isupper() and "Scalar" not in name else name
        made.append(Place(file, name, idea.replace("{}", short), nearly.replace("{}", short)))
    return tuple(made)
