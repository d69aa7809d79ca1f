"""Every recorded folder, read from a node that serves it: the rows that the folder itself gives, byte for byte."""

from __future__ import annotations

import json
import shutil
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tailer.options.tail import TailOptions
from tailer.serve.own_reading import READING
from tests.conftest import FreshFolder
from tests.golden.test_sets import check
from tests.helpers.amount import ALL
from tests.helpers.cli import Result, run_cli
from tests.helpers.served import ServedNode, served
from tests.helpers.sets import Place, folders, key_options
from tests.oracle import expected

SOME = [
    Place("50-cases"),
    Place("41-lz4"),
    Place("50-zstd"),
    Place("40-aes"),
    Place("50-torn"),
    Place("50-killed-lz4", "killed"),
    Place("50-crash-gap", 4),
    Place("50-nonblocking", 7),
    Place("50-cap", 9),
]
PLACES = folders() if ALL else SOME
READ = ("--once", "--output", "json")


def serving(
    folder: Path, sets_root: Path, place: Place, monkeypatch: pytest.MonkeyPatch
) -> AbstractContextManager[ServedNode]:
    """The folder, served by a node that has the keys of its log."""
    words, environment = key_options(sets_root / place.set)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    keystore = Path(words[1]) if words else None
    return served(folder, reading=TailOptions(**READING, keystore=keystore))


def follow(where: Path | str, sets_root: Path, place: Place, *more: str) -> Result:
    words, environment = key_options(sets_root / place.set)
    return run_cli(["follow", where, *READ, *words, *more], environment)


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_rows_are_those_of_the_folder(
    place: Place, sets_root: Path, fresh_folder: FreshFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = fresh_folder(place)
    alone = tmp_path / "alone" / "cdc_raw"
    shutil.copytree(folder, alone)
    want = expected(sets_root / place.set, folder)
    before = follow(alone, sets_root, place)
    with serving(folder, sets_root, place, monkeypatch) as node:
        bare = follow(node.url, sets_root, place)
        kept = follow(node.url, sets_root, place, "--consumer", "c")
        again = follow(node.url, sets_root, place, "--consumer", "c")
    assert (bare.code, bare.lines) == (before.code, before.lines), bare.err
    assert (kept.code, kept.lines) == (before.code, before.lines), kept.err
    assert again.lines == []
    check(want, bare, place, sets_root)


def test_the_state_that_a_reader_elsewhere_leaves_is_that_of_one_beside_the_log(
    sets_root: Path, fresh_folder: FreshFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A consumer that read by HTTP goes on beside the folder, and the other way round."""
    place = Place("50-lz4")
    folder = fresh_folder(place)
    whole = follow(shutil.copytree(folder, tmp_path / "alone" / "cdc_raw"), sets_root, place)
    middle = json.loads(whole.lines[len(whole.lines) // 2])
    cut = f"{middle['segment']}:{middle['offset']}"
    with serving(folder, sets_root, place, monkeypatch) as node:
        first = follow(node.url, sets_root, place, "--consumer", "c", "--until", cut)
    rest = follow(folder, sets_root, place, "--consumer", "c")
    assert first.lines + rest.lines == whole.lines
    first = follow(folder, sets_root, place, "--consumer", "d", "--until", cut)
    with serving(folder, sets_root, place, monkeypatch) as node:
        rest = follow(node.url, sets_root, place, "--consumer", "d")
    assert first.lines + rest.lines == whole.lines
