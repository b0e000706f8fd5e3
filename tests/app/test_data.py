"""Fetching MNIST and SST-2: a button, a folder, and clear words without a network."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from minitorch.app.inside import data
from minitorch.app.opening import app_on, end_libraries
from minitorch.training import data_files


@pytest.fixture(autouse=True)
def nothing_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No data set is on this machine, and there is no network."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("MINITORCH_DATA", raising=False)
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://localhost:9")  # nobody listens there


def test_a_download_that_fails_says_what_to_do() -> None:
    parts = list(data.get("mnist"))
    assert parts[0]["name"] == "mnist/train-images-idx3-ubyte"
    assert (parts[0]["file"], parts[0]["files"]) == (1, 4)
    assert "the download failed: https://ossci-datasets" in parts[1]["refused"]
    assert "Set MINITORCH_DATA to a folder" in parts[1]["refused"]
    assert not data.has("mnist")


def test_files_in_a_folder_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for part in data.missing("sst2"):
        (folder / f"{Path(part['name']).name}.gz").write_bytes(gzip.compress(b""))
    assert not data.has("sst2")
    monkeypatch.setenv("MINITORCH_DATA", str(folder))
    assert data.has("sst2")
    assert list(data.get("sst2")) == [{"here": True}]


def test_what_is_here_is_not_fetched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[str] = []

    def download(file: data_files.DataFile) -> None:
        fetched.append(file.names[-1])
        folder = data_files.cache_folder() / file.folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / file.names[-1]).write_bytes(b"")

    monkeypatch.setattr(data_files, "_download", download)
    assert list(data.get("mnist"))[-1] == {"here": True}
    assert len(fetched) == 4
    assert list(data.get("mnist")) == [{"here": True}]
    assert len(fetched) == 4


def test_the_page_offers_to_get_what_is_missing(tmp_path: Path) -> None:
    with app_on(tmp_path, "images", iset="MNIST (28 × 28)") as app:
        assert [b.label for b in app.button if b.key == "get-mnist"] == ["Get MNIST (12 MB in all)"]
        app.button(key="get-mnist").click().run()
        run = app.session_state["kept"]["run-data-get-mnist"]
        while run.state == "running":
            pass
        app.run()
        assert (
            "could not be fetched: this machine has no way to the internet" in app.warning[0].value
        )
        assert "Set MINITORCH_DATA" in app.code[0].value
        app.text_input(key="folder-mnist").set_value(str(tmp_path / "none")).run()
        assert "There is no folder" in app.warning[-1].value
    end_libraries()
