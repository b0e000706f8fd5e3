"""Texts as numbers: a million characters of Shakespeare's plays, or the one play that is always here."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from .data_files import DataFile, find_files
from .packed_files import opened

PLAYS = DataFile("tinyshakespeare", ("input.txt",))
"""Parts of Shakespeare's plays as Karpathy put them together, 1,115,394 characters."""
PLAY = Path(__file__).with_name("romeo_and_juliet.txt.gz")
"""Romeo and Juliet, from the same file: 133,465 characters."""

HELD_OUT = 10
"""One character in so many is kept for validation: the last of the text."""


@dataclass
class Text:
    """A text whose characters are numbered in the order of their codes.

    Attributes:
        characters: all that occur, in order
        train: ids of the first nine tenths
        validation: ids of the rest
        name: what it is, for people
    """

    characters: str
    train: list[int]
    validation: list[int]
    name: str

    def encode(self, text: str) -> list[int]:
        """The ids of a text; ValueError for a character that is not among ours.

        >>> made = make_text("to be or not to be", "Hamlet")
        >>> made.characters, made.encode("bet")
        (' benort', [1, 2, 6])
        """
        for character in text:
            if character not in self.characters:
                raise ValueError(f"the text that was learned has no {character!r}")
        return [self.characters.index(character) for character in text]

    def decode(self, ids: list[int]) -> str:
        """The text that ids stand for."""
        return "".join(self.characters[i] for i in ids)

    def pieces(self, count: int, length: int) -> tuple[list[list[int]], list[list[int]]]:
        """Random pieces to learn from: ids, and for each the one that follows it."""
        begins = [random.randrange(len(self.train) - length) for _ in range(count)]
        return _with_next(self.train, begins, length)

    def validation_batches(
        self, count: int, length: int
    ) -> list[tuple[list[list[int]], list[list[int]]]]:
        """All of the held out text, piece by piece, `count` pieces at a time."""
        begins = list(range(0, len(self.validation) - length, length))
        parts = [begins[i : i + count] for i in range(0, len(begins), count)]
        return [_with_next(self.validation, part, length) for part in parts]


def _with_next(
    ids: list[int], begins: list[int], length: int
) -> tuple[list[list[int]], list[list[int]]]:
    """Pieces of a text, and the same pieces one place further on."""
    return [ids[i : i + length] for i in begins], [ids[i + 1 : i + length + 1] for i in begins]


def make_text(text: str, name: str) -> Text:
    """Number the characters of a text, and hold its end out."""
    characters = "".join(sorted(set(text)))
    numbers = {character: number for number, character in enumerate(characters)}
    ids = [numbers[character] for character in text]
    border = len(ids) - len(ids) // HELD_OUT
    return Text(characters, ids[:border], ids[border:], name)


def load_text() -> Text:
    """The plays where MINITORCH_DATA or the cache has them (`tinyshakespeare/input.txt`), or one play."""
    try:
        (path,) = find_files([PLAYS], download=False)
        name = "Shakespeare's plays"
    except FileNotFoundError:
        path, name = PLAY, "Romeo and Juliet"
    with opened(path) as (file, most):
        return make_text(file.read(most).decode("ascii"), name)
