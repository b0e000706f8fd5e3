"""Training a GPT: texts as numbers, the loop, and the script around it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from minitorch.training import data_files, gpt, texts

TINY = ["--steps", "3", "--width", "8", "--layers", "1", "--length", "8", "--batch", "2"]
TINY += ["--every", "2", "--sample-every", "2", "--write", "20", "--heads", "2"]


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MINITORCH_DATA", raising=False)
    monkeypatch.setattr(data_files, "cache_folder", lambda: tmp_path / "cache")


def test_the_play_is_always_there() -> None:
    text = texts.load_text()
    assert text.name == "Romeo and Juliet"
    assert len(text.train) + len(text.validation) == 133_465
    assert len(text.characters) == 61
    assert text.decode(text.train[:51]) == "SAMPSON:\nGregory, o' my word, we'll not carry coals"
    assert text.decode(text.validation[-35:]) == "Than this of Juliet and her Romeo.\n"[-35:]


def test_the_plays_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "tinyshakespeare").mkdir()
    (tmp_path / "tinyshakespeare" / "input.txt").write_text("abc" * 10)
    monkeypatch.setenv("MINITORCH_DATA", str(tmp_path))
    text = texts.load_text()
    assert (text.name, text.characters) == ("Shakespeare's plays", "abc")
    assert text.decode(text.train + text.validation) == "abc" * 10


def test_targets_are_the_next_characters() -> None:
    text = texts.make_text("abcdefghijklmnopqrst", "letters")
    ids, targets = text.pieces(4, 5)
    assert [len(row) for row in ids + targets] == [5] * 8
    assert targets == [[i + 1 for i in row] for row in ids]
    assert max(max(row) for row in targets) <= 17
    batches = text.validation_batches(1, 1)
    assert batches == [([[18]], [[19]])]
    with pytest.raises(ValueError, match="no 'z'"):
        text.encode("az")


@pytest.mark.parametrize("floor", gpt.FLOORS)
def test_the_script_trains_and_writes(
    floor: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gpt.main([*TINY, "--floor", floor, "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert f"log(61) = {math.log(61):.3f}" in out
    assert "step 2/3 | loss 4." in out
    assert "step 3/3" in out
    assert "it writes:" in out
    assert 3.5 < float(out.split("all of it: ")[1].split()[0]) < 5.0
    assert out.split("all of it: ")[1][6:] == (tmp_path / f"{floor}.txt").read_text()[-21:]


def test_the_ground_floor_learns() -> None:
    """Two characters in turn: their frequencies alone would leave log(2)."""
    text = texts.make_text("ab" * 200, "turns")
    recipe = gpt.Recipe(steps=30, rate=0.5, batch=2, length=4, width=8, heads=2, layers=1)
    trainer = gpt.GroundTrainer(2, recipe)
    losses: list[float] = []
    gpt.train(trainer, text, recipe, lambda step, loss, seconds: losses.append(loss))
    assert len(losses) == 30
    assert gpt.validate(trainer, text, recipe) < 0.6 < losses[0]


def test_wrong_sizes_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert gpt.main(["--width", "10", "--heads", "4"]) == 1
    assert "is not a multiple of" in capsys.readouterr().err
    for wrong in (["--steps", "0"], ["--temperature", "0"]):
        with pytest.raises(SystemExit):
            gpt.main(wrong)
