"""Task 3.5: train a network of tensors on the fast backends, on a 2-D data set.

python project/run_fast_tensor.py --BACKEND cpu --HIDDEN 100 --DATASET split --RATE 0.05
"""

import sys

from which_library import say_which

from minitorch.training import points
from minitorch.training.tensor_points import FastTrain as FastTrain
from minitorch.training.tensor_points import Linear as Linear
from minitorch.training.tensor_points import Network as Network

if __name__ == "__main__":
    say_which()
    sys.exit(points.main("Train a network on the CPU or the GPU, on a 2-D data set."))
