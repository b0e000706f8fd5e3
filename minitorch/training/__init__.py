"""Training: the lesson loops, and the runtime that logs, saves, resumes and draws them.

The loops are in `scalar_points`, `tensor_points`, `images` and `sentences`; each is a class
with `train(data, rate, max_epochs, log_fn)` that can be read on its own. `session` runs them.
"""
