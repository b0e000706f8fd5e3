"""Recognising a known mistake by the answers a student's code gives to the probes.

`signatures.json` holds the answers of the right library, and for each mistake of the catalogue
those answers in which it differs. `python -m minitorch.course.recognition` makes it anew.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .catalogue import CUDA_MISTAKES, MISTAKES, Mistake
from .checking import Server, request
from .stubs import LIBRARY
from .tasks import BY_NUMBER
from .workspace import copy_torch_floor

ALL = [*MISTAKES, *CUDA_MISTAKES]
SHOWN = 3
"""Wrong answers that are shown where no known mistake explains them."""
SIGNATURES = Path(__file__).with_name("signatures.json")


@dataclass(frozen=True)
class Found:
    """A mistake that a student made, and how it shows."""

    mistake: Mistake
    case: str
    got: str
    expected: str

    @property
    def message(self) -> str:
        """What to tell the student."""
        return f"{_compared(self.case, self.got, self.expected)} {self.mistake.advice}"


_WORDS = {
    "false_alarms()": "The list of your tests that object to right operators",
    "derivatives_of_equal_values()": "The derivatives of 3 a + 5 b, where a and b are both 2,",
    "order_problems(diamond())": 'topological_sort, case "z is used twice": what is out of order',
    "order_problems(ladder())": "topological_sort, a short path beside a long one: what is out of order",
    "order_problems(with_constant())": "topological_sort of x + 5: what is out of order",
    "order_problems(deep(20_000))": "topological_sort of 20,000 operations",
    "derivatives(diamond(), 1.0)": 'backpropagate, case "z is used twice": the derivative of z',
    "derivatives(line(), 0.37)": "backpropagate, started with 0.37: the derivative of x",
    "derivative_in_pairs()": "backpropagate of pairs, added to pairs only: the derivative of z",
    "type(shape_broadcast((2, 3), (3,))).__name__": "The type of a shape that shape_broadcast gives",
    "derivative_after_two_backwards()": "x.derivative after two times (x * 3).backward()",
    "chain_rule_of_two(1.0)": "chain_rule(1.0) of 10 a + 100 b",
    "chain_rule_of_two(0.37)": "chain_rule(0.37) of 10 a + 100 b",
    "chain_rule_with_a_constant(1.0)": "chain_rule(1.0) of 10 a + 100 b, b constant,",
    "called_by(sigmoid)": "The list of this file's functions that sigmoid calls",
    "modes_after_eval(tree())": "After root.eval(), training of root, child, child, grandchild",
    "names(tree())": "The names of a tree's parameters",
    "len(tree().parameters())": "The number of a tree's parameters",
    "tree().nothing": "An attribute that does not exist",
    "names(replaced())": "After a parameter was replaced by a text, the names of parameters",
    "asked_for_gradient()": "Whether Parameter(x) called x.requires_grad_(True)",
    "constant_scalar().is_constant()": "After requires_grad_(False), is_constant()",
    "constant_tensor().is_constant()": "After requires_grad_(False), is_constant()",
    'Scalar(1.0, name="x").name == "x"': 'Whether Scalar(1.0, name="x").name is "x"',
    "last_function(Scalar(1.0).exp())": "The last function in the history of Scalar(1.0).exp()",
    "view_back()": "The gradient of view(3, 2), for a permuted incoming gradient,",
    "sum_back()": "The gradient of sum(0) of a 2 x 2 tensor, incoming [5, 6],",
    "gradient_of_two_uses()": "x.grad after two times (x * 3).sum().backward()",
    "gradient_is_its_own_tensor()": "x.grad, after the incoming tensor was changed,",
    "constant_among_inputs()": "The number of gradients of x * constant",
    "summed_where_copied()": "The gradient of the (2, 1) input in (2, 1) + (2, 3)",
    "rows_differ()": "Whether dropout treats elements of a row differently",
}


def in_words(case: str) -> str:
    """A case as a student reads it."""
    if case in _WORDS:
        return _WORDS[case]
    for helper, method in (("scalar_back", "backward"), ("tensor_back", "backward")):
        if case.startswith(helper):
            name, d, *inputs = case.removeprefix(f"{helper}(").removesuffix(")").split(", ")
            return f"{name.strip(chr(34))}.{method}, incoming {d}, at {', '.join(inputs)},"
    for start, words in _CALLS.items():
        if case.startswith(start + "("):
            return f"{words} {case.removeprefix(start)}"
    return case.removeprefix("numbers(").removesuffix(")") if case.startswith("numbers(") else case


_CALLS = {
    "noticed": "Whether your tests notice",
    "by_hand": "The probabilities by a line, w1, w2, bias and points",
    "sides": "The sides of your line,",
    "layer_of": "A Linear layer, kind, sizes and inputs",
    "network_of": "A network and its derivatives, kind, hidden units and points",
    "operations_of": "The operations of FastTrain",
    "convolution_layer": "A layer, channels, kernel and sizes",
    "image_scores": "The network for images, size, pool, how many:",
    "sentence_scores": "The network for sentences, length, how many:",
    "counted": "A tensor that counts up, of shape",
    "elements": "The elements of",
    "index_of": "to_index",
    "position": "index_to_position",
    "broadcast": "broadcast_index",
    "mapped": "tensor_map of x10, output and input",
    "zipped": "tensor_zip of 100 x + y, output and inputs",
    "reduced": "tensor_reduce of add, shape and dimension",
    "permute_back": "The gradient of permute, shape and order",
    "fast_mapped": "fast tensor_map of x10, input",
    "fast_zipped": "fast tensor_zip of 100 x + y, inputs",
    "fast_reduced": "fast tensor_reduce of add, shape and dimension",
    "product": "The product of counting matrices",
    "product_back": "The gradient of a product, shapes, shape of the result, which input:",
    "cuda_mapped": "CUDA tensor_map of neg, into",
    "cuda_zipped": "CUDA tensor_zip of mul, inputs",
    "cuda_reduced": "CUDA reduce of mul, shape and dimension",
    "sums_of_32": "sum_practice of the numbers from 1, how many:",
    "cuda_product": "The product of counting matrices, by",
    "cuda_convolved": "A CUDA convolution, input and weight",
    "conv1d_of": "conv1d, input and weight",
    "conv2d_of": "conv2d, input and weight",
    "conv1d_back": "The gradient of conv1d, input, weight, which:",
    "conv2d_back": "The gradient of conv2d, input, weight, which:",
    "tiled": "tile, image and kernel",
    "tile_sizes": "New height and width of tile, image and kernel",
    "averaged": "avgpool2d, image and kernel",
    "max_back": "The gradient of max([1, 3, 2]), incoming",
    "kept": "The share of elements that dropout keeps, at",
    "largest_kept": "The largest element after dropout of ones, at",
    "hot": "one_hot, ids and size",
    "looked_up_ids": "Embedding and its gradient; ids, rows and width",
    "embedded": "TextEmbedding and its gradients; ids, characters, places and width",
    "plainly_normalized": "LayerNorm of the row",
    "normalized": "LayerNorm and its gradients, shape",
    "gelu_of": "gelu and its slope at",
    "mask_of": "causal_mask, length",
    "attended": "attention and its gradients, shape",
    "head_columns": "split_heads, shape and heads",
    "heads_joined": "join_heads, shape and heads",
    "self_attended": "CausalSelfAttention and its gradients, shape and heads",
    "block_of": "Block and its gradients, shape and heads",
    "scores_of": "GPT and its gradients, ids",
    "surprise": "cross_entropy and its gradient, shape and targets",
    "written": "generate; ids, how many more, temperature",
    "upper_of_ids": "On the Torch floor,",
    "upper": "On the Torch floor, with gradients,",
    "carried": "carry_over, then the scores of",
    "steps_of_training": "Two times train_step; ids, targets, rate",
    "upper_written": "generate on the Torch floor; ids, how many more, temperature",
}


def _compared(case: str, got: str, expected: str) -> str:
    """What came out of a case and what should have, in words."""
    got, expected = _without_long_beginning(got, expected)
    came = f"raises {got}" if got.endswith("Error") else f"gives {_cut(got)}"
    expected = _cut(expected)
    wanted = f"should raise {expected}" if expected.endswith("Error") else f"expected {expected}"
    return f"{in_words(case)} {came}, {wanted}" + ("" if wanted.endswith("...") else ".")


def _without_long_beginning(got: str, expected: str) -> tuple[str, str]:
    """Both texts, less a beginning that they share and after which they would be cut."""
    pairs = enumerate(zip(got, expected, strict=False))
    shared = next((i for i, (a, b) in pairs if a != b), min(len(got), len(expected)))
    start = got.rfind(" ", 0, shared) + 1
    return (got, expected) if start < 40 else ("... " + got[start:], "... " + expected[start:])


def _cut(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."


_FIRST = "order_problems("
"""What comes of a wrong order depends on how the derivatives are collected: the order alone tells."""


def recognise(number: str, answers: dict[str, str]) -> list[Found]:
    """The mistakes that explain a student's answers, at most one per wrong answer."""
    known = signatures()
    right: dict[str, str] = known["right"].get(number, {})
    candidates: list[tuple[int, Mistake, dict[str, str]]] = []
    for mistake in ALL:
        if mistake.number != number:
            continue
        wrong = known["wrong"].get(key(mistake), {})
        telling = {case: a for case, a in wrong.items() if case.startswith(_FIRST)} or wrong
        if wrong and all(answers.get(case) == answer for case, answer in telling.items()):
            candidates.append((len(wrong), mistake, wrong))
    candidates.sort(key=lambda c: -c[0])
    explained: set[str] = set()
    found = []
    for _, mistake, wrong in candidates:
        if explained & set(wrong):
            continue
        explained |= set(wrong)
        case = next(iter(wrong))
        found.append(Found(mistake, case, wrong[case], right[case]))
    return found


def key(mistake: Mistake) -> str:
    """A name for an entry that no other has."""
    return f"{mistake.number} {mistake.file}: {mistake.name}"


def wrong_answers(
    number: str, answers: dict[str, str], explained_by: Iterable[Found] = ()
) -> list[str]:
    """What a student's code answers otherwise than ours does, in words; not what a mistake explains."""
    known = signatures()
    right: dict[str, str] = known["right"].get(number, {})
    explained = {case for found in explained_by for case in known["wrong"][key(found.mistake)]}
    return [
        _compared(case, answers.get(case, "?"), expected)
        for case, expected in right.items()
        if answers.get(case) != expected and case not in explained
    ]


def diagnose(number: str, answers: dict[str, str]) -> list[str]:
    """What to tell a student: the known mistakes, then the first wrong answers that none of them explains."""
    found = recognise(number, answers)
    wrong = wrong_answers(number, answers, found)
    written = [text for text in wrong if "raises NotImplementedError" not in text]
    return [mistake.message for mistake in found] + written[:SHOWN]


@cache
def signatures() -> dict[str, Any]:
    """The answers of the right library and of the wrong ones."""
    return json.loads(SIGNATURES.read_text(encoding="utf-8"))


# --- Making the signatures -----------------------------------------------------------------


def answers_of(mistakes: list[Mistake]) -> Iterator[tuple[Mistake | None, str, dict[str, str]]]:
    """The answers of the right library to each task's probes, and of each wrong one to its own."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        shutil.copytree(
            LIBRARY,
            root / "minitorch",
            ignore=shutil.ignore_patterns("__pycache__", "torch", "torchvision", "course", "app"),
        )
        if any(BY_NUMBER[m.number].needs_torch for m in mistakes):
            copy_torch_floor(root / "minitorch")
        with Server(["numba"], PYTHONDONTWRITEBYTECODE="1") as server:
            for number in dict.fromkeys(m.number for m in mistakes):
                yield None, number, _ask(server, root, number)
            for mistake in mistakes:
                path = root / "minitorch" / mistake.file
                text = path.read_text(encoding="utf-8")
                path.write_text(mistake.made_in(text), encoding="utf-8")
                try:
                    yield mistake, mistake.number, _ask(server, root, mistake.number)
                finally:
                    path.write_text(text, encoding="utf-8")


def _ask(server: Server, root: Path, number: str) -> dict[str, str]:
    asked = request(root, BY_NUMBER[number], only_probes=True)
    result = server.ask(asked | {"limit": 60}, BY_NUMBER[number])
    if result.error is not None:
        return {"import": result.error["text"]}
    return result.probes


def compute_signatures(mistakes: list[Mistake]) -> dict[str, Any]:
    """What `signatures.json` should hold about mistakes."""
    made: dict[str, Any] = {"right": {}, "wrong": {}}
    for mistake, number, answers in answers_of(mistakes):
        if mistake is None:
            made["right"][number] = answers
        else:
            right = made["right"][number]
            made["wrong"][key(mistake)] = {c: a for c, a in answers.items() if a != right.get(c)}
    return made


if __name__ == "__main__":
    SIGNATURES.write_text(json.dumps(compute_signatures(ALL), indent=1) + "\n", encoding="utf-8")
    sys.exit(0)
