"""What goes beyond plain averages: ranks with fewer inputs than others, hooks that compress gradients."""

from .join import Join as Join
from .join import Joinable as Joinable
from .join import JoinHook as JoinHook
