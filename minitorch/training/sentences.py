"""Task 4.5, sentences: a convolutional network that learns whether a film was liked."""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .. import nn
from ..module import Module
from ..optim import SGD
from ..tensor import Tensor
from ..tensor_ops import TensorBackend
from .data_files import Array, load_glove, load_sst2
from .layers import Conv1d as Conv1d
from .layers import Linear as Linear
from .layers import constant, fast_backend
from .messages import epoch_line
from .recipe import Recipe, add_recipe_arguments
from .session import FAILED, OK, Session, run_options, set_seed
from .summary import summarise

BATCH = 10
POOL = 50  # batches whose sentences are sorted by length together

Sentences = tuple[Any, Any]
"""Embedded sentences, n x length x embedding size, and their labels, 0 or 1."""

Prediction = tuple[float, float, float]
"""A true label, a predicted one, and the probability of label 1."""


class CNNSentimentKim(Module):
    """The guide's network after Kim (2014): which groups of 3, 4 or 5 words does a sentence hold?

    1. Convolutions over the words: `feature_map_size` kernels of each width.
    2. Of each feature the maximum over the sentence, and ReLU. (ReLU first would give the same, but
       work on all places instead of one.)
    3. Dropout, a Linear of all features of all widths to one number, and sigmoid. The Linear is
       kept as one for each width, whose outputs are added: so nothing needs to be laid side by side.
       It starts at 0, that is, at even odds for every sentence.

    The guide puts a ReLU and dropout behind the Linear. There a ReLU would leave no probability
    below 1/2, and dropout would now and then forget the answer; both stand before it, as in Kim's
    paper.

    Args:
        feature_map_size: how many features of each width
        embedding_size: how many numbers make up a word
        filter_sizes: the widths, in words
        dropout: its rate
        backend: what the parameters live on
    """

    def __init__(
        self,
        feature_map_size: int = 100,
        embedding_size: int = 50,
        filter_sizes: Sequence[int] = (3, 4, 5),
        dropout: float = 0.25,
        backend: TensorBackend | None = None,
    ) -> None:
        super().__init__()
        self.backend = backend or fast_backend()
        self.rate = dropout
        self.filter_sizes = tuple(filter_sizes)
        for width in self.filter_sizes:
            convolution = Conv1d(embedding_size, feature_map_size, width, self.backend)
            linear = Linear(feature_map_size, 1, self.backend)
            linear.weights.update(constant(np.zeros((feature_map_size, 1)), self.backend))
            setattr(self, f"conv{width}", convolution)
            setattr(self, f"linear{width}", linear)

    def forward(self, embeddings: Tensor) -> Tensor:
        """(batch, length, embedding size) -> (batch), each the probability of label 1."""
        words = embeddings.permute(0, 2, 1).contiguous()  # (batch, embedding size, length)
        scores = [self._score(words, width) for width in self.filter_sizes]  # (batch, 1) each
        total = sum(scores[1:], start=scores[0])
        return total.sigmoid().view(embeddings.shape[0])

    def _score(self, words: Tensor, width: int) -> Tensor:
        """What the features of one width have to say: (batch, embedding size, length) -> (batch, 1)."""
        found = nn.max(getattr(self, f"conv{width}")(words), 2).relu()  # (batch, features, 1)
        kept = nn.dropout(found.view(*found.shape[:2]), self.rate, ignore=not self.training)
        return getattr(self, f"linear{width}")(kept)


# --- Training ---------------------------------------------------------------------------


def get_predictions_array(y_true: Iterable[float], model_output: Tensor) -> list[Prediction]:
    """The true label, the predicted label and the probability, for each sentence."""
    return [
        (float(label), float(probability > 0.5), float(probability))
        for label, probability in zip(y_true, model_output.to_numpy(), strict=True)
    ]


def get_accuracy(predictions_array: Sequence[Prediction]) -> float:
    """The share of right predictions."""
    return count_right(predictions_array) / max(len(predictions_array), 1)


def count_right(predictions: Sequence[Prediction]) -> int:
    """How many predictions are right."""
    return sum(true == predicted for true, predicted, _ in predictions)


class SentenceLogFn(Protocol):
    """What `SentenceSentimentTrain.train` calls after each epoch."""

    def __call__(
        self,
        epoch: int,
        train_loss: float,
        losses: list[float],
        train_predictions: list[Prediction],
        train_accuracy: list[float],
        validation_predictions: list[Prediction],
        validation_accuracy: list[float],
        /,
    ) -> Any: ...


def default_log_fn(
    epoch: int,
    train_loss: float,
    losses: list[float],
    train_predictions: list[Prediction],
    train_accuracy: list[float],
    validation_predictions: list[Prediction],
    validation_accuracy: list[float],
) -> None:
    """Loss, training accuracy, validation accuracy and the best one so far."""
    validation = None
    if validation_predictions:
        validation = f"{validation_accuracy[-1]:.2%} (best {max(validation_accuracy):.2%})"
    sys.stdout.write(epoch_line(epoch, train_loss, f"{train_accuracy[-1]:.2%}", validation) + "\n")


class SentenceSentimentTrain:
    """Trains a `CNNSentimentKim`.

    Args:
        model: the network
        decay: what the learning rate is multiplied by after each epoch
    """

    def __init__(self, model: CNNSentimentKim, decay: float = 1.0) -> None:
        self.model = model
        self.decay = decay

    def run_one(self, x: npt.ArrayLike) -> Tensor:
        """The probability that a sentence is positive: (length, embedding size) -> (1)."""
        return self.run_many(np.asarray(x)[None])

    def run_many(self, X: npt.ArrayLike) -> Tensor:
        """The probability that each sentence is positive: (n, length, embedding size) -> (n)."""
        return self.model(constant(_without_padding(np.asarray(X)), self.model.backend))

    def predict(self, data: Sentences) -> list[Prediction]:
        """Predictions for sentences, without dropout."""
        X, y = np.asarray(data[0]), data[1]
        self.model.eval()
        predictions = []
        # Long sentences with long ones: less padding to work on.
        order = np.argsort(_lengths(X), kind="stable")
        for i in range(0, len(X), EVALUATION_BATCH):
            chosen = order[i : i + EVALUATION_BATCH]
            predictions += get_predictions_array([y[k] for k in chosen], self.run_many(X[chosen]))
        self.model.train()
        in_order: list[Any] = [None] * len(X)
        for k, prediction in zip(order, predictions, strict=True):
            in_order[k] = prediction
        return in_order

    def train(
        self,
        data_train: Sentences,
        learning_rate: float,
        batch_size: int = BATCH,
        max_epochs: int = 500,
        data_val: Sentences | None = None,
        log_fn: SentenceLogFn = default_log_fn,
        start: int = 1,
        progress: Callable[[int, int], Any] = lambda done, total: None,
    ) -> None:
        """Go through all sentences in batches, in a new order each epoch; then validate.

        Args:
            data_train: embedded sentences and labels
            learning_rate: how far to step, in the first epoch
            batch_size: how many sentences each step looks at
            max_epochs: the last epoch
            data_val: the same as `data_train`, to validate with
            log_fn: called after each epoch; see `SentenceLogFn`
            start: the first epoch; above 1 when a run is resumed
            progress: called after each batch with how many of how many are done
        """
        X, y = np.asarray(data_train[0]), np.asarray(data_train[1], dtype=np.float64)
        lengths = _lengths(X)
        losses: list[float] = []
        train_accuracy: list[float] = []
        validation_accuracy: list[float] = []
        self.model.train()
        for epoch in range(start, max_epochs + 1):
            optim = SGD(self.model.parameters(), learning_rate * self.decay ** (epoch - 1))
            total_loss = 0.0
            train_predictions: list[Prediction] = []
            batches = batches_of_like_length(lengths, batch_size)
            for done, chosen in enumerate(batches, start=1):
                labels = constant(y[chosen], self.model.backend)
                optim.zero_grad()
                out = self.run_many(X[chosen])  # (batch)
                prob = out * labels + (out - 1.0) * (labels - 1.0)  # of the right label
                loss = -(prob.log() / len(chosen)).sum()
                loss.backward()
                optim.step()
                total_loss += loss.item()
                train_predictions += get_predictions_array(y[chosen], out)
                progress(done, len(batches))
            losses.append(total_loss)
            train_accuracy.append(get_accuracy(train_predictions))
            validation_predictions: list[Prediction] = []
            if data_val is not None and len(data_val[0]) > 0:
                validation_predictions = self.predict(data_val)
                validation_accuracy.append(get_accuracy(validation_predictions))
            log_fn(
                epoch,
                total_loss,
                losses,
                train_predictions,
                train_accuracy,
                validation_predictions,
                validation_accuracy,
            )


EVALUATION_BATCH = 32


def batches_of_like_length(lengths: Sequence[int] | npt.NDArray[Any], size: int) -> list[list[int]]:
    """Cut sentences into batches at random, but so that few of a batch are much shorter than others.

    Sentences are shuffled, sorted by length within pools of fifty batches, cut, and the batches
    shuffled again.
    """
    if size < 1:
        raise ValueError(f"batch must be at least 1, it is {size}")
    order = list(range(len(lengths)))
    random.shuffle(order)
    batches = []
    for i in range(0, len(order), size * POOL):
        pool = sorted(order[i : i + size * POOL], key=lambda k: lengths[k])
        batches += [pool[j : j + size] for j in range(0, len(pool), size)]
    random.shuffle(batches)
    return batches


def _lengths(X: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """How many words each sentence has before its padding of zeros."""
    is_word: npt.NDArray[np.bool_] = np.any(X != 0, axis=2)  # (n, length)
    places = np.arange(1, X.shape[1] + 1)
    return np.max(is_word * places, axis=1, initial=0)


def _without_padding(X: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Sentences cut where padding goes on to the end for all, but for one place of it.

    With that place, even the longest sentence ends in a window of nothing but padding, and so
    its probability does not depend on which sentences it shares a batch with.
    """
    return X[:, : int(_lengths(X).max(initial=0)) + 1]


# --- Data -------------------------------------------------------------------------------


class Embeddings:
    """Words as vectors of `d_emb` numbers.

    >>> likes = Embeddings({"good": np.array([1.0, 0.5]), "bad": np.array([-1.0, 0.5])})
    >>> likes.d_emb, "good" in likes, likes.emb("bad")[0]
    (2, True, np.float64(-1.0))
    """

    def __init__(self, vectors: Mapping[str, Array]) -> None:
        if not vectors:
            raise ValueError("Embeddings: there is no word in it")
        self._vectors = vectors
        self.d_emb = len(next(iter(vectors.values())))

    def __contains__(self, word: str) -> bool:
        return word in self._vectors

    def emb(self, word: str) -> Array:
        """The vector of a word."""
        return self._vectors[word]


def encode_sentences(
    dataset: Mapping[str, Sequence[Any]],
    N: int | None,
    max_sentence_len: int,
    embeddings_lookup: Any,
    unk_embedding: npt.ArrayLike,
    unks: set[str],
) -> tuple[npt.NDArray[np.float32], list[int]]:
    """The first N sentences as vectors of their words, padded with zeros to one length.

    Args:
        dataset: "sentence" and "label", each a list
        N: how many; all if None
        max_sentence_len: the length
        embeddings_lookup: an `Embeddings`, or what has `in`, `emb` and `d_emb` as it has
        unk_embedding: the vector of any word that is not in there
        unks: receives those words

    Returns:
        sentences x length x embedding size, and the labels
    """
    sentences = list(dataset["sentence"][:N])
    encoded = np.zeros((len(sentences), max_sentence_len, embeddings_lookup.d_emb), np.float32)
    for row, sentence in zip(encoded, sentences, strict=True):
        for place, word in enumerate(sentence.split()):
            if word in embeddings_lookup:
                row[place] = embeddings_lookup.emb(word)
            else:
                unks.add(word)
                row[place] = unk_embedding
    return encoded, list(dataset["label"][:N])


def encode_sentiment_data(
    dataset: Mapping[str, Mapping[str, Sequence[Any]]],
    pretrained_embeddings: Any,
    N_train: int | None,
    N_val: int | None = 0,
    unks: set[str] | None = None,
) -> tuple[Sentences, Sentences]:
    """Training and validation sentences as vectors, all padded to the longest of both.

    Unknown words share one small random vector, and go into `unks`.
    """
    train, validation = dataset["train"], dataset["validation"]
    sentences = [*train["sentence"][:N_train], *validation["sentence"][:N_val]]
    length = max((len(sentence.split()) for sentence in sentences), default=0) + 1
    unks = set() if unks is None else unks
    unknown = [0.1 * (random.random() - 0.5) for _ in range(pretrained_embeddings.d_emb)]
    encode = [
        encode_sentences(part, n, length, pretrained_embeddings, unknown, unks)
        for part, n in ((train, N_train), (validation, N_val))
    ]
    return encode[0], encode[1]


def load_sentiment_data(part: str = "phrases") -> tuple[dict[str, dict[str, list[Any]]], int]:
    """SST-2 to train ("phrases" or "sentences") and to validate (GLUE's dev sentences) with.

    Returns:
        both parts, and how many training sentences were left out because they are among
        the validation sentences
    """
    sentences, labels = load_sst2(part)
    validation, validation_labels = load_sst2("dev")
    held_out = set(validation)
    kept = [(s, y) for s, y in zip(sentences, labels, strict=True) if s not in held_out]
    dataset: dict[str, dict[str, list[Any]]] = {
        "train": {"sentence": [s for s, _ in kept], "label": [y for _, y in kept]},
        "validation": {"sentence": validation, "label": validation_labels},
    }
    return dataset, len(sentences) - len(kept)


# --- The command line -------------------------------------------------------------------


RECIPE = Recipe(epochs=5, rate=0.05, batch=32, decay=0.6)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of a run."""
    parser.add_argument(
        "--DATA",
        "--data",
        choices=["phrases", "sentences"],
        default="phrases",
        help="train on GLUE's 67,349 phrases, or on the 6,920 whole sentences among them, which is "
        "quicker and a little less accurate (default: %(default)s)",
    )
    add_recipe_arguments(parser, RECIPE, "sentences")


def run(args: argparse.Namespace) -> int:
    """Train as the arguments say, in a session; return the exit code."""
    options = run_options(args)
    options.every = 1
    set_seed(options.seed)
    unknown: set[str] = set()
    try:
        dataset, dropped = load_sentiment_data(args.DATA)
        used = [s for half in dataset.values() for s in half["sentence"][: args.PTS]]
        words = {word for sentence in used for word in sentence.split()}
        embeddings = Embeddings(load_glove(words))
        data_train, data_val = encode_sentiment_data(
            dataset, embeddings, args.PTS, args.PTS, unknown
        )
    except (FileNotFoundError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return FAILED
    trainer = SentenceSentimentTrain(CNNSentimentKim(), args.DECAY)
    session = Session(
        "sentiment",
        options,
        epochs=args.EPOCHS,
        points=len(data_train[0]),
        validation_points=len(data_val[0]),
        settings={"data": args.DATA, "rate": args.RATE, "batch": args.BATCH, "decay": args.DECAY},
        rate=args.RATE,
    )

    def train(log: Any, start: int) -> None:
        def log_fn(
            epoch: int, loss: float, losses: Any, trained: Any, _: Any, validated: Any, __: Any
        ) -> None:
            log(epoch, loss, count_right(trained), losses, count_right(validated))

        trainer.train(
            data_train,
            args.RATE,
            args.BATCH,
            args.EPOCHS,
            data_val,
            log_fn,
            start,
            session.within_epoch,
        )

    exit_code = session.run(trainer.model, train)
    if exit_code == OK:
        summarise(
            session,
            [
                f"Trained on SST-2's {args.DATA}, "
                f"without {dropped} that are among the validation sentences",
                f"{len(unknown)} of {len(words)} words have no GloVe vector "
                "and share a small random one",
            ],
        )
    return exit_code


def main(argv: list[str] | None = None) -> int:
    """Train on SST-2 from command line arguments; return the exit code."""
    parser = argparse.ArgumentParser(description="Train the guide's sentiment CNN on SST-2.")
    add_arguments(parser)
    return run(parser.parse_args(argv))
