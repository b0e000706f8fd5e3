"""Sentiment: a network is trained at once; type sentences, see unknown words and the validation set."""

from tests.app.browser import Visit


def walk(visit: Visit) -> None:
    visit.see("Trained: epoch 20 of 20")
    visit.see(r"1\d of 20")
    visit.see("takes this sentence to be (positive|negative)")
    visit.fill("A sentence about a film", "A wonderful, brilliant cast!")
    visit.see("takes this sentence to be positive")
    visit.see("Unknown word: !")
    visit.fill("A sentence about a film", "slow, stupid and flat")
    visit.see("takes this sentence to be negative")
    visit.choose("Validation sentences")
    visit.see("20 sentences, none of them trained with")
    visit.see("unknown: are")
    visit.press("Train on")
    visit.see("Trained: epoch 40 of 40")
    visit.press("Start over")
    visit.see("Trained: epoch 20 of 20")
    visit.choose("Type a sentence")
    visit.see("The windows that max pooling chose")
