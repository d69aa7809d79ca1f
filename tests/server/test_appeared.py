"""A7 on a real server: it links segments again whose links were removed by hand, and others are copied back.

What a consumer must be given is what was inserted, by the segments that the server wrote it into.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tailer.retention.clean import CleanOptions, clean
from tailer.retention.needed import Ages
from tailer.stores.open import open_store
from tests.helpers.cli import run_cli
from tests.server.harness import Node

pytestmark = [pytest.mark.server, pytest.mark.slow]

ROWS = 90
PADDING = "x" * 30_000
"""Some segments of 1 MiB for each lot of rows. Nothing is flushed: a server that starts again replays all of them."""

AT_ONCE = Ages(0.0, 0.0)


@dataclass
class Log:
    """A node's log. `lots`: the keys of each lot of rows that was written. `removed`: segments whose links were removed
    by hand behind the first lot, which the server has linked again since."""

    node: Node
    lots: list[list[int]] = field(default_factory=list)
    removed: set[int] = field(default_factory=set)
    other: Path = Path()
    """The log of another node: a copy without what was removed."""

    @property
    def both(self) -> str:
        return f"n1={self.folder},n2={self.other}"

    def copy(self) -> None:
        self.other.mkdir(parents=True, exist_ok=True)
        for segment in set(_segments(self.folder)) - self.removed:
            for file in _files(self.folder, segment):
                shutil.copy2(file, self.other)

    @property
    def folder(self) -> Path:
        return self.node.cdc_raw

    def write(self) -> None:
        begin = sum(map(len, self.lots))
        with self.node.session() as session:
            for key in range(begin, begin + ROWS):
                session.execute("INSERT INTO appeared.rows (pk, body) VALUES (%s, %s)", (key, PADDING))
        self.node.sync()
        self.lots.append(list(range(begin, begin + ROWS)))


@pytest.fixture(scope="module")
def log(node: Node, tmp_path_factory: pytest.TempPathFactory) -> Log:
    log = Log(node, other=tmp_path_factory.mktemp("other") / "cdc_raw")
    with node.session() as session:
        replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        session.execute(f"CREATE KEYSPACE appeared WITH replication = {replication}")
        session.execute("CREATE TABLE appeared.rows (pk int PRIMARY KEY, body text) WITH cdc = true")
    log.write()
    assert given(log.folder, "reads_all") == log.lots[0]
    there = _segments(log.folder)
    for segment in there[:-1]:
        _remove(log.folder, segment)
    for name in ("delivers", "accepts", "accepts_loss"):
        assert given(log.folder, name, "--from", "latest") == []
    log.copy()
    assert given(log.both, "of_two", "--from", "latest") == []
    node.kill()
    node.start_again()
    log.removed = set(there[:-1]) & set(_segments(log.folder))
    assert len(log.removed) >= 2, "the server linked nothing again: this shows nothing"
    log.write()
    return log


def given(folder: Path | str, consumer: str, *more: str, code: int = 0) -> list[int]:
    """The keys of the rows that a run gives, which must end so."""
    ran = run_cli(["follow", folder, "--once", "--output", "json", "--consumer", consumer, *more])
    assert ran.code == code, ran.err
    return [json.loads(line)["partition_key"]["pk"] for line in ran.lines]


def settled(folder: Path, consumer: str, word: str) -> tuple[list[int], set[int]]:
    """What a consumer is given who does what each error says, with `word`, until there is none; and about which
    segments it was asked."""
    keys: list[int] = []
    named: set[int] = set()
    while True:
        ran = run_cli(["follow", folder, "--once", "--output", "json", "--consumer", consumer])
        keys += [json.loads(line)["partition_key"]["pk"] for line in ran.lines]
        if ran.code == 0:
            return keys, named
        assert ran.code == 5, ran.err
        advice = re.search(rf"cdc-tail consumers DIR {word} {consumer} ([\d ]*\d)", ran.err)
        assert advice, ran.err
        ids = advice[1].split()
        assert not named & set(map(int, ids)), "it was said before"
        named |= set(map(int, ids))
        ran = run_cli(["consumers", folder, word, consumer, *ids])
        assert ran.code == 0, ran.err


def cleaned(folder: Path) -> set[int]:
    return {held.segment for held in clean(folder, ages=AT_ONCE).logs}


def test_what_the_server_links_again_is_told_and_given_as_each_consumer_says(log: Log) -> None:
    first, second = log.lots[:2]
    assert given(log.folder, "reads_all") == second, "it has read what was linked again"
    assert not cleaned(log.folder) & log.removed, "nobody has said yet what these are"

    keys, named = settled(log.folder, "accepts", "accept")
    assert keys == second
    assert named == log.removed
    keys, named = settled(log.folder, "delivers", "deliver")
    assert len(keys) > ROWS
    assert keys == sorted(keys), "each once; they keep their place, for the state had met them before"
    assert set(keys) == {*first[: len(keys) - ROWS], *second}
    assert named == log.removed
    assert not cleaned(log.folder) & log.removed, "two have not said it yet"

    assert given(log.folder, "accepts_loss", "--accept-loss") == second
    for name in ("reads_all", "accepts", "delivers", "accepts_loss"):
        assert given(log.folder, name) == []


def test_another_node_is_not_held_up_by_it(log: Log) -> None:
    """Two nodes, of which one has them: the other's rows come, and the run ends with the error that names the node."""
    log.copy()
    ran = run_cli(["follow", log.both, "--once", "--output", "json", "--consumer", "of_two"])
    rows = [json.loads(line) for line in ran.lines]
    assert ran.code == 5, ran.err
    assert "has appeared below where this consumer began" in ran.err or "have appeared below" in ran.err
    assert "node n1" in ran.err
    assert {row["partition_key"]["pk"] for row in rows if row["node"] == "n2"} == set(log.lots[1])


@pytest.mark.parametrize("copy", [shutil.copy, shutil.copy2], ids=["times renewed", "times kept"])
def test_a_segment_that_is_copied_back_is_told(log: Log, tmp_path: Path, copy: object) -> None:
    """As rsync does, without and with -t: no time tells what it is."""
    name = f"copied_{copy.__name__}"  # type: ignore[attr-defined]
    folder = tmp_path / "cdc_raw"
    shutil.copytree(log.folder, folder)
    lowest, *_ = _segments(folder)
    saved = [shutil.move(path, tmp_path / path.name) for path in _files(folder, lowest)]
    assert len(saved) == 2
    assert given(folder, name, "--from", "latest", "--stopped") == []
    for path in saved:
        copy(path, folder)  # type: ignore[operator]
    ran = run_cli(["follow", folder, "--once", "--stopped", "--output", "json", "--consumer", name])
    assert (ran.code, ran.out) == (5, "")
    assert f"segment {lowest} has appeared below" in ran.err
    keys, named = settled(folder, name, "deliver")
    assert keys
    assert keys == sorted(keys)
    assert set(keys) <= set(log.lots[0])
    assert named == {lowest}


def test_segments_that_restore_brings_later_are_told(log: Log, tmp_path: Path) -> None:
    """An archive is restored in two runs: the second one brings what the first had not got yet."""
    log.write()
    assert given(log.folder, "reads_all") == log.lots[-1]
    for name in ("accepts", "delivers", "accepts_loss"):
        given(log.folder, name)
    ran = run_cli(["consumers", log.folder, "drop", "of_two"])
    assert ran.code == 0, ran.err
    archive, restored = tmp_path / "archive", tmp_path / "restored" / "cdc_raw"
    clean(log.folder, CleanOptions(archive=open_store(str(archive))), ages=AT_ONCE)
    assert run_cli(["archive", archive, "restore", restored]).code == 0
    segments = _segments(restored)
    assert len(segments) >= 3
    held = [shutil.move(path, tmp_path / path.name) for path in _files(restored, segments[0])]
    first = given(restored, "behind", "--stopped")
    for path in held:
        path.unlink()
    assert run_cli(["archive", archive, "restore", restored]).code == 0
    assert _segments(restored) == segments, "it brings what is not there"
    keys, named = settled(restored, "behind", "deliver")
    assert named == {segments[0]}
    assert keys
    assert not set(keys) & set(first)


def _files(folder: Path, segment: int) -> list[Path]:
    """A segment's link and its idx file."""
    return sorted(folder.glob(f"CommitLog-*-{segment}*"))


def _remove(folder: Path, segment: int) -> None:
    for file in _files(folder, segment):
        file.unlink()


def _segments(folder: Path) -> list[int]:
    """Those that have an idx file, by id."""
    return sorted(int(file.stem.split("-")[2].removesuffix("_cdc")) for file in folder.glob("*_cdc.idx"))
