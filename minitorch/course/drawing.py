"""What questions are about: random numbers, shapes, trees and graphs, as texts."""

from __future__ import annotations

import random
import re
from math import cos, pi, prod, sin


class Draw:
    """Random texts for the words in braces."""

    def __init__(self, source: random.Random) -> None:
        self.random = source

    def text(self, word: str, *given: str) -> str:
        """The text that takes the place of a word, or of a word and what it is given."""
        return str(getattr(self, word)(*given))

    # --- Numbers -----------------------------------------------------------------------------

    def x(self) -> float:
        """A number of either sign, not near 0."""
        return self.random.choice((-1, 1)) * self.p()

    def p(self) -> float:
        """A positive number."""
        return round(self.random.uniform(0.1, 3.0), 6)

    def d(self) -> float:
        """A derivative that comes in: not 1, so that leaving it out shows."""
        return self.random.choice((-1, 1)) * round(self.random.uniform(1.2, 2.9), 6)

    def i(self) -> int:
        """A whole number that is not 0."""
        return self.random.choice((-1, 1)) * self.random.randint(1, 9)

    def n(self) -> int:
        """A positive whole number."""
        return self.random.randint(1, 9)

    def near(self) -> str:
        """Two numbers closer than 0.01."""
        x = self.x()
        return f"{x}, {x + self.random.choice((-1, 1)) * self.random.uniform(0.001, 0.009)}"

    def apart(self) -> str:
        """Two numbers that differ by more than 0.01, but not by much."""
        x = self.x()
        return f"{x}, {x + self.random.choice((-1, 1)) * self.random.uniform(0.011, 0.08)}"

    def twins(self) -> str:
        """One number, twice."""
        return ", ".join([str(self.x())] * 2)

    def list(self) -> str:
        """A list of numbers."""
        return str([self.x() for _ in range(self.random.randint(2, 6))])

    def positive(self) -> str:
        """A list of five positive numbers."""
        return str([self.p() for _ in range(5)])

    def five(self) -> str:
        """A list of five numbers."""
        return str([self.x() for _ in range(5)])

    def bits(self) -> str:
        """Three times 0 or 1."""
        return str([float(self.random.random() < 0.7) for _ in range(3)])[1:-1]

    def large(self) -> str:
        """A list of numbers whose exponentials overflow."""
        return str([1000.0 * self.n() + self.x() for _ in range(4)])

    def ties(self) -> str:
        """A list in which the largest number occurs more than once."""
        row = [3.5] * 2 + [self.x() for _ in range(3)]
        self.random.shuffle(row)
        return str(row)

    # --- Shapes --------------------------------------------------------------------------------

    def _shape(self, dims: int) -> tuple[int, ...]:
        return tuple(self.random.randint(2, 4) for _ in range(dims))

    def shape(self) -> tuple[int, ...]:
        """A shape of two dimensions of different sizes."""
        return tuple(self.random.sample((2, 3, 4, 5), 2))

    def cube(self) -> tuple[int, ...]:
        """A shape of three dimensions of different sizes."""
        return tuple(self.random.sample((2, 3, 4), 3))

    def order(self) -> tuple[int, ...]:
        """An order of three dimensions that is not the inverse of itself."""
        return self.random.choice(((1, 2, 0), (2, 0, 1)))

    def moved(self) -> str:
        """A shape, an order of its dimensions, and an index into the permuted one."""
        shape, order = self.cube(), self.order()
        index = ", ".join(str(self.random.randrange(shape[d])) for d in order)
        return f"{shape}, {order}, {index}"

    def ordinal(self) -> str:
        """An ordinal and the shape it counts through."""
        shape = self.cube()
        return f"{self.random.randrange(prod(shape))}, {shape}"

    def inside(self) -> str:
        """A shape and an index into it."""
        shape = self.cube()
        return f"{shape}, {tuple(self.random.randrange(n) for n in shape)}"

    def outside(self) -> str:
        """A shape's data, and an index that is not in it."""
        rows, columns = self.shape()
        wrong = self.random.choice([(rows, 0), (0, columns), (-1, 0), (0, -1), (0,)])
        return f"{rows}, {columns}).index({wrong}"

    def _smaller(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that broadcasts to another."""
        kept = shape[self.random.randrange(len(shape)) :]
        return tuple(1 if self.random.random() < 0.4 else n for n in kept)

    def into(self) -> str:
        """A shape, and one that broadcasts to it."""
        shape = self.cube()
        return f"{shape}, {self._smaller(shape)}"

    def pair(self) -> str:
        """Two shapes that broadcast together."""
        shape = self.cube()
        pair = [self._smaller(shape), tuple(self.random.choice((1, n)) for n in shape)]
        self.random.shuffle(pair)
        return f"{pair[0]}, {pair[1]}"

    def clash(self) -> str:
        """Two shapes that do not broadcast together."""
        rows, columns, deep = self.cube()
        return self.random.choice(
            [
                f"{(rows, columns)}, {(rows,)}",
                f"{(rows, columns)}, {(columns, rows)}",
                f"{(deep, rows, columns)}, {(deep, rows, columns + 1)}",
            ]
        )

    def among(self) -> str:
        """An index into a large shape, that shape, and one that broadcasts to it."""
        shape = self.cube()
        index = tuple(self.random.randrange(n) for n in shape)
        return f"{index}, {shape}, {self._smaller(shape)}"

    def reduction(self) -> str:
        """A shape and one of its dimensions."""
        return f"{self.cube()}, {self.random.randrange(3)}"

    def long(self) -> str:
        """A shape of which one dimension is long, and which."""
        dim = self.random.randrange(2)
        shape = [self.random.randint(2, 3), self.random.randint(2, 3)]
        shape[dim] = self.random.randint(40, 90)
        return f"{tuple(shape)}, {dim}"

    def matrices(self) -> str:
        """Shapes of two stacks of matrices that have a product."""
        batch, rows, inner, columns = (self.random.randint(2, 5) for _ in range(4))
        left, right = self.random.choice([(batch, batch), (1, batch), (batch, 1)])
        return f"{(left, rows, inner)}, {(right, inner, columns)}"

    def tall(self) -> str:
        """Shapes of two larger stacks of matrices."""
        rows, inner, columns = (self.random.randint(9, 37) for _ in range(3))
        return f"{(1, rows, inner)}, {(1, inner, columns)}"

    def wave(self) -> str:
        """Shapes of a batch of sequences and of a weight, in one dimension."""
        batch, channels, out = self.cube()
        return f"{(batch, channels, self.random.randint(4, 7))}, {(out, channels, self.random.randint(2, 3))}"

    def image(self) -> str:
        """Shapes of a batch of images and of a weight."""
        batch, channels, out = self.cube()
        height, width = self.random.sample((3, 4, 5), 2)
        window = self.random.sample((1, 2, 3), 2)
        return f"{(batch, channels, height, width)}, {(out, channels, *window)}"

    def tiles(self) -> str:
        """The shape of images, and of a window that divides them."""
        kh, kw = self.random.sample((1, 2, 3), 2)
        rows, columns = self.random.sample((2, 3, 4), 2)
        return f"({self.random.randint(1, 2)}, 2, {kh * rows}, {kw * columns}), {(kh, kw)}"

    def ids(self) -> str:
        """Three numbers of characters."""
        return str([self.random.randrange(5) for _ in range(3)])

    def texts(self) -> str:
        """Two rows of three numbers of characters, one of them twice."""
        rows = [[self.random.randrange(5) for _ in range(3)] for _ in range(2)]
        rows[1][2] = rows[0][0]
        return str(rows)

    def headed(self) -> str:
        """The shape of a batch of rows, and into how many heads its width is cut."""
        heads, columns = self.random.sample((2, 3), 2)
        return f"{(self.random.randint(1, 2), self.random.randint(2, 4), heads * columns)}, {heads}"

    # --- Functions -----------------------------------------------------------------------------

    def disguised(self, function: str) -> str:
        """The arguments and the body of a function, in words from which only its values can be told."""
        names, _, body = function.partition(": ")
        body = re.sub(r"\b[xyd]\b", lambda m: self._same_value(names, m[0]), body)
        return f"{names!r}, {self._same_value(names, f'({body})')!r}"

    def _same_value(self, names: str, expression: str) -> str:
        """An expression of the same value, to the last bit."""
        for _ in range(2):
            name = self.random.choice(names.split(", "))
            sign = self.random.choice(("<", ">", "<=", ">="))
            power = 2.0 ** self.random.randint(1, 9)
            expression = self.random.choice(
                (
                    f"({expression} if {name} {sign} {self.x()} else {expression})",
                    f"({expression} * {power} / {power})",
                    f"(lambda {names}: {expression})({names})",
                )
            )
        return expression

    # --- What is learned from ------------------------------------------------------------------

    def points(self) -> str:
        """Points of the unit square, none of them near a border of `Simple` or `Diag`."""
        found: list[tuple[float, float]] = []
        while len(found) < 20:
            x, y = round(self.random.random(), 4), round(self.random.random(), 4)
            if min(abs(x - 0.5), abs(x + y - 0.5)) > 0.02:
                found.append((x, y))
        return str(found)

    def task(self) -> str:
        """Points and their labels on both sides of a line, and points without labels."""
        angle = self.random.uniform(0.0, 2.0 * pi)
        across, along = cos(angle), sin(angle)

        def side(point: tuple[float, float]) -> float:
            return across * (point[0] - 0.5) + along * (point[1] - 0.5)

        found: list[tuple[float, float]] = []
        while len(found) < 50:
            point = (round(self.random.random(), 3), round(self.random.random(), 3))
            if abs(side(point)) > 0.08:
                found.append(point)
        labels = [int(side(point) > 0) for point in found[:30]]
        return f"{found[:30]}, {labels}, {found[30:]}"

    def bars(self) -> str:
        """Images of 4 x 4 with a bar that lies or stands, labels, and images without."""
        kinds = [(kind, at) for kind in (0, 1) for at in range(4)]
        self.random.shuffle(kinds)
        one = self.random.choice((0, 1))
        images = [self._bar(*which) for which in kinds * 2]
        asked = [self._bar(*which) for which in self.random.choices(kinds, k=10)]
        return f"{images}, {[int(kind == one) for kind, _ in kinds * 2]}, {asked}"

    def _bar(self, kind: int, at: int) -> list[float]:
        cells = [(row, column) for row in range(4) for column in range(4)]
        return [
            round(float((column if kind else row) == at) + self.random.uniform(0.0, 0.2), 2)
            for row, column in cells
        ]

    # --- Modules and graphs --------------------------------------------------------------------

    def word(self) -> str:
        """A name."""
        return "".join(self.random.choices("abcdefghijklmnopqrstuvwxyz", k=5))

    def tree(self) -> str:
        """Parameters and modules below a module; `first.second` is one of them."""
        return str(self._tree(0) | {"first": {"second": self._tree(1), "third": self._tree(2)}})

    def _tree(self, depth: int) -> dict[str, object]:
        found: dict[str, object] = {self.word(): self.x() for _ in range(self.random.randint(1, 3))}
        if depth < 3:
            found |= {self.word(): self._tree(depth + 1) for _ in range(self.random.randint(0, 2))}
        return found

    def graph(self) -> str:
        """Slopes and parents of variables, and which of them are constants."""
        count = self.random.randint(7, 11)
        parents: list[list[int]] = [[], [], []]
        for i in range(3, count):
            parents.append(self.random.sample(range(i), self.random.randint(1, 3)))
        used = {p for row in parents for p in row}
        parents.append([i for i in range(count) if i not in used or i >= count - 2])
        slopes = [self.d() for _ in parents]
        return f"graph({slopes}, {parents}, {self.random.choice(([], [0], [1]))})"
