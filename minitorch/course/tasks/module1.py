"""The tasks of module 1: one number that knows its derivative."""

from __future__ import annotations

from .record import Task, alike, places

_SCALAR_FORWARD = alike(
    "scalar_functions.py",
    "Mul.forward Inv.forward Neg.forward Sigmoid.forward ReLU.forward Exp.forward LT.forward "
    "EQ.forward",
    "forward sees plain numbers, not Scalars. What {}'s derivative will need must be saved with "
    "ctx.save_for_backward, because backward sees only ctx and d_output.",
    "Save what backward needs (Mul: both inputs; Inv, ReLU: the input; Sigmoid, Exp: the output; "
    "the others nothing), then return the function of operators that {} is named after.",
)

_SCALAR_OPERATORS = alike(
    "scalar.py",
    "Scalar.__add__ Scalar.__sub__ Scalar.__neg__ Scalar.__lt__ Scalar.__gt__ Scalar.__eq__ "
    "Scalar.log Scalar.exp Scalar.sigmoid Scalar.relu",
    "A Scalar must remember how it came about, so nothing is computed here: a ScalarFunction's "
    "apply does it. Look at __mul__, which is written.",
    "One line: Add.apply(self, b), Neg.apply(self), Log.apply(self) and so on. a - b is a + (-b); "
    "a > b is b < a.",
)

_SCALAR_BACKWARD = alike(
    "scalar_functions.py",
    "Mul.backward Inv.backward Neg.backward Sigmoid.backward ReLU.backward Exp.backward "
    "LT.backward EQ.backward",
    "Ask two things of {}: what is its derivative at the saved values, and is it multiplied by "
    "d_output? One number per input of forward.",
    "Mul: (b d, a d). Inv, ReLU: operators.inv_back, relu_back of the input and d. Neg: -d. "
    "Sigmoid: s (1 - s) d with s the saved output. Exp: the saved output times d. "
    "LT and EQ: (0.0, 0.0).",
)

TASKS: tuple[Task, ...] = (
    Task(
        "1.1",
        "Numerical derivatives",
        places(
            "autodiff.py",
            (
                "central_difference",
                "Move argument number arg a little to the right and to the left, leave the others.",
                "Copy vals twice, change entry arg by +epsilon and -epsilon, and divide the "
                "difference of the two values of f by the whole distance, 2 * epsilon.",
            ),
        ),
        ("test_autodiff.py", "test_examples.py"),
        "A derivative without calculus: how much does f change when one argument changes a bit?",
    ),
    Task(
        "1.2",
        "Scalars",
        _SCALAR_FORWARD + _SCALAR_OPERATORS,
        ("test_scalar.py", "test_examples.py"),
        "A Scalar is a number that remembers the function and the inputs it came from. "
        "Functions compute (forward); the operators of Scalar apply them.",
    ),
    Task(
        "1.3",
        "Chain rule",
        places(
            "scalar.py",
            (
                "Scalar.chain_rule",
                "The history knows the function, its context and its inputs. The function's "
                "_backward gives one derivative per input; constants get none.",
                "derivatives = h.last_fn._backward(h.ctx, d_output); pair them with h.inputs in "
                "order, and leave out the pairs whose scalar.is_constant().",
            ),
        ),
        ("test_autodiff.py", "test_examples.py"),
        "One step back: from the derivative of a result to the derivatives of its inputs.",
    ),
    Task(
        "1.4",
        "Backpropagation",
        places(
            "autodiff.py",
            (
                "topological_sort",
                "A variable may come only after everything computed from it. Depth first: a "
                "variable is finished when all its parents are. Not by recursion: graphs are deep.",
                "A stack of (node, parents_done). Popped with False and not seen, not constant: "
                "mark it seen, push (node, True), push its parents with False. Popped with True: "
                "append it. At the end, reverse.",
            ),
            (
                "backpropagate",
                "Keep a dictionary: unique_id to the derivative that has arrived so far. In "
                "topological order it is complete when its variable's turn comes.",
                "Start with {variable.unique_id: deriv}. For each node in order: a leaf "
                "accumulates its derivative; any other passes it through chain_rule, and what "
                "comes out is ADDED to what already waits for the parent.",
            ),
        )
        + _SCALAR_BACKWARD,
        ("test_scalar.py", "test_autodiff.py", "test_optim.py", "test_examples.py"),
        "The chain rule over the whole graph, in an order in which nothing is used before it is "
        "complete.",
        points=15,
    ),
    Task(
        "1.5",
        "Training",
        places(
            "training/scalar_points.py",
            (
                "Linear.forward",
                "Each output is a sum: its bias, and every input times the weight that leads from it "
                "to this output.",
                "For output j: begin with self.bias[j].value, and add inputs[i] * "
                "self.weights[i][j].value for every i.",
            ),
            (
                "Network.hidden",
                "A layer gives a list of scalars. ReLU is applied to each of them.",
                "first = [h.relu() for h in self.layer1(x)]\n"
                "second = [h.relu() for h in self.layer2(first)]\n"
                "return first, second",
            ),
            (
                "Network.forward",
                "layer3 turns what the second hidden layer gives into one number.",
                "first, second = self.hidden(x)\nreturn self.layer3(second)[0].sigmoid()",
            ),
        ),
        ("test_networks.py",),
        "A network of your scalars. The loop that trains it is written: it calls what you write, then "
        "backward, then steps every parameter against its derivative.",
        slow=10,
    ),
)
