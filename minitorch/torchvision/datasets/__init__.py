"""Data sets of pictures, from local files."""

from .cifar import CIFAR10 as CIFAR10
from .cifar import CIFAR100 as CIFAR100
from .fakedata import FakeData as FakeData
from .folder import DatasetFolder as DatasetFolder
from .folder import ImageFolder as ImageFolder
from .mnist import KMNIST as KMNIST
from .mnist import MNIST as MNIST
from .mnist import FashionMNIST as FashionMNIST
from .stl10 import STL10 as STL10
from .vision import VisionDataset as VisionDataset
