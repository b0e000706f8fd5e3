"""Task 0.5: separate points with a line set by hand.

python project/run_manual.py --w1 1 --w2 0 --bias -0.5
"""

import argparse
import random

from which_library import say_which

import minitorch
from minitorch.training.manual_points import Linear as Linear
from minitorch.training.manual_points import ManualTrain as ManualTrain
from minitorch.training.manual_points import Network as Network
from minitorch.training.points import dataset_name


def main() -> None:
    """Print the score of a line on a data set."""
    parser = argparse.ArgumentParser(description="Separate points with a line set by hand.")
    parser.add_argument("--DATASET", "--dataset", type=dataset_name, default="Simple")
    parser.add_argument("--PTS", "--pts", type=int, default=50)
    parser.add_argument("--w1", type=float, default=-1.0)
    parser.add_argument("--w2", type=float, default=0.0)
    parser.add_argument("--bias", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    say_which()
    random.seed(args.seed)
    data = minitorch.datasets[args.DATASET](args.PTS)
    trainer = ManualTrain(args.w1, args.w2, args.bias)
    correct, loss = trainer.score(data)
    print(f"{args.DATASET}: label 1 where {args.w1:g} x1 + {args.w2:g} x2 + {args.bias:g} > 0")
    print(f"loss {loss:.2f} | correct {correct}/{data.N}")


if __name__ == "__main__":
    main()
