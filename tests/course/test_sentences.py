"""The sentiment network and its training: encoding, shapes, gradients, learning."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minitorch.training import sentences
from minitorch.training.data_files import DATA_VARIABLE, DataNotFoundError
from minitorch.training.layers import constant, fast_backend
from minitorch.training.sentences import (
    CNNSentimentKim,
    Conv1d,
    Embeddings,
    SentenceSentimentTrain,
    batches_of_like_length,
    default_log_fn,
    encode_sentences,
    encode_sentiment_data,
    get_accuracy,
    get_predictions_array,
    load_sentiment_data,
    main,
)

pytestmark = pytest.mark.task4_4


WORDS = Embeddings(
    {
        "good": np.array([1.0, 0.5, 0.1]),
        "bad": np.array([-1.0, 0.5, 0.2]),
        "film": np.array([0.1, -0.5, 0.3]),
    }
)


def small_network() -> CNNSentimentKim:
    return CNNSentimentKim(feature_map_size=6, embedding_size=3, filter_sizes=(2, 3), dropout=0.0)


def embedded(*texts: str) -> Any:
    length = max(len(text.split()) for text in texts) + 2
    data = {"sentence": texts, "label": [0] * len(texts)}
    return encode_sentences(data, None, length, WORDS, [0.01] * 3, set())[0]


# --- Encoding --------------------------------------------------------------------------


def test_sentences_become_padded_vectors() -> None:
    unks: set[str] = set()
    data = {"sentence": ["good film", "bad", "not encoded"], "label": [1, 0, 1]}
    X, y = encode_sentences(data, 2, 4, WORDS, [9.0, 9.0, 9.0], unks)
    assert X.shape == (2, 4, 3)
    np.testing.assert_allclose(X[0, :2], [[1.0, 0.5, 0.1], [0.1, -0.5, 0.3]], rtol=1e-6)
    assert not X[0, 2:].any()
    assert not X[1, 1:].any()
    assert y == [1, 0]
    assert unks == set()


def test_unknown_words_share_a_vector_and_are_counted() -> None:
    unks: set[str] = set()
    dataset = {
        "train": {"sentence": ["good gnarly film", "gnarly"], "label": [1, 0]},
        "validation": {"sentence": ["zesty bad"], "label": [0]},
    }
    (X, _), (X_val, y_val) = encode_sentiment_data(dataset, WORDS, None, None, unks)
    assert unks == {"gnarly", "zesty"}
    np.testing.assert_array_equal(X[0, 1], X[1, 0])
    np.testing.assert_array_equal(X[0, 1], X_val[0, 0])
    assert 0 < np.abs(X[0, 1]).max() <= 0.05
    assert X.shape[1] == X_val.shape[1] == 4
    assert y_val == [0]


def test_no_validation_sentences_by_default() -> None:
    part = {"sentence": ["good"], "label": [1]}
    _, (X_val, y_val) = encode_sentiment_data({"train": part, "validation": part}, WORDS, 1)
    assert len(X_val) == len(y_val) == 0


def test_embeddings_need_a_word() -> None:
    with pytest.raises(ValueError, match="no word"):
        Embeddings({})


def test_validation_sentences_are_kept_out_of_training(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {
        "phrases": (["good", "a film", "bad", "a film"], [1, 1, 0, 1]),
        "dev": (["a film"], [1]),
    }
    monkeypatch.setattr(sentences, "load_sst2", parts.__getitem__)
    dataset, dropped = load_sentiment_data("phrases")
    assert dataset["train"] == {"sentence": ["good", "bad"], "label": [1, 0]}
    assert dropped == 2


# --- The network -----------------------------------------------------------------------


def test_conv1d_has_the_shape_of_the_course() -> None:
    conv = Conv1d(3, 5, 2)
    assert conv.weights.value.shape == (5, 3, 2)
    assert conv(constant(np.ones((2, 3, 7)), fast_backend())).shape == (2, 5, 7)


def test_network_starts_at_even_odds() -> None:
    out = SentenceSentimentTrain(small_network()).run_many(embedded("good film", "bad"))
    assert out.shape == (2,)
    np.testing.assert_array_equal(out.to_numpy(), [0.5, 0.5])


def trained_a_little() -> SentenceSentimentTrain:
    """A trainer whose weights are all off their first values."""
    trainer = SentenceSentimentTrain(small_network())
    numbers = np.random.default_rng(0)
    for parameter in trainer.model.parameters():
        shape = parameter.value.shape
        parameter.update(constant(numbers.normal(size=shape), trainer.model.backend))
    trainer.model.eval()
    return trainer


def test_probabilities_do_not_depend_on_the_rest_of_the_batch() -> None:
    trainer = trained_a_little()
    X = embedded("good film", "bad", "film good bad bad film film", "bad bad")
    together = trainer.run_many(X).to_numpy()
    alone = np.concatenate([trainer.run_one(x).to_numpy() for x in X])
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    padded = np.pad(X, ((0, 0), (0, 5), (0, 0)))
    np.testing.assert_allclose(trainer.model(constant(padded, fast_backend())).to_numpy(), alone)


def test_network_agrees_with_torch() -> None:
    torch = pytest.importorskip("torch")
    F = torch.nn.functional
    trainer = trained_a_little()
    X = embedded("good film", "bad film good", "film bad bad bad")
    out = trainer.model(constant(X, trainer.model.backend))
    (out * constant([1.0, -2.0, 0.5], trainer.model.backend)).sum().backward()
    named = trainer.model.named_parameters()
    p = {n: torch.tensor(q.value.to_numpy(), requires_grad=True) for n, q in named}
    words = torch.tensor(X, dtype=torch.float64).transpose(1, 2)
    score = 0
    for width in (2, 3):
        t = F.conv1d(F.pad(words, (0, width - 1)), p[f"conv{width}.weights"])
        t = (t + p[f"conv{width}.bias"]).relu().amax(2)
        score = score + t @ p[f"linear{width}.weights"] + p[f"linear{width}.bias"]
    expected = torch.sigmoid(score)[:, 0]
    (expected * torch.tensor([1.0, -2.0, 0.5])).sum().backward()
    np.testing.assert_allclose(out.to_numpy(), expected.detach().numpy(), rtol=1e-10)
    for name, parameter in named:
        np.testing.assert_allclose(
            parameter.value.grad.to_numpy(), p[name].grad.numpy(), atol=1e-10, err_msg=name
        )


def test_dropout_only_while_training() -> None:
    trainer = trained_a_little()
    trainer.model.rate = 0.5
    X = embedded("good film", "bad film good")
    first, second = (trainer.run_many(X).to_numpy() for _ in range(2))
    np.testing.assert_array_equal(first, second)
    trainer.model.train()
    assert any((trainer.run_many(X).to_numpy() != first).any() for _ in range(20))


def test_gradients_reach_every_parameter() -> None:
    trainer = trained_a_little()
    trainer.run_many(embedded("good film", "bad film good")).sum().backward()
    for name, parameter in trainer.model.named_parameters():
        assert parameter.value.grad is not None, name
        assert np.abs(parameter.value.grad.to_numpy()).max() > 0, name


# --- Training --------------------------------------------------------------------------


def test_training_learns_which_words_are_good() -> None:
    texts = ["good film", "film good", "bad film", "film bad", "film film good", "bad"]
    data = embedded(*texts), [1, 1, 0, 0, 1, 0]
    trainer = SentenceSentimentTrain(small_network())
    seen: list[Any] = []
    trainer.train(data, 0.5, 3, 30, data, log_fn=lambda *about: seen.append(about))
    epoch, loss, losses, trained, accuracy, validated, validation_accuracy = seen[-1]
    assert epoch == len(losses) == len(accuracy) == len(validation_accuracy) == 30
    assert loss < 0.6 * losses[0]
    assert len(trained) == len(validated) == 6
    assert [true for true, _, _ in validated] == data[1]  # in the order they were given
    assert validation_accuracy[-1] >= 5 / 6


def test_training_without_validation() -> None:
    data = embedded("good", "bad"), [1, 0]
    seen: list[Any] = []
    SentenceSentimentTrain(small_network()).train(data, 0.1, 2, 1, log_fn=lambda *a: seen.append(a))
    assert seen[0][5:] == ([], [])


def test_batches_hold_every_sentence_once_and_are_of_like_length() -> None:
    lengths = [random.randrange(1, 50) for _ in range(1000)]
    batches = batches_of_like_length(lengths, 16)
    assert sorted(k for batch in batches for k in batch) == list(range(1000))
    assert max(len(batch) for batch in batches) == 16
    padding = sum(max(lengths[k] for k in b) - lengths[j] for b in batches for j in b)
    assert padding < 0.1 * sum(lengths)
    assert batches_of_like_length(lengths, 16) != batches


def test_bad_batch() -> None:
    with pytest.raises(ValueError, match="batch must be at least 1"):
        batches_of_like_length([1], 0)


def test_predictions_and_accuracy() -> None:
    output = constant([0.9, 0.2, 0.6], fast_backend())
    predictions = get_predictions_array([1, 1, 0], output)
    assert predictions == [(1.0, 1.0, 0.9), (1.0, 0.0, 0.2), (0.0, 1.0, 0.6)]
    assert get_accuracy(predictions) == pytest.approx(1 / 3)
    assert get_accuracy([]) == 0.0


def test_default_log(capsys: pytest.CaptureFixture[str]) -> None:
    default_log_fn(2, 3.456, [], [], [0.5], [(1.0, 1.0, 0.9)], [0.75, 0.7])
    assert capsys.readouterr().out == (
        "Epoch 2 | loss 3.46 | correct 50.00% | validation 70.00% (best 75.00%)\n"
    )


# --- The command line ------------------------------------------------------------------


def test_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = {
        "phrases": (["good film", "bad film", "a film"], [1, 0, 1]),
        "dev": (["a film", "gnarly film"], [1, 0]),
    }
    vectors = {"good": np.ones(50), "bad": -np.ones(50), "film": np.full(50, 0.1)}
    monkeypatch.setattr(sentences, "load_sst2", parts.__getitem__)
    monkeypatch.setattr(sentences, "load_glove", lambda words: vectors)
    assert main(["--EPOCHS", "2", "--no-picture", "--plain", "--out", str(tmp_path)]) == 0
    log = (tmp_path / "log.txt").read_text()
    assert log == capsys.readouterr().out
    assert "Epoch 2/2 | loss" in log
    assert "SST-2's phrases, without 1 that" in log
    assert "2 of 5 words have no GloVe vector" in log
    assert "Best validation" in log


def test_command_line_without_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(part: str) -> Any:
        raise DataNotFoundError(f"missing data: {part}")

    monkeypatch.setattr(sentences, "load_sst2", missing)
    assert main(["--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "missing data: phrases\n"


@pytest.mark.skipif(DATA_VARIABLE not in os.environ, reason=f"{DATA_VARIABLE} is not set")
def test_real_training_set_holds_no_dev_sentence() -> None:
    for part in ("sentences", "phrases"):
        dataset, _ = load_sentiment_data(part)
        train, dev = set(dataset["train"]["sentence"]), set(dataset["validation"]["sentence"])
        assert len(dataset["validation"]["sentence"]) == 872
        assert not train & dev
