"""Task 4.5: train the guide's LeNet on MNIST.

python project/run_mnist_multiclass.py
python project/run_mnist_multiclass.py --PTS 2000 --EPOCHS 3
"""

import sys

from which_library import say_which

from minitorch.training.images import BATCH as BATCH
from minitorch.training.images import C as C
from minitorch.training.images import Conv2d as Conv2d
from minitorch.training.images import H as H
from minitorch.training.images import ImageTrain as ImageTrain
from minitorch.training.images import Linear as Linear
from minitorch.training.images import Network as Network
from minitorch.training.images import W as W
from minitorch.training.images import default_log_fn as default_log_fn
from minitorch.training.images import main as main
from minitorch.training.images import make_mnist as make_mnist

if __name__ == "__main__":
    say_which()
    sys.exit(main())
