"""What goes with modules: sequences, gradients, parameters as one."""

from . import rnn as rnn
