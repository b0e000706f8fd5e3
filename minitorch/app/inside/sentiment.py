"""Sentiment: training of lesson 4's network for sentences, and what each word of a sentence does."""

from __future__ import annotations

import random
import re
import time
import zlib
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

import minitorch

from .images import Weights, put_weights, read_weight, take_weights
from .toy_reviews import TRAINING, VALIDATION

PAUSE = 0.25
"""Seconds between two reports within an epoch."""

TOY_SIZE = 16
"""How many numbers make up a word of the toy set."""

LONGEST = 40
"""Words that a typed sentence may have."""

Part = dict[str, Any]
Sentences = tuple[list[str], list[int]]


# --- Data --------------------------------------------------------------------------------------


def _training_part() -> str:
    """The part of SST-2 to train with: whole sentences if they are there, else phrases."""
    from minitorch.training import data_files as files

    for part in ("sentences", "phrases"):
        try:
            files.find_files([files.SST2[part]], download=False)
            return part
        except FileNotFoundError:
            continue
    return ""


def load(dataset: str, limit: int | None = None) -> tuple[Sentences, Sentences]:
    """Sentences and labels to train and to validate with; none is in both."""
    if dataset == "toy":
        train, validation = TRAINING, VALIDATION
        return _split(train[:limit]), _split(validation)
    from minitorch.training.data_files import load_sst2

    sentences, labels = load_sst2(_training_part())
    validation, validation_labels = load_sst2("dev")
    held_out = set(validation)
    kept = [(s, y) for s, y in zip(sentences, labels, strict=True) if s not in held_out]
    random.Random(0).shuffle(kept)
    return _split(kept[:limit]), (validation, validation_labels)


def _split(pairs: Any) -> Sentences:
    return [sentence for sentence, _ in pairs], [label for _, label in pairs]


@lru_cache(maxsize=2)
def _vectors(dataset: str) -> dict[str, Any]:
    """The vectors of all words that are known: GloVe's, or random ones for those of the toy set."""
    if dataset == "toy":
        words = {word for sentence, _ in TRAINING for word in sentence.split()}
        return {word: _random_vector(word) for word in words}
    from minitorch.training.data_files import load_glove

    return load_glove()


def _random_vector(word: str) -> Any:
    """A vector for a word, the same every time."""
    return np.random.default_rng(zlib.crc32(word.encode())).normal(size=TOY_SIZE)


def encode(dataset: str, sentences: list[str], length: int = 0) -> Any:
    """Sentences as vectors of their words, with at least one place of padding behind each."""
    from minitorch.training.sentences import Embeddings, encode_sentences

    lookup = Embeddings(_vectors(dataset))
    longest = max([length, *(len(sentence.split()) for sentence in sentences)]) + 1
    unknown = 0.05 * np.random.default_rng(0).uniform(-1, 1, lookup.d_emb)
    given: dict[str, Any] = {"sentence": sentences, "label": [0] * len(sentences)}
    return encode_sentences(given, None, longest, lookup, unknown, set())[0]


# --- Training ----------------------------------------------------------------------------------


def train(
    dataset: str,
    sentences: int,
    epochs: int,
    rate: float,
    batch: int,
    features: int,
    widths: list[int],
    seed: int = 0,
    weights: Weights | None = None,
    done: int = 0,
) -> Iterator[Part]:
    """Train, reporting several times an epoch, and after each epoch on all validation sentences.

    Args:
        dataset: "toy" or "sst2"
        sentences: how many to train with, at most
        epochs: how many
        rate: how far to step
        batch: how many sentences each step looks at
        features: how many kernels of each width
        widths: of the windows, in words
        seed: of the first weights and of the order of the sentences
        weights: to go on from, as an earlier run reported them
        done: how many epochs those have had
    """
    from minitorch.training.sentences import SentenceSentimentTrain, batches_of_like_length

    random.seed(seed + done)
    trainer = SentenceSentimentTrain(_network(dataset, features, widths, weights))
    (texts, labels), (held_out, truth) = load(dataset, sentences)
    X, y = encode(dataset, texts), np.asarray(labels, float)
    data_val = encode(dataset, held_out), truth
    lengths = [len(text.split()) for text in texts]
    steps = -(-len(texts) // batch)
    yield {
        "epoch": done,
        "steps": steps,
        "sentences": len(texts),
        "validation": held_out,
        "truth": truth,
        "unknown": _unknown(dataset, held_out),
        **_judge(trainer, data_val),
    }
    for epoch in range(done + 1, done + epochs + 1):
        began = reported = time.perf_counter()
        losses: list[float] = []
        for step, chosen in enumerate(batches_of_like_length(lengths, batch), start=1):
            losses.append(_take_step(trainer, X[chosen], y[chosen], rate))
            if time.perf_counter() - reported > PAUSE:
                reported = time.perf_counter()
                yield {"epoch": epoch - 1, "step": step}
        seconds = time.perf_counter() - began
        yield {
            "epoch": epoch,
            "step": 0,
            "loss": sum(losses) / steps,
            "seconds": seconds,
            **_judge(trainer, data_val),
        }


def _network(dataset: str, features: int, widths: list[int], weights: Weights | None) -> Any:
    from minitorch.training.sentences import CNNSentimentKim

    size = TOY_SIZE if dataset == "toy" else 50
    model = CNNSentimentKim(features, size, widths)
    if weights is not None:
        put_weights(model, weights)
    return model


def _take_step(trainer: Any, X: Any, y: Any, rate: float) -> float:
    """One step of gradient descent; the loss before it."""
    from minitorch.training.layers import constant

    optim = minitorch.SGD(trainer.model.parameters(), rate)
    labels = constant(y, trainer.model.backend)
    optim.zero_grad()
    out = trainer.run_many(X)
    right = out * labels + (out - 1.0) * (labels - 1.0)  # the probability of the right label
    loss = -(right.log() / len(y)).sum()
    loss.backward()
    optim.step()
    return float(loss.item())


def _judge(trainer: Any, data: tuple[Any, list[int]]) -> Part:
    """The probability that each validation sentence is positive, how many are right, and the weights."""
    predictions = trainer.predict(data)
    return {
        "correct": sum(true == predicted for true, predicted, _ in predictions),
        "positive": [round(probability, 4) for _, _, probability in predictions],
        "weights": take_weights(trainer.model),
    }


def _unknown(dataset: str, sentences: list[str]) -> list[str]:
    known = _vectors(dataset)
    found = (word for sentence in sentences for word in sentence.split() if word not in known)
    return list(dict.fromkeys(found))


# --- One sentence --------------------------------------------------------------------------------


def as_words(text: str) -> list[str]:
    """What is typed, as the data sets write it: small letters, spaces around every sign.

    >>> as_words("It isn't GOOD, is it?")
    ['it', 'is', "n't", 'good', ',', 'is', 'it', '?']
    """
    text = text.lower().replace("’", "'")
    text = re.sub(r"n't\b", " n't", text)
    return re.findall(r"n't|'\w+|\w+(?:-\w+)*|[^\w\s]", text)


def read(dataset: str, weights: Weights, features: int, widths: list[int], text: str) -> Part:
    """The probability that a sentence is positive, and how each of its words and windows changes it."""
    words = as_words(text)[:LONGEST]
    if not words:
        return {"words": [], "positive": 0.5, "windows": [], "score": 0.0, "bias": 0.0}
    model = _network(dataset, features, widths, weights)
    model.eval()
    without = [" ".join(words[:i] + words[i + 1 :]) for i in range(len(words))]
    positive = _probabilities(model, dataset, [" ".join(words), *without])
    windows, bias = _winners(model, dataset, words, weights)
    shares = np.zeros(len(words))
    for window in windows:
        for place in window["places"]:
            shares[place] += window["gives"] / len(window["places"])
    known = _vectors(dataset)
    return {
        "positive": positive[0],
        "words": [
            {"word": w, "known": w in known, "without": positive[i + 1], "share": shares[i]}
            for i, w in enumerate(words)
        ],
        "windows": sorted(windows, key=lambda window: -abs(window["gives"])),
        "score": sum(window["gives"] for window in windows) + bias,
        "bias": bias,
    }


def _probabilities(model: Any, dataset: str, sentences: list[str]) -> list[float]:
    from minitorch.training.sentences import SentenceSentimentTrain

    out = SentenceSentimentTrain(model).run_many(encode(dataset, sentences))
    return [float(probability) for probability in out.to_numpy()]


def _winners(
    model: Any, dataset: str, words: list[str], weights: Weights
) -> tuple[list[Part], float]:
    """Of each feature the window that won the pooling, and what it adds to the score."""
    from minitorch.training.layers import constant

    X = encode(dataset, [" ".join(words)]).transpose(0, 2, 1)  # (1, embedding size, length)
    found: list[Part] = []
    bias = 0.0
    for width in model.filter_sizes:
        convolution = getattr(model, f"conv{width}")
        maps = convolution(constant(X, model.backend)).to_numpy()[0]  # (features, length)
        says = read_weight(weights[f"linear{width}.weights"])[:, 0]
        bias += float(read_weight(weights[f"linear{width}.bias"]).reshape(-1)[0])
        for feature, row in enumerate(maps):
            start = int(row.argmax())
            places = [p for p in range(start, start + width) if p < len(words)]
            gives = float(max(row[start], 0.0) * says[feature])
            if gives and places:
                text = " ".join(words[p] for p in places)
                found.append({"text": text, "width": width, "places": places, "gives": gives})
            else:
                bias += gives
    return found, bias
