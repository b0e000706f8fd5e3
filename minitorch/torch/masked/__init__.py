"""Reductions over the elements that a mask lets through."""
