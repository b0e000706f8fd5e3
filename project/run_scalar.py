"""Task 1.5: train a network of scalars on a 2-D data set.

python project/run_scalar.py --DATASET xor
"""

import sys

from which_library import say_which

from minitorch.training import points
from minitorch.training.scalar_points import Linear as Linear
from minitorch.training.scalar_points import Network as Network
from minitorch.training.scalar_points import ScalarTrain as ScalarTrain

if __name__ == "__main__":
    say_which()
    sys.exit(points.main("Train a network of scalars on a 2-D data set.", "scalar"))
