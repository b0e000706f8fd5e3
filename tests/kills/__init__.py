"""Commands that are killed at random moments: the next run works, and nothing is lost.

    python -m tests.kills 200             # 200 kills of seed 0, over all scenes in turn
    python -m tests.kills 20 --seed 3 --only save train

`scenes.py` lists what is started and what must hold afterwards, `killing.py` starts and kills.
"""
