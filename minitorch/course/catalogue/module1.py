"""Mistakes of module 1."""

from __future__ import annotations

from .record import Mistake, in_file

MISTAKES: list[Mistake] = [
    *in_file(
        "task1_1",
        "autodiff.py",
        (
            "one-sided difference",
            "That is the slope to the right only. Central: f(x + e) - f(x - e), over 2 e.",
            "return (f(*right) - f(*left)) / (2 * epsilon)",
            "return (f(*right) - f(*vals)) / epsilon",
        ),
        (
            "divided by epsilon once",
            "Twice too large: the two points are 2 * epsilon apart.",
            "return (f(*right) - f(*left)) / (2 * epsilon)",
            "return (f(*right) - f(*left)) / epsilon",
        ),
        (
            "always the first argument",
            "arg says which argument to move; yours always moves the first.",
            "    right[arg] = right[arg] + epsilon\n    left[arg] = left[arg] - epsilon",
            "    right[0] = right[0] + epsilon\n    left[0] = left[0] - epsilon",
        ),
        (
            "every argument moves",
            "Only argument number arg moves, the others stay where they are.",
            "    right[arg] = right[arg] + epsilon\n    left[arg] = left[arg] - epsilon",
            "    right = [v + epsilon for v in vals]\n    left = [v - epsilon for v in vals]",
        ),
    ),
    *in_file(
        "task1_2",
        "scalar.py",
        (
            "number minus scalar is scalar minus number",
            "__rsub__ is called for number - scalar: the number comes first.",
            "return Add.apply(b, Neg.apply(self))",
            "return Add.apply(self, Neg.apply(b))",
        ),
        (
            "number over scalar is scalar over number",
            "__rtruediv__ is called for number / scalar: the number is above.",
            "return Mul.apply(b, Inv.apply(self))",
            "return Mul.apply(self, Inv.apply(b))",
        ),
        (
            "greater is less",
            "a > b is b < a: swap the arguments of LT.",
            "return LT.apply(b, self)",
            "return LT.apply(self, b)",
        ),
        (
            "the name is ignored",
            "Scalar(name=...) must be what .name answers.",
            "return str(self.unique_id) if self._name is None else self._name",
            "return str(self.unique_id)",
        ),
        (
            "requires_grad_ ignores its argument",
            "requires_grad_(False) makes a constant: history None.",
            "self.history = ScalarHistory() if x else None",
            "self.history = ScalarHistory()",
        ),
        (
            "a computation outside the graph",
            "The value is right, but its history is lost. Return what apply returned.",
            "return Exp.apply(self)",
            "return Scalar(Exp.apply(self).data)",
        ),
    ),
    *in_file(
        "task1_2",
        "scalar_functions.py",
        (
            "log forward is exp",
            "Log.forward computes another function. Which one of operators should it call?",
            "return operators.log(a)",
            "return operators.exp(a)",
        ),
        (
            "eq forward is lt",
            "EQ.forward compares for less, not for equal.",
            "return operators.eq(a, b)",
            "return operators.lt(a, b)",
        ),
    ),
    *in_file(
        "task1_3",
        "scalar.py",
        (
            "constants are not left out",
            "Constants get no derivative: leave pairs out whose scalar.is_constant().",
            "for scalar, d in pairs if not scalar.is_constant()]",
            "for scalar, d in pairs]",
        ),
        (
            "derivatives paired backwards",
            "The first derivative belongs to the first input. Yours are crossed.",
            "pairs = zip(h.inputs, derivatives,",
            "pairs = zip(h.inputs, derivatives[::-1],",
        ),
        (
            "what comes in is ignored",
            "Right when d_output is 1, wrong when it is 0.37. Pass d_output to _backward.",
            "h.last_fn._backward(h.ctx, d_output)",
            "h.last_fn._backward(h.ctx, 1.0)",
        ),
        (
            "what comes in is multiplied twice",
            "_backward has multiplied d_output in already; yours does it again.",
            "return [(scalar, d) for scalar, d in pairs",
            "return [(scalar, d * d_output) for scalar, d in pairs",
        ),
    ),
    *in_file(
        "task1_4",
        "autodiff.py",
        (
            "a variable is visited once per path",
            "Every variable appears once. Remember which were seen.",
            "node.unique_id not in seen and not",
            "not",
        ),
        (
            "the order is from the left",
            "The order is reversed: begin with the result, inputs last.",
            "    finished.reverse()\n",
            "",
        ),
        (
            "sums begin with 0.0",
            "Derivatives are added to each other, and never to 0.0: in module 2 they are tensors. Keep the first that arrives as it is.",
            "waiting[key] = waiting[key] + d if key in waiting else d",
            "waiting[key] = waiting.get(key, 0.0) + d",
        ),
        (
            "constants are in the order",
            "Constants have no derivative and do not belong into the order.",
            " and not node.is_constant()",
            "",
        ),
        (
            "a variable is taken when first met",
            "A variable came before one that still needs it. It is finished only when all its parents are: depth first, then reverse.",
            "            stack.append((node, True))\n"
            "            stack += [(parent, False) for parent in node.parents]\n"
            "    finished.reverse()\n",
            "            finished.append(node)\n"
            "            stack += [(parent, False) for parent in node.parents]\n",
        ),
        (
            "breadth first",
            "A variable came before one that still needs it. Breadth first is not enough: a short path can overtake a long one.",
            "        node, parents_done = stack.pop()\n"
            "        if parents_done:\n"
            "            finished.append(node)\n"
            "        elif node.unique_id not in seen and not node.is_constant():\n"
            "            seen.add(node.unique_id)\n"
            "            stack.append((node, True))\n"
            "            stack += [(parent, False) for parent in node.parents]\n"
            "    finished.reverse()\n",
            "        node, _ = stack.pop(0)\n"
            "        if node.unique_id not in seen and not node.is_constant():\n"
            "            seen.add(node.unique_id)\n"
            "            finished.append(node)\n"
            "            stack += [(parent, False) for parent in node.parents]\n",
        ),
        (
            "recursion, too deep for a long graph",
            "Right for small graphs, RecursionError on one of 20,000 operations. Use a stack of your own.",
            "    stack = [(variable, False)]\n"
            "    while stack:\n"
            "        node, parents_done = stack.pop()\n"
            "        if parents_done:\n"
            "            finished.append(node)\n"
            "        elif node.unique_id not in seen and not node.is_constant():\n"
            "            seen.add(node.unique_id)\n"
            "            stack.append((node, True))\n"
            "            stack += [(parent, False) for parent in node.parents]\n",
            "\n    def visit(node: Variable) -> None:\n"
            "        if node.unique_id not in seen and not node.is_constant():\n"
            "            seen.add(node.unique_id)\n"
            "            for parent in node.parents:\n"
            "                visit(parent)\n"
            "            finished.append(node)\n"
            "\n    visit(variable)\n",
        ),
        (
            "the second contribution replaces the first",
            "A variable that is used twice gets the sum of both derivatives. The second contribution replaced the first.",
            "waiting[key] = waiting[key] + d if key in waiting else d",
            "waiting[key] = d",
        ),
        (
            "the first contribution is doubled",
            "What arrives first counts double. Start from nothing, then add each contribution once.",
            "waiting[key] = waiting[key] + d if key in waiting else d",
            "waiting[key] = waiting.get(key, d) + d",
        ),
        (
            "the incoming derivative is 1",
            "backpropagate starts from the derivative it is given, not from 1.",
            "waiting = {variable.unique_id: deriv}",
            "waiting = {variable.unique_id: 1.0}",
        ),
    ),
    *in_file(
        "task1_4",
        "scalar.py",
        (
            "a leaf forgets its first derivative",
            "accumulate_derivative adds to what is there; yours replaces it.",
            "self.derivative = (self.derivative or 0.0) + x",
            "self.derivative = x",
        ),
    ),
    *in_file(
        "task1_4",
        "scalar_functions.py",
        (
            "Sigmoid.backward without d_output",
            "Sigmoid.backward: right when the incoming derivative is 1, wrong when it is 0.37. Is d_output multiplied in?",
            "return out * (1.0 - out) * d_output",
            "return out * (1.0 - out)",
        ),
        (
            "Sigmoid.backward of the output",
            "The derivative of the sigmoid is s (1 - s); the factor 1 - s is missing.",
            "return out * (1.0 - out) * d_output",
            "return out * d_output",
        ),
        (
            "Mul.backward not crossed",
            "The derivative with respect to a is b, and the other way round. Yours are not crossed.",
            "return b * d_output, a * d_output",
            "return a * d_output, b * d_output",
        ),
        (
            "Mul.backward without d_output",
            "Mul.backward: right when the incoming derivative is 1, wrong otherwise. Is d_output multiplied in?",
            "return b * d_output, a * d_output",
            "return b, a",
        ),
        (
            "Exp.backward passes on",
            "The derivative of exp is exp itself: the saved output times d_output.",
            "return out * d_output",
            "return d_output",
        ),
        (
            "Neg.backward without the minus",
            "The derivative of -x is -1: the sign turns round.",
            "return -d_output",
            "return d_output",
        ),
        (
            "Log.backward swaps its arguments",
            "log_back takes x first, then d.",
            "operators.log_back(a, d_output)",
            "operators.log_back(d_output, a)",
        ),
        (
            "Inv.backward swaps its arguments",
            "inv_back takes x first, then d.",
            "operators.inv_back(a, d_output)",
            "operators.inv_back(d_output, a)",
        ),
        (
            "ReLU.backward passes on",
            "Left of 0 ReLU is flat: no derivative passes there.",
            "return operators.relu_back(a, d_output)",
            "return d_output",
        ),
        (
            "LT.backward passes on",
            "A step is flat on both sides: both derivatives are 0.",
            '"""A step is flat on both sides."""\n        return 0.0, 0.0',
            '"""A step is flat on both sides."""\n        return d_output, d_output',
        ),
        (
            "Add.backward gives to one side",
            "Both inputs of a sum receive d_output.",
            "return d_output, d_output",
            "return d_output, 0.0",
        ),
    ),
]
