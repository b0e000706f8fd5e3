"""Guards as they are looked at before each play: by identity, and all facts of a kind in one pass.

Most of what a step can see lies in dictionaries that never change, and a glance at their versions shows that. A dictionary
that has changed is looked into, and so are tensors that require gradients, lists, variables and single names.
"""

from __future__ import annotations

from collections import OrderedDict
from itertools import chain
from operator import getitem, is_
from typing import TYPE_CHECKING, Any

from ..attributes import all_attributes
from .comparing import MISSING, Free
from .facts import DictFacts, tensor_change
from .versions import NUMBERED, Versions

if TYPE_CHECKING:
    from .guards import Surroundings


class Watch:
    """What was found around a function, ready to be looked at quickly.

    Attributes:
        numbered: facts about dictionaries with versions, empty ones, and facts about tensors whose attributes stay
        versions: of these
        tensors: facts about the others
        empty: dictionaries without versions that are empty
        sized: whatever else has a length, and these lengths
        keyed: dictionaries, and all their keys, which are strings
        objects: things to go through, and what is found there
        parts: dictionaries with numbers that may change
        places: dictionaries, as often as there are names of which the values count
    """

    def __init__(self, around: Surroundings) -> None:
        self.around = around
        dicts = [each for each in around.dicts if NUMBERED and each.is_numbered()]
        lasting = [each for each in around.tensors.values() if NUMBERED and each.stays()]
        empty = [each for each in around.empty if NUMBERED and type(each) in (dict, OrderedDict)]
        self.numbered: list[Any] = [*dicts, *empty, *lasting]
        attributes = [all_attributes(each.tensor) for each in lasting]
        self.versions = Versions([*(each.where for each in dicts), *empty, *attributes])
        numbered = set(map(id, self.numbered))
        self.tensors = [each for each in around.tensors.values() if id(each) not in numbered]
        self.empty = [each for each in around.empty if id(each) not in numbered]
        self.sized: list[Any] = []
        self.lengths: list[int] = []
        self.keyed: list[Any] = []
        self.keys: list[Any] = []
        self.objects: list[Any] = []
        self.expected: list[Any] = []
        self.parts: list[Any] = []
        self.places: list[Any] = []
        self.names: list[Any] = []
        self.values: list[Any] = []
        for each in around.dicts:
            if id(each) not in numbered:
                self._flatten(each)
        for where, items in around.lists:
            self.sized.append(where)
            self.lengths.append(len(items))
            self._expect(where, items)

    def _flatten(self, facts: DictFacts) -> None:
        """Note a dictionary so that all of them are looked at in one pass."""
        where, size, keys, names, values = facts
        if size is not None:
            self.sized.append(where)
            self.lengths.append(size)
        if all(type(key) is str for key in keys):
            self.keyed.append(where if keys else ())
            self.keys += keys
        else:
            self._expect(where, keys)
        if len(names) == size and not any(type(v) is Free for v in values):
            self._expect(where.values(), values)
        elif any(type(v) is Free for v in values):
            self.parts.append((where, names, values))
        else:
            self.places += [where] * len(names)
            self.names += names
            self.values += values

    def _expect(self, where: Any, values: Any) -> None:
        self.objects.append(where)
        self.expected += values

    def holds(self) -> bool:
        """Whether every object is the one that it was: quick, and more than is needed."""
        now = self.versions.now()
        return (
            (now == self.versions.known or self._looked_into(now))
            and self._same_containers()
            and self._same_names()
            and not tensor_change(self.tensors)
        )

    def _looked_into(self, now: bytes) -> bool:
        """Whether what has other versions now is as it was where it counts; then these versions are known."""
        for k in self.versions.changed(now):
            facts = self.numbered[k]
            if isinstance(facts, DictFacts):
                holds = not facts.change()
            elif isinstance(facts, dict):
                holds = not len(facts)
            else:
                holds = not tensor_change((facts,)) and self.around.same_gradients((facts,))
            if not holds:
                return False
        self.versions.known = now
        return True

    def _same_containers(self) -> bool:
        if any(self.empty) or list(map(len, self.sized)) != self.lengths:
            return False
        if list(chain.from_iterable(self.keyed)) != self.keys:
            return False
        if not all(map(is_, chain.from_iterable(self.objects), self.expected)):
            return False
        try:
            if not all(map(is_, map(getitem, self.places, self.names), self.values)):
                return False
        except KeyError:
            return False
        for where, names, values in self.parts:
            for key, value in zip(names, values):  # noqa: B905  # of one length
                now = where.get(key, MISSING)
                if now is not value and not (type(value) is Free and value.fits(now)):
                    return False
        return True

    def _same_names(self) -> bool:
        around = self.around
        for where, name, value in around.places:
            if where.get(name, MISSING) is not value:
                return False
        for holder, name, value in around.attributes:
            if getattr(holder, name, MISSING) is not value:
                return False
        for cell, value in around.cells:
            try:
                if cell.cell_contents is not value:
                    return False
            except ValueError:  # it is empty
                return False
        return not (around.of_labels and around.changed_label()) and not around.changed_class()
