"""What to tell a student who made a mistake of the catalogue.

What was asked, what came out and what should have is put in front of it.
"""

from __future__ import annotations


def _advice(**by_file: dict[str, str]) -> dict[str, str]:
    return {
        f"{file}: {name}": text for file, found in by_file.items() for name, text in found.items()
    }


ADVICE: dict[str, dict[str, str]] = {
    "0.1": _advice(
        operators={
            "sigmoid overflows far to the left": "math.exp overflows above 709. Left of 0 use e^x / (1 + e^x).",
            "sigmoid without the minus": "It falls where it should rise. Is it exp(-x) in the denominator?",
            "sigmoid calls exp of this file": "operators.sigmoid calls operators.exp; Numba (module 3) cannot compile that. Use math.exp.",
            "relu is abs": "Negative numbers become 0, not positive.",
            "relu_back lets 0 through": "At 0 the derivative is taken to be 0: x > 0, not x >= 0.",
            "relu_back forgets d": "Right when d is 1, wrong otherwise. Is d multiplied in?",
            "relu_back looks at d": "Whether the gradient passes depends on x, not on d.",
            "inv_back without the minus": "The sign is wrong: 1/x falls, so its derivative is negative.",
            "inv_back divides by x once": "The derivative of 1/x is -1/x²; x appears squared.",
            "log without EPS": "log(0) must be finite: math.log(x + EPS).",
            "log_back forgets d": "Right when d is 1, wrong otherwise. Is d multiplied in?",
            "log_back without EPS": "log is log(x + EPS), so its derivative is 1 / (x + EPS), finite at 0.",
            "is_close without abs": "Far apart in one direction counts as close. The distance is abs(x - y).",
            "is_close too wide": "Close means less than 0.01 apart: 1e-2.",
            "eq is close": "eq is exact equality; being near is is_close's business.",
            "lt is at most": "A number is not less than itself: x < y, not x <= y.",
            "lt gives a bool": "Comparisons return 1.0 or 0.0, not True or False: tensors hold floats.",
        }
    ),
    "0.2": _advice(
        operators={
            "max is min": "The smaller one came out. Look at the comparison.",
            "add subtracts": "The sign of the second number is wrong.",
            "inv is neg": "inv is one divided by x; minus x is neg.",
        }
    ),
    "0.3": _advice(
        operators={
            "zipWith swaps its arguments": "fn gets the element of the first list first: fn(x, y).",
            "zipWith pairs everything": "Walk the two lists side by side (zip), not every x with every y.",
            "reduce ignores its start": "The total begins with start, not with 0.",
            "reduce folds the wrong way round": "The total is fn's first argument: total = fn(total, x).",
            "prod starts at 0": "0 times anything is 0: a product starts from 1.",
            "sum starts at 1": "A sum starts from 0, which changes nothing.",
            "addLists multiplies": "Pass add to zipWith, not mul.",
            "map drops the last": "The last element is missing. Look at where the loop ends.",
        }
    ),
    "0.4": _advice(
        module={
            "train and eval stop at the module itself": "The mode must reach the children: call train() or eval() of each.",
            "train and eval reach only the children": "Grandchildren keep their mode. Let the children pass it on: call their train() or eval().",
            "names without a prefix": "A child's parameters are named child.name; prefix and dot are missing.",
            "parameters of the children only": "Only one level down was searched. Ask each child for its named_parameters().",
            "own parameters only": "parameters() must include those of all modules below.",
            "unknown attributes are None": "Unknown names must raise AttributeError, or typing errors go unnoticed.",
            "add_parameter returns nothing": "add_parameter returns the Parameter it made.",
            "an old parameter stays behind": "An attribute that is assigned anew is no parameter any more: take it out of _parameters.",
            "no gradient asked for": "A Parameter tells its value to keep a gradient: x.requires_grad_(True).",
        }
    ),
    "1.1": _advice(
        autodiff={
            "one-sided difference": "That is the slope to the right only. Central: f(x + e) - f(x - e), over 2 e.",
            "divided by epsilon once": "Twice too large: the two points are 2 * epsilon apart.",
            "always the first argument": "arg says which argument to move; yours always moves the first.",
            "every argument moves": "Only argument number arg moves, the others stay where they are.",
        }
    ),
    "1.2": _advice(
        scalar={
            "number minus scalar is scalar minus number": "__rsub__ is called for number - scalar: the number comes first.",
            "number over scalar is scalar over number": "__rtruediv__ is called for number / scalar: the number is above.",
            "greater is less": "a > b is b < a: swap the arguments of LT.",
            "the name is ignored": "Scalar(name=...) must be what .name answers.",
            "requires_grad_ ignores its argument": "requires_grad_(False) makes a constant: history None.",
            "a computation outside the graph": "The value is right, but its history is lost. Return what apply returned.",
        },
        scalar_functions={
            "log forward is exp": "Log.forward computes another function. Which one of operators should it call?",
            "eq forward is lt": "EQ.forward compares for less, not for equal.",
        },
    ),
    "1.3": _advice(
        scalar={
            "constants are not left out": "Constants want no derivative: leave pairs out whose scalar.is_constant().",
            "derivatives paired backwards": "The first derivative belongs to the first input. Yours are crossed.",
            "what comes in is ignored": "Right when d_output is 1, wrong when it is 0.37. Pass d_output to _backward.",
            "what comes in is multiplied twice": "_backward has multiplied d_output in already; yours does it again.",
        }
    ),
    "1.4": _advice(
        autodiff={
            "a variable is visited once per path": "Every variable appears once. Remember which were seen.",
            "sums begin with 0.0": "Derivatives are added to each other, and never to 0.0: in module 2 they are tensors. Keep the first that arrives as it is.",
            "the order is from the left": "The order is turned round: begin with the result, inputs last.",
            "constants are in the order": "Constants have no derivative and do not belong into the order.",
            "a variable is taken when first met": "A variable came before one that still needs it. It is finished only when all its parents are: depth first, then reverse.",
            "breadth first": "A variable came before one that still needs it. Breadth first is not enough: a short path can overtake a long one.",
            "recursion, too deep for a long graph": "Right for small graphs, RecursionError on one of 20,000 operations. Use a stack of your own.",
            "the second contribution replaces the first": "A variable that is used twice gets the sum of both derivatives. The second contribution replaced the first.",
            "the first contribution is doubled": "What arrives first counts double. Start from nothing, then add each contribution once.",
            "the incoming derivative is 1": "backpropagate starts from the derivative it is given, not from 1.",
        },
        scalar={
            "a leaf forgets its first derivative": "accumulate_derivative adds to what is there; yours replaces it.",
        },
        scalar_functions={
            "Sigmoid.backward without d_output": "Sigmoid.backward: right when the incoming derivative is 1, wrong when it is 0.37. Is d_output multiplied in?",
            "Sigmoid.backward of the output": "The derivative of the sigmoid is s (1 - s); the factor 1 - s is missing.",
            "Mul.backward not crossed": "The derivative with respect to a is b, and the other way round. Yours are not crossed.",
            "Mul.backward without d_output": "Mul.backward: right when the incoming derivative is 1, wrong otherwise. Is d_output multiplied in?",
            "Exp.backward passes on": "The derivative of exp is exp itself: the saved output times d_output.",
            "Neg.backward without the minus": "The derivative of -x is -1: the sign turns round.",
            "Log.backward swaps its arguments": "log_back takes x first, then d.",
            "Inv.backward swaps its arguments": "inv_back takes x first, then d.",
            "ReLU.backward passes on": "Left of 0 ReLU is flat: no derivative passes there.",
            "LT.backward passes on": "A step is flat on both sides: both derivatives are 0.",
            "Add.backward gives to one side": "Both inputs of a sum receive d_output.",
        },
    ),
    "2.1": _advice(
        tensor_data={
            "index_to_position goes through the index": "The index may be a longer buffer: go through the strides, and ignore the rest.",
            "the first dimension counts fastest": "Counting through a shape, the last dimension moves fastest. Start from the back.",
            "position without strides": "A step in dimension d moves strides[d] places, not one.",
            "permute keeps the strides": "Shape and strides are reordered together; your strides stayed.",
            "permute makes new strides": "The storage stays as it is, so strides must be reordered, not computed anew.",
            "negative indices wrap": "Negative indices are out of range here: IndexingError.",
            "an index may be as large as the size": "Indices run from 0 to size - 1; size itself is out of range.",
        }
    ),
    "2.2": _advice(
        tensor_data={
            "the larger size wins": "A size may be 0, and what is 1 is repeated 0 times then. The size that is not 1 wins.",
            "shape_broadcast gives a list": "A shape is a tuple: no list is equal to one.",
            "aligned at the left": "Shapes align at their right ends. Skip the leading dimensions that shape lacks.",
            "dimensions of size 1 are not copied": "A dimension of size 1 has only index 0, wherever the big index is.",
            "any shapes broadcast": "Sizes that differ, neither of them 1, do not broadcast: IndexingError.",
            "only equal shapes broadcast": "Either of the two sizes may be 1. Yours allows it on one side only.",
            "shapes aligned at the left": "Shapes align at their right ends: the ones are put in front.",
        }
    ),
    "2.3": _advice(
        tensor_ops={
            "map does not broadcast": "The input may be smaller than the output: broadcast_index finds its index.",
            "map writes by ordinal": "Right for contiguous outputs only. The place in out comes from out_index and out_strides.",
            "map reads by ordinal": "Right for contiguous inputs only. The place in the input comes from in_index and in_strides.",
            "zip reads b at a's index": "b has an index and strides of its own.",
            "zip writes by ordinal": "Right for contiguous outputs only. The place in out comes from out_index and out_strides.",
            "zip swaps its arguments": "fn gets a's element first: fn(x, y).",
            "reduce ignores the starting value": "out holds the starting value: fold into that, not into 0.",
            "reduce reads with the output's strides": "Elements of a are found with a_strides, not with out_strides.",
            "reduce writes by ordinal": "Right for contiguous outputs only. The place comes from the index and out_strides.",
            "reduce leaves out the last": "One element per output is missing. Where does the inner loop end?",
        },
        tensor_functions={
            "IsClose is EQ": "IsClose allows a difference of 0.01: is_close_zip.",
            "LT swaps its arguments": "a < b: a is the first argument of lt_zip.",
            "All adds": "All is true where the product is: mul_reduce.",
            "view of what is not contiguous": "view cannot look at permuted storage: refuse it.",
        },
        tensor={
            "greater is less": "a > b is b < a: swap the arguments of LT.",
            "mean over a dimension divides by the whole size": "Over one dimension, divide by that dimension's size.",
            "requires_grad_ ignores its argument": "requires_grad_(False) makes a constant: history None.",
        },
    ),
    "2.4": _advice(
        tensor_functions={
            "Sigmoid.backward without grad_output": "Sigmoid.backward: right when the incoming gradient is 1, wrong when it is 0.37. Is grad_output multiplied in?",
            "Mul.backward not crossed": "The gradient of a is b times grad_output, and the other way round. Yours are not crossed.",
            "Exp.backward without grad_output": "Exp.backward: right when the incoming gradient is 1, wrong when it is 0.37. Is grad_output multiplied in?",
            "Log.backward swaps its arguments": "log_back_zip takes the input first, then grad_output.",
            "Inv.backward without the square": "The derivative of 1/x is -1/x²; the square is missing.",
            "ReLU.backward looks at the gradient": "Whether the gradient passes depends on the input of forward, not on the gradient.",
            "Neg.backward passes on": "The derivative of -x is -1: the sign turns round.",
            "LT.backward passes on": "A step is flat on both sides: both gradients are zeros.",
            "Permute.backward by the same order": "The shape may be right, but entries sit in the wrong place: they match the gradient permuted by forward's order again. Undo it.",
            "Permute.backward reverses the order": "The inverse of an order is not the order read backwards: where order[i] = d, inverse[d] = i.",
            "Permute.backward has only the right shape": "The shape is right, but entries sit in the wrong place. Permute the gradient, do not just view it.",
            "View.backward takes storage as it lies": "The incoming gradient may be permuted: make it contiguous before looking at its storage.",
            "Sum.backward is 1": "Every summed element receives grad_output, not 1.",
        },
        tensor={
            "the second gradient replaces the first": "accumulate_derivative adds to the gradient that is there; yours replaces it.",
            "the gradient is the tensor that came in": "The gradient must be a tensor of its own: others may write to the one that came in.",
            "constants are not left out": "Constants want no gradient: leave them out of chain_rule.",
            "what was copied along size 1 is not summed": "Where forward copied along a dimension of size 1, gradients add up.",
        },
    ),
    "3.1": _advice(
        fast_ops={
            "map takes the short way whenever sizes agree": "Same size is not the same layout: compare strides before copying straight through.",
            "zip walks b with a's step": "b has steps of its own.",
            "a broadcast operand moves on": "Along a dimension of size 1 that is broadcast, the operand stays where it is: step 0.",
            "operands aligned at the left": "Shapes align at their right ends, in kernels too.",
            "reduce ignores the starting value": "out holds the starting value: fold into it, do not overwrite it.",
            "reduce leaves out the second of each chunk": "One element of each run is missing. Where does the inner loop start?",
        }
    ),
    "3.2": _advice(
        fast_ops={
            "a stack of one is walked through": "A single matrix serves the whole batch, with its own strides: batch stride 0.",
            "always the first matrix of b": "Every product used the first matrix of b. Its batch stride is 0 only if it has one matrix.",
            "the last rows of a tile are left out": "The last rows are 0: sizes need not be multiples of the block.",
            "always the first matrix of a": "Every product used the first matrix of a. Its batch stride is 0 only if it has one matrix.",
            "rows that do not run along memory are taken as if they did": "Right for contiguous matrices only: use the strides of both dimensions.",
            "the last columns of a block are left out": "The last columns are 0: sizes need not be multiples of the block.",
            "dot products start at 1": "Each result is too large by 1: the total starts from 0.",
        },
        tensor_functions={
            "MatMul.backward without a transpose": "The gradient of a is grad_output times b transposed.",
            "MatMul.backward forgets the gradient": "The gradient of b is a transposed times grad_output, not times ones.",
        },
    ),
    "3.3": _advice(
        cuda_ops={
            "map writes by ordinal": "Right for contiguous outputs only. The place in out is what _positions says.",
            "zip reads b at a's place": "b has a place of its own: _positions returns it last.",
            "no guard past the end": "CUDA: a thread past the end read a[i]; a real GPU returns rubbish there. Guard it: i < size.",
            "the second half is left out": "Half of the cells never enter the sum: the first step adds cells 16 to 31.",
            "reduce ignores the starting value": "Each thread's total starts from reduce_value, not from 0.",
        }
    ),
    "3.4": _advice(
        cuda_ops={
            "the second matrix is read transposed": "Row i of a meets column j of b: b_cells[k, j].",
        },
        cuda_matmul={
            "the tile of b is read transposed": "Row i of a's tile meets column j of b's: b_tile[k, j].",
        },
    ),
    "4.1": _advice(
        fast_conv={
            "backward anchored at the same end": "Backward is a convolution anchored at the other end: reverse=True.",
            "the window reads past the end": "Past the end of the input there are zeros; yours reads on into the next row.",
            "channels of backward not swapped": "In backward input and output channels of the weight change places.",
            "the weight's gradient is of the last image": "The weight's gradient sums over the whole batch; yours keeps the last part only.",
        }
    ),
    "4.2": _advice(
        fast_conv={
            "anchored at the bottom": "The window begins at the place and goes down: i + k, or i - k with reverse.",
            "the weights transposed": "Height and width of the window are exchanged.",
            "the image below the edge is not 0": "Past the edge the image is 0; yours repeats the last row.",
        }
    ),
    "4.3": _advice(
        nn={
            "tile without permute": "The tiles are rows of the image, not windows. Between the two views, permute brings the window's dimensions to the end.",
            "kernel height and width swapped": "kernel is (height, width), in this order.",
            "new height and width swapped": "tile returns the new height first, then the new width.",
            "the average is a sum": "Divide by how many elements a tile has.",
            "the average over the wrong dimension": "The mean goes over the dimensions of the window, not over those of the image.",
        }
    ),
    "4.4": _advice(
        nn={
            "every tie gets the gradient": "Of several equal maxima only the first counts.",
            "Max.backward without grad_output": "Max.backward: right when the incoming gradient is 1, wrong when it is 0.37. Is grad_output multiplied in?",
            "Max.backward to everyone": "The gradient goes to the maximum alone, the others receive 0.",
            "softmax overflows": "exp overflows for large scores. Subtract the maximum first: nothing else changes.",
            "softmax of everything": "The sum runs along dim, not over everything.",
            "logsoftmax overflows": "exp overflows for large scores. Subtract the maximum first.",
            "logsoftmax adds the logarithm": "The logarithm of a quotient is a difference: minus log of the sum.",
            "dropout the wrong way round": "rate is the share that is dropped, not the share that is kept.",
            "dropout scales up": "In the course, what is kept is not scaled up.",
            "dropout in evaluation too": "With ignore nothing is dropped: return the input.",
            "dropout of whole rows": "Each element is dropped by itself: as many random numbers as elements.",
            "max pooling averages": "Take the maximum of each tile, not its mean.",
        }
    ),
    "4.4b": _advice(
        cuda_conv={
            "one cell past the end is read": "CUDA: a thread read input at the width itself; the last cell is width - 1. A real GPU returns rubbish there.",
            "reverse is ignored": "With reverse the window ends at the place: i - k, not i + k. Backward needs it.",
            "every thread walks the whole window": "Too large as many times as threads share an output: each takes every lanes-th k, starting from its own lane.",
            "the threads' parts are not added up": "Only the first thread's part arrives. Add the lanes up in shared memory (_sum_lanes) before the write.",
            "only the first channel": "The sum runs over all input channels; yours stops after the first.",
            "no guard around the write": "CUDA: a thread past the end wrote to out. Guard it: ordinal < out_size.",
            "writes by ordinal": "Right for contiguous outputs only. The place in out comes from the index and out_strides.",
            "height and width of the window exchanged": "The weight's last dimension is the width of the window; the one before it is the height.",
        }
    ),
}
