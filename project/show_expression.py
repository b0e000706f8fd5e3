"""Show how an expression was computed: the graph that backward walks.

Change `scalar_expression` or `tensor_expression`, then:

python project/show_expression.py                      # both, as text
python project/show_expression.py scalar --dot > g.dot  # for Graphviz
"""

import argparse
from typing import Any

from which_library import say_which

import minitorch
from minitorch.autodiff import topological_sort


def scalar_expression() -> minitorch.Scalar:
    """An expression of scalars; give the inputs names."""
    x = minitorch.Scalar(1.0, name="x")
    y = minitorch.Scalar(2.0, name="y")
    z = (x * x) * y + 10.0 * x
    return (z + y.exp()).relu()


def tensor_expression() -> minitorch.Tensor:
    """An expression of tensors; give the inputs names."""
    x = minitorch.tensor([[1.0, 2.0, 3.0]])
    x.name = "x"
    weights = minitorch.tensor([[0.1], [0.2], [0.3]])
    weights.name = "weights"
    return (x @ weights + 1.0).sigmoid().sum()


def graph_lines(variable: Any) -> list[str]:
    """One line per variable, inputs before what is computed from them."""
    names = _names(variable)
    lines = []
    for node in _from_the_left(variable):
        if node.is_leaf():
            how = "(given)"
        else:
            inputs = ", ".join(_argument(v, names) for v in node.history.inputs)
            how = f"{node.history.last_fn.__name__}({inputs})"
        lines.append(f"{names[node.unique_id]} = {how}".ljust(36) + _value(node))
    return lines


def graph_dot(variable: Any) -> str:
    """The graph in Graphviz's language."""
    names = _names(variable)
    lines = ["digraph expression {", "  rankdir=LR;"]
    for node in _from_the_left(variable):
        name = names[node.unique_id]
        what = name if node.is_leaf() else node.history.last_fn.__name__
        shape = "ellipse" if node.is_leaf() else "box"
        lines.append(f'  "{name}" [label="{what}\\n{_value(node)}", shape={shape}];')
        for i, value in enumerate(() if node.is_leaf() else node.history.inputs):
            source = names.get(getattr(value, "unique_id", None))
            if source is None:
                source = f"{name} argument {i}"
                label = _argument(value, names)
                lines.append(f'  "{source}" [label="{label}", shape=plaintext];')
            lines.append(f'  "{source}" -> "{name}";')
    return "\n".join([*lines, "}"])


def _from_the_left(variable: Any) -> list[Any]:
    return list(topological_sort(variable))[::-1]


def _names(variable: Any) -> dict[Any, str]:
    """A name for each variable: its own if it is an input with one, else a number."""
    names: dict[Any, str] = {}
    for number, node in enumerate(_from_the_left(variable), start=1):
        named = node.is_leaf() and node.name != str(node.unique_id)
        names[node.unique_id] = node.name if named else f"v{number}"
    return names


def _argument(value: Any, names: dict[Any, str]) -> str:
    unique_id = getattr(value, "unique_id", None)
    return names.get(unique_id) or (_value(value) if unique_id is not None else str(value))


def _value(node: Any) -> str:
    if isinstance(node, minitorch.Scalar):
        return f"{node.data:g}"
    return f"{node.item():g}" if node.size == 1 else f"shape {node.shape}"


def main() -> None:
    """Print the graphs."""
    parser = argparse.ArgumentParser(description="Show how an expression was computed.")
    parser.add_argument("which", nargs="?", choices=["scalar", "tensor"], help="default: both")
    parser.add_argument("--dot", action="store_true", help="in Graphviz's language")
    args = parser.parse_args()
    say_which()
    expressions = {"scalar": scalar_expression, "tensor": tensor_expression}
    for which in [args.which] if args.which else expressions:
        variable = expressions[which]()
        print(graph_dot(variable) if args.dot else "\n".join([f"{which}:", *graph_lines(variable)]))


if __name__ == "__main__":
    main()
