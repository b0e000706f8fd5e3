"""Tasks 5.4 and 5.5: train a small GPT on Shakespeare, and let it write.

python project/run_gpt.py --floor ground     the GPT of transformer.py, on the course's tensors
python project/run_gpt.py                    the one of torch_transformer.py, on minitorch.torch
python project/run_gpt.py --compare          both with the same weights: scores, and time of a step
"""

import sys

from which_library import say_which

from minitorch.training.gpt import main as main

if __name__ == "__main__":
    say_which()
    sys.exit(main())
