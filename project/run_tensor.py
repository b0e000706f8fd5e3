"""Task 2.5: train a network of tensors, in plain Python, on a 2-D data set.

python project/run_tensor.py --DATASET xor
"""

import sys

from which_library import say_which

from minitorch.training import points
from minitorch.training.tensor_points import Linear as Linear
from minitorch.training.tensor_points import Network as Network
from minitorch.training.tensor_points import TensorTrain as TensorTrain

if __name__ == "__main__":
    say_which()
    sys.exit(points.main("Train a network of tensors on a 2-D data set.", "simple"))
