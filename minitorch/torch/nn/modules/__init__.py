"""The modules, by the file that has them."""

from .module import Module as Module
