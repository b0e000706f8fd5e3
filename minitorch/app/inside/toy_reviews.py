"""A toy set of 60 sentences about films, written for this course: 1 is positive, 0 negative."""

from __future__ import annotations

_POSITIVE = """
a wonderful film with a great cast
the story is moving and funny
a warm and charming comedy
brilliant from start to finish
a beautiful picture with a clever script
gripping and never dull
the cast is wonderful
i laughed and i cried
a great story told with warm humour
clever and funny dialogue
one of the best films of the year
the music is beautiful
not a dull moment in this film
a moving portrait of a family
the director has made a gripping thriller
funny , warm and clever
charming actors in a great story
the best comedy in a long time
a brilliant script and a brilliant cast
i loved every moment
"""

_NEGATIVE = """
a boring film with a flat script
the story is dull and slow
a clumsy and stupid comedy
awful from start to finish
a lifeless picture with a bad cast
tedious and never funny
the cast is awful
i yawned and i slept
a slow story told with flat humour
stupid and clumsy dialogue
one of the worst films of the year
the music is tedious
not a funny moment in this film
a flat portrait of a dull family
the director has made a boring thriller
slow , dull and lifeless
bad actors in a stupid story
the worst comedy in a long time
a clumsy script and a lifeless cast
i hated every moment
"""

_POSITIVE_TO_VALIDATE = """
a funny and moving story
the script is brilliant
a charming film with beautiful music
the best thriller of the year
clever , warm and gripping
i loved the cast
a great comedy
not a boring moment
the actors are wonderful
a beautiful and clever portrait
"""

_NEGATIVE_TO_VALIDATE = """
a dull and tedious story
the script is awful
a stupid film with bad music
the worst thriller of the year
clumsy , slow and flat
i hated the cast
a boring comedy
not a clever moment
the actors are lifeless
a slow and tedious picture
"""


def _pairs(positive: str, negative: str) -> list[tuple[str, int]]:
    """Sentences and labels, in turns."""
    lines = (text.strip().splitlines() for text in (positive, negative))
    pairs = zip(*lines, strict=True)
    return [
        (sentence, label) for pair in pairs for sentence, label in zip(pair, (1, 0), strict=True)
    ]


TRAINING = _pairs(_POSITIVE, _NEGATIVE)
VALIDATION = _pairs(_POSITIVE_TO_VALIDATE, _NEGATIVE_TO_VALIDATE)
