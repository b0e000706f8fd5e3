"""The pages of the app, as data: what each shows, what to try there, which tasks it exercises."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SCREENS = Path(__file__).parent / "screens"

MODULES = {
    0: "Module 0: Fundamentals",
    1: "Module 1: Autodiff",
    2: "Module 2: Tensors",
    3: "Module 3: Efficiency",
    4: "Module 4: Networks",
    5: "Module 5: Torch",
}


@dataclass(frozen=True)
class Room:
    """One page.

    Attributes:
        name: its file in `screens/`, and its address
        title: as the sidebar has it
        icon: the name of a Material symbol
        module: where it stands in the sidebar; None: at the top
        tasks: the tasks whose code it runs
        shows: what is to be seen, in a sentence or two
        tries: what to try
        promise: what it does once the code is written: "This page will ..."
        guide: the chapter of the guide, a file in `docs/guide` without its ending
    """

    name: str
    title: str
    icon: str
    module: int | None
    tasks: tuple[str, ...]
    shows: str
    tries: tuple[str, ...]
    promise: str = "show what your code gives"
    guide: str = ""

    @property
    def file(self) -> Path:
        """The script that draws it."""
        return SCREENS / f"{self.name}.py"


ROOMS = (
    Room(
        "start",
        "Start",
        "home",
        None,
        (),
        "How to begin and where you stand: every task, the last check that failed and what it said, "
        "and whether this machine has what the course needs.",
        (),
    ),
    Room(
        "guide",
        "Guide",
        "menu_book",
        None,
        (),
        "The chapters of the guide, with their figures and exercises.",
        (),
    ),
    Room(
        "functions",
        "Functions",
        "show_chart",
        0,
        ("0.1", "1.1", "1.2", "1.4"),
        "The functions that everything is built from, drawn from the code: values, slope, and how "
        "well three ways to find the slope agree.",
        (
            "Move the point along `relu` past 0: where does the slope change at once?",
            "Make the step of the central difference very small. Why does the error grow again?",
            "Type an expression of your own, such as `sigmoid(3 * x) - x ** 2`.",
        ),
        "draw your functions and their slopes",
        "derivatives",
    ),
    Room(
        "modules",
        "Modules",
        "account_tree",
        0,
        ("0.4",),
        "A module is a tree: parameters at the leaves, names that say how to reach them, and "
        "one switch for training that reaches every branch.",
        (
            "Switch a branch to `eval` and see how far it reaches.",
            "Find the parameter with the longest name: which modules does it go through?",
        ),
        "draw your module tree",
        "modules",
    ),
    Room(
        "by_hand",
        "By hand",
        "tune",
        0,
        ("0.1", "0.5"),
        "A classifier with three parameters. Move the sliders until the line separates the points; "
        "the loss says how far you are.",
        (
            "Get all points of `Simple` right, then lower the loss further. What grows?",
            "Press `One gradient step` and see which parameters it changes.",
            "Try `Xor`: why can no line do it?",
        ),
        "draw your line and compute its loss",
        "ml-primer",
    ),
    Room(
        "graph",
        "Graph",
        "schema",
        1,
        ("1.2", "1.3", "1.4", "2.3", "2.4"),
        "An expression becomes a graph of boxes. Walk through it forward, then backward, and watch "
        "each derivative arrive.",
        (
            "Take `log(z) + exp(z)` with `z = x * y`: z is used twice, so two derivatives are added.",
            "Before each step backward, say which box comes next.",
            "Switch to tensors: where does a gradient change its shape?",
        ),
        "walk through your graph",
        "backpropagation",
    ),
    Room(
        "playground",
        "Playground",
        "play_circle",
        1,
        ("1.4", "1.5", "2.4", "2.5", "3.1", "3.2"),
        "Train a network on points and watch its decision surface change, unit by unit.",
        (
            "Train `Xor` with `2, 2` hidden units, then with `10, 10`.",
            "Raise the rate to 30, and read what the page says about the loss.",
            "Pause, click a line, change its weight, and go on: does the network recover?",
            "Set the noise to 0.1: the training loss still falls, but what does the test loss do?",
        ),
        "train with your code",
        "ml-primer",
    ),
    Room(
        "tensors",
        "Tensors",
        "view_in_ar",
        2,
        ("2.1",),
        "A tensor is a flat row of numbers; its strides say where each one lies. Click a cell "
        "and see where it lies.",
        (
            "Permute the dimensions: which cells move in the storage? (None.)",
            "Ask for an index that is out of range.",
            "Make it contiguous, and compare the strides.",
        ),
        "find your cells in the storage",
        "tensors",
    ),
    Room(
        "broadcasting",
        "Broadcasting",
        "grid_on",
        2,
        ("2.2", "2.4"),
        "Two shapes are laid side by side from the right, and what has size 1 is copied. Backward, "
        "the copies are added up again.",
        (
            "Broadcast (3, 1) with (1, 4): how many cells are copies?",
            "Find two shapes that do not fit, and read why.",
            "See which cells of the gradient are summed for each input.",
        ),
        "broadcast with your rules",
        "broadcasting",
    ),
    Room(
        "operations",
        "Map, zip, reduce",
        "animation",
        2,
        ("2.3",),
        "Three loops compute every tensor operation. See them visit the cells, in the order in which "
        "the code does.",
        (
            "Reduce over each dimension in turn, and watch which cells are combined.",
            "Map over a permuted tensor: the positions jump, the result does not.",
        ),
        "show the order in which your loops visit the cells",
        "operations",
    ),
    Room(
        "parallel",
        "Parallel",
        "line_style",
        3,
        ("3.1", "3.2"),
        "The same loops on several threads: which thread does what, what may go wrong, and how much time is saved.",
        (
            "Choose a size below the threshold: one thread is enough.",
            "Look at the race: run it with 1 thread and with 4.",
            "Compare the memory of a fused product with zip and reduce.",
        ),
        "run your loops on several threads",
        "parallelism",
    ),
    Room(
        "cuda",
        "CUDA",
        "memory",
        3,
        ("3.3", "3.4"),
        "Thousands of threads in blocks. Step through a kernel in the simulator: which thread reads what, "
        "when all wait, and what lies out of bounds.",
        (
            "Choose a size that the block does not divide: which threads must do nothing?",
            "Leave out the guard in the first puzzle, and read what happens.",
            "Count the reads of the plain and the tiled product.",
        ),
        "trace your kernels",
        "gpu",
    ),
    Room(
        "convolution",
        "Convolution",
        "filter_center_focus",
        4,
        ("4.1", "4.2", "4.3"),
        "A window slides over the input; pooling groups it into tiles. Every number is on the page.",
        (
            "Move the window to the right edge: what does it read past the edge?",
            "Click a cell of the output to see the window that it comes from.",
            "Give the input two channels, and look at them one at a time.",
            "Go back to the input: where does the window end now, and where are the zeros?",
            "See how `tile` gets its groups by view and permute alone.",
        ),
        "slide your windows",
        "convolution",
    ),
    Room(
        "images",
        "Images",
        "draw",
        4,
        ("4.1", "4.2", "4.3", "4.4", "4.5"),
        "A network learns digits. Watch its filters, its mistakes, and what it makes of yours.",
        (
            "Draw a digit in the box, then one that could be two.",
            "Find the two digits that it confuses most, and look at those images from inside.",
            "Pause the training, look around on other pages, and go on.",
            "Train with 100 images only: how much is lost?",
        ),
        "train on digits with your code",
        "multiclass",
    ),
    Room(
        "sentiment",
        "Sentiment",
        "sentiment_satisfied",
        4,
        ("4.1", "4.3", "4.4", "4.5"),
        "A network reads sentences of film reviews and says whether each is positive or negative.",
        (
            "Type a sentence: which word weighs most?",
            "Add `not` before it. Does the network notice?",
            "Use a word that it has never seen.",
            "Make all windows one word wide: which sentences are read wrong now?",
        ),
        "read sentences with your code",
        "sentiment",
    ),
    Room(
        "compare",
        "Compare with Torch",
        "balance",
        4,
        ("1.4", "1.5", "2.4", "2.5", "3.1"),
        "The same network from the same weights, trained here and by Torch: two curves that should "
        "be one.",
        (
            "Compare the first ten losses digit by digit: how many digits agree?",
            "Change the seed: all models change alike.",
            "Train for 200 epochs, and watch the differences of rounding grow.",
        ),
        "train with your code beside Torch",
        "torch",
    ),
    Room(
        "torch_graph",
        "Torch graph",
        "account_tree",
        5,
        (),
        "The graph behind the loss of a Torch model: every operation that `backward` walks through, "
        "down to the parameters, with the shape on every arrow.",
        (
            "Find the two parents of an `Addmm`: which shape does the weight have, and why?",
            "Follow the GPT's states past its attention: where do two arrows leave one box?",
        ),
        guide="torch",
    ),
    Room(
        "torch_runs",
        "Runs and weights",
        "stacked_line_chart",
        5,
        (),
        "Train models of the Torch floor with several optimizers, rates and seeds, all losses in one "
        "picture; and see how the weights and gradients of each layer spread on the way.",
        (
            "Compare SGD and Adam with a rate of 0.01: which needs more steps?",
            "Raise the rate until a loss jumps. What do its gradients do just before?",
            "Look at the gradients of the first layer of a trained model: why are they small?",
        ),
        guide="gradient-descent",
    ),
    Room(
        "profiler",
        "Profiler",
        "timeline",
        5,
        (),
        "One training step on a timeline, as `torch.profiler` records it: forward, backward, "
        "optimizer, and every operation within them.",
        (
            "How long is backward, compared with forward?",
            "Which operation of the GPT takes the most time of its own?",
        ),
        guide="torch",
    ),
    Room(
        "tape",
        "Compiled step",
        "merge",
        5,
        (),
        "A training step as `torch.compile` runs it: the graph of all that it computes, forward, backward and optimizer, "
        "before and after neighbours are fused, with the time of each box.",
        (
            "Find a `relu` before fusion. In which box is it afterwards, and what else is there?",
            "Which box takes the most time before fusion, and which one after?",
            "Read a loop of the transformer: which numbers never reach memory?",
        ),
        guide="tape",
    ),
    Room(
        "gpt",
        "GPT",
        "edit_note",
        5,
        (),
        "A small GPT learns the text of the guide, character by character. See which characters each "
        "one looks at, and let it write.",
        (
            "Write before the training, after 50 steps and at the end.",
            "Set the temperature to 0.1, then to 2: what changes, and why?",
            "Look at both heads of a block: do they look at the same places?",
        ),
        guide="gpt",
    ),
)


def find_room(name: str) -> Room:
    """The page of this name."""
    return next(room for room in ROOMS if room.name == name)
