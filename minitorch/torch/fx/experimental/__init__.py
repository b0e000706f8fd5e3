"""Torch's name for what traces programs: nothing is, and questions say so."""
