"""What was kept by an earlier version is gone on with; what a later one wrote is refused, and left as it is.

docs/upgrades.md says the same. What stands in Delta tables is tried in `tests/spark/test_delta.py`.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from tailer.errors import CorruptError, RefusedError
from tailer.position import Position
from tailer.retention.clean import clean
from tailer.state.quarantine import Quarantine
from tests.helpers.cli import Result, run_cli
from tests.install.keep_state import FIRST, KEEPING, QUERY, Log
from tests.spark.engine import Engine

KEPT = Path(__file__).with_name("kept")
VERSIONS = {"consumer": 3, "cleaned": 3, "quarantine": 1}
LATER = {"v": 9, "nodes": "in another form", "segments": 7, "node": ["of the future"]}
"""What a later version may have made of any of the files."""


class Kept:
    """A log whose first segment was cleaned, and the files beside it: today's, or those of an earlier version."""

    def __init__(self, path: Path, earlier: Path | None = None) -> None:
        self.log = Log(path / "cdc_raw")
        self.folder = self.log.folder.path
        self.state = path / "cdc_raw.cdc_tail"
        self.log.finish(1, 2)
        self.log.grow()
        if earlier is not None:
            shutil.copytree(earlier, self.state)
        else:
            assert self.follow().code == 0
            self.files["cleaned"].write_text(json.dumps({"v": 3, "segments": [f"{FIRST} 0"]}))
        self.log.folder.remove(self.log.first)

    @property
    def files(self) -> dict[str, Path]:
        return {
            "consumer": self.state / "consumers" / "billing.json",
            "cleaned": self.state / "cleaned.json",
            "quarantine": self.state / "quarantine" / "billing.jsonl",
        }

    def follow(self, consumer: str = "billing") -> Result:
        return run_cli(["follow", self.folder, *KEEPING, "--consumer", consumer])

    def everything(self) -> dict[str, bytes]:
        found = (file for file in self.state.parent.rglob("*") if file.is_file() and not file.name.endswith("lock"))
        return {str(file): file.read_bytes() for file in found}


def values(result: Result) -> list[int]:
    assert result.code == 0, result.err
    return told(result.lines)


def told(lines: list[str]) -> list[int]:
    return [json.loads(line)["columns"]["v"] for line in lines]


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def changed(file: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Each JSON object of a file is replaced by another one."""
    text = file.read_text()
    objects = text.splitlines() if file.suffix == ".jsonl" else [text]
    file.write_text("".join(json.dumps(change(json.loads(each))) + "\n" for each in objects))


def line(text: str) -> bytes:
    """A line of the journal: the CRC of its text before it."""
    return b"%08x %s\n" % (crc32(text.encode()), text.encode())


def without_version(content: dict[str, Any]) -> dict[str, Any]:
    assert content["v"] in VERSIONS.values()
    return {name: value for name, value in content.items() if name != "v"}


class TestEarlier:
    """Before versions were written there was none in some of the files: such a file is of version 1."""

    def test_every_file_has_its_version(self, kept: Kept) -> None:
        for name, file in kept.files.items():
            assert json.loads(file.read_text())["v"] == VERSIONS[name], name

    def test_a_run_goes_on_from_files_without_version(self, kept: Kept) -> None:
        for name in ("consumer", "quarantine"):
            changed(kept.files[name], without_version)
        changed(kept.files["cleaned"], lambda content: {"segments": [[FIRST, FIRST]]})
        kept.log.grow(4)
        assert values(kept.follow()) == [4]
        assert json.loads(kept.files["consumer"].read_text())["v"] == VERSIONS["consumer"]

    def test_what_was_cleaned_stays_so(self, kept: Kept) -> None:
        """A server that starts again links it anew."""
        changed(kept.files["cleaned"], lambda content: {"segments": [[FIRST, FIRST]]})
        kept.log.finish(1)
        assert values(kept.follow("new")) == [2, 3]
        assert run_cli(["clean", kept.folder]).code == 0
        assert json.loads(kept.files["cleaned"].read_text())["segments"] == [[FIRST, FIRST]]

    def test_what_is_cleaned_next_is_recorded_in_today_s_form(self, kept: Kept) -> None:
        changed(kept.files["cleaned"], lambda content: {"v": 2, "segments": [[FIRST, FIRST]]})
        made = clean(kept.folder, clock=lambda: time.time() + 3600)
        assert [held.segment for held in made.logs] == [FIRST + 1]
        written = json.loads(kept.files["cleaned"].read_text())
        assert (written["v"], written["segments"]) == (VERSIONS["cleaned"], [f"{FIRST} 1"])

    def test_an_entry_is_kept_once(self, kept: Kept) -> None:
        changed(kept.files["quarantine"], without_version)
        before = kept.files["quarantine"].read_text()
        at = Position(json.loads(before)["segment"], json.loads(before)["offset"])
        Quarantine(kept.state, "billing", "local").keep(at, "any", CorruptError("again"), b"")
        assert kept.files["quarantine"].read_text() == before

    def test_a_consumer_with_little_in_its_file(self, kept: Kept) -> None:
        """Who moved it and when, what the planner remembers: all may be missing."""
        bare = {"offset": {"s": FIRST + 1, "o": 0, "done": False}}
        changed(kept.files["consumer"], lambda content: {"name": "billing", "nodes": {"local": bare}})
        assert values(kept.follow()) == [2, 3]


@pytest.mark.parametrize("version", sorted(folder.name for folder in KEPT.iterdir()))
class TestEveryVersion:
    """State and checkpoint as a version of the past left them, byte by byte."""

    @pytest.fixture
    def old(self, version: str, tmp_path: Path) -> Kept:
        return Kept(tmp_path, KEPT / version / "state")

    def test_a_consumer_goes_on(self, old: Kept) -> None:
        """By definitions of the journal alone: the segment that told them is gone."""
        assert values(old.follow()) == [3]
        old.log.grow(4)
        assert values(old.follow()) == [4]

    def test_a_query_goes_on_from_its_checkpoint(self, version: str, old: Kept) -> None:
        """The batch that was logged and not done comes first, as it was planned then."""
        checkpoint = json.loads((KEPT / version / "checkpoint.json").read_text())
        engine = Engine(old.folder, QUERY, **checkpoint)
        old.log.grow(4)
        with engine.running(once=True) as planner:
            assert [told(batch) for batch in engine.batches(planner)] == [[3], [4]]

    def test_what_was_cleaned_and_put_aside_stays_so(self, old: Kept) -> None:
        before = old.files["quarantine"].read_text()
        old.log.finish(1)
        assert values(old.follow("new")) == [2, 3]
        assert run_cli(["consumers", old.folder, "seek", "billing", "earliest"]).code == 0
        assert values(old.follow()) == [2, 3]
        assert old.files["quarantine"].read_text() == before

    def test_nothing_of_it_is_a_problem(self, old: Kept) -> None:
        status = json.loads(run_cli(["status", old.folder, "--output", "json"]).out)
        assert status["problems"] == []
        assert [each["consumer"] for each in status["consumers"]] == ["billing", "spark"]
        assert run_cli(["clean", old.folder]).code == 0


COMMANDS = {
    "consumer": (("follow", "--consumer", "billing"), ("clean",), ("consumers", "seek", "billing", "latest")),
    "cleaned": (("follow",), ("follow", "--consumer", "billing"), ("clean",), ("consumers", "drop", "billing")),
    "quarantine": (("follow", "--consumer", "billing"),),
}


class TestLater:
    @pytest.mark.parametrize(
        ("name", "command"),
        [(name, command) for name, commands in COMMANDS.items() for command in commands],
        ids=lambda value: value if isinstance(value, str) else " ".join(value),
    )
    def test_it_is_refused_by_one_sentence_and_left_as_it_is(
        self, name: str, command: tuple[str, ...], kept: Kept
    ) -> None:
        file = kept.files[name]
        today = file.read_text()
        changed(file, lambda content: LATER)
        kept.log.grow(4)
        before = kept.everything()
        word, *rest = command
        more = ["--once"] if word == "follow" else []
        refused = run_cli([word, kept.folder, *rest, *more])
        assert (refused.code, refused.out) == (6, "")
        assert re.fullmatch(
            rf"cdc-tail: the version of [^:]* \({re.escape(str(file))}[^)]*\): expected (1|[23] or lower), found 9\. "
            rf"A newer cdc-tail wrote it: use that version[^.]*\.\n",
            refused.err,
        )
        assert kept.everything() == before
        # Whoever was refused holds nothing: in this process too.
        file.write_text(today)
        assert values(kept.follow()) == [4]

    @pytest.mark.parametrize(
        "command", [("follow", "--once"), ("clean",), ("schema",), ("follow", "--consumer", "new")]
    )
    def test_a_journal_with_a_kind_of_record_that_is_not_known(self, kept: Kept, command: tuple[str, ...]) -> None:
        journal = kept.state / "journal"
        # The line with the state's id has no number.
        number = max(json.loads(each[9:]).get("n", 0) for each in journal.read_bytes().splitlines()) + 1
        with journal.open("ab") as file:
            file.write(line(f'{{"n":{number},"kind":"of the future","what":1}}'))
        before = kept.everything()
        word, *rest = command
        refused = run_cli([word, kept.folder, *rest])
        assert (refused.code, refused.out) == (6, "")
        assert refused.err.count("\n") == 1
        assert f"({journal}, record {number})" in refused.err
        assert "of the future" in refused.err
        assert "A newer version of cdc-tail wrote it" in refused.err
        assert kept.everything() == before

    @pytest.mark.parametrize("command", [("follow", "--once"), ("clean",), ("follow", "--consumer", "billing")])
    def test_a_base_of_the_journal(self, kept: Kept, command: tuple[str, ...]) -> None:
        base = kept.state / "journal.base"
        base.write_bytes(line('{"v":2,"records":"in another form"}'))
        before = kept.everything()
        word, *rest = command
        refused = run_cli([word, kept.folder, *rest])
        assert (refused.code, refused.out) == (6, "")
        assert f"({base}): expected 1, found 2. A newer cdc-tail wrote it" in refused.err
        assert kept.everything() == before

    def test_the_hold_of_a_batch_read(self, kept: Kept) -> None:
        hold = kept.state / "consumers" / "read-x.hold"
        hold.write_text(json.dumps(LATER))
        before = kept.everything()
        refused = run_cli(["clean", kept.folder])
        assert (refused.code, refused.out) == (6, "")
        assert f"the version of the hold of a batch read ({hold}): expected 1, found {LATER['v']}." in refused.err
        assert kept.everything() == before
        # Nobody else needs it.
        kept.log.grow(4)
        assert values(kept.follow()) == [4]

    @pytest.mark.parametrize("name", ["consumer", "cleaned", "quarantine"])
    def test_status_tells_of_it(self, name: str, kept: Kept) -> None:
        changed(kept.files[name], lambda content: LATER)
        before = kept.everything()
        ran = run_cli(["status", kept.folder, "--output", "json"])
        assert ran.code == 0
        (problem,) = json.loads(ran.out)["problems"]
        assert str(kept.files[name]) in problem
        assert "A newer cdc-tail wrote it" in problem
        assert kept.everything() == before

    @pytest.mark.parametrize("v", [0, -1, "1", None, 1.5])
    def test_a_version_that_is_none_is_no_newer_one(self, v: object, kept: Kept) -> None:
        for name in ("consumer", "cleaned"):
            today = kept.files[name].read_text()
            changed(kept.files[name], lambda content: {**content, "v": v})
            refused = kept.follow()
            assert refused.code == 6
            assert "cannot be read" in refused.err
            assert "newer" not in refused.err
            kept.files[name].write_text(today)

    def test_a_line_that_a_crash_has_cut_is_no_newer_one(self, kept: Kept) -> None:
        with kept.files["quarantine"].open("a") as file:
            file.write('{"v":2,"node":"loc')
        kept.log.grow(4)
        assert values(kept.follow()) == [4]

    def test_the_offset_of_a_checkpoint(self, kept: Kept) -> None:
        engine = Engine(kept.folder, QUERY)
        engine.available_now()
        engine.offsets[-1] = {"v": 9, "nodes": ["in another form"]}
        kept.log.grow(4)
        before = kept.everything()
        with pytest.raises(RefusedError) as caught:
            engine.available_now()
        assert (caught.value.expected, caught.value.found) == ("4 or lower", 9)
        assert "A newer cdc-tail wrote it" in caught.value.remedy
        assert kept.everything() == before

    def test_an_offset_that_a_user_names(self, kept: Kept) -> None:
        given = json.dumps(
            {"v": 9, "t": 0, "nodes": {"local": {"j": 0, "s": FIRST + 1, "o": 0, "done": False, "p": []}}}
        )
        for command in (["follow", kept.folder, "--once", "--from"], ["consumers", kept.folder, "seek", "billing"]):
            refused = run_cli([*command, given])
            assert (refused.code, refused.out) == (6, "")
            assert "the version of the offset: expected 4 or lower, found 9." in refused.err
