"""What commands and programs show of a log that a node serves is what they show of its folder."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow
import pytest

import tailer
from tests.helpers.cli import Result, run_cli
from tests.helpers.links import read_once
from tests.helpers.log_writer import (
    LogFolder,
    completed,
    create_payload,
    insert_payload,
    live,
    segment_of,
    simple_table,
)
from tests.helpers.logs.native import NativeWriter
from tests.helpers.masked_log import CLEAR, key_file, mask_words, people_log
from tests.helpers.served import ServedNode, served
from tests.native.logs import ORDERS, folder_of, put
from tests.unit.remote.conftest import FIRST

TABLE = simple_table("ks", "t")


@pytest.fixture
def log(tmp_path: Path) -> LogFolder:
    """Finished segments, one with a damaged entry behind its promise, and one that is written."""
    folder = LogFolder(tmp_path / "cdc_raw")
    for number in range(4):
        sections = [[insert_payload(TABLE, number, f"c{each}", each)] for each in range(5)]
        writer = segment_of(FIRST + number, [*([[create_payload(TABLE)]] if number == 0 else []), *sections])
        folder.put(writer, live(writer) if number == 3 else completed(writer))
    return folder


@pytest.fixture
def node(log: LogFolder) -> Iterator[ServedNode]:
    with served(log.path) as found:
        yield found


def shown(words: list[str | Path], place: Path | str, log: Path) -> tuple[int, str, str]:
    """With the place's own name left out, and how long it took."""
    result = run_cli([words[0], place, *words[1:]])
    result = replace(result, out=re.sub(r'"seconds":[0-9.]+', '"seconds":0', result.out))
    return result.code, *(
        text.replace(str(place), "PLACE").replace(str(log), "PLACE") for text in (result.out, result.err)
    )


@pytest.mark.parametrize(
    "words",
    [
        ["schema"],
        ["schema", "--output", "json"],
        ["schema", "--table", "ks.t", "--output", "cql"],
        ["inspect", "--output", "json"],
        ["inspect", "--entries", "--output", "json"],
        ["verify", "--output", "json"],
        ["follow", "--once", "--output", "json"],
        ["follow", "--once", "--output", "pretty"],
        ["follow", "--once", "--table", "other.*", "--output", "json"],
        ["follow", "--once", "--from", f"{FIRST + 2}:0", "--output", "json"],
        ["follow", "--once", "--from", "1:0", "--output", "json"],
    ],
    ids=lambda words: " ".join(map(str, words)),
)
def test_commands_show_the_same(words: list[str | Path], log: LogFolder, node: ServedNode) -> None:
    far, beside = shown(words, node.url, log.path), shown(words, log.path, log.path)
    assert far[:2] == beside[:2], (far, beside)
    assert far[0] in (0, 2, 5)


def test_verify_finds_the_same_damage(log: LogFolder, node: ServedNode) -> None:
    path = log.path / f"CommitLog-7-{FIRST + 1}.log"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x01
    path.write_bytes(data)
    for words in (["verify", "--output", "json"], ["follow", "--once", "--output", "json"]):
        far, beside = shown(words, node.url, log.path), shown(words, log.path, log.path)
        assert (far[0], far[1]) == (beside[0], beside[1])
        assert far[0] == 4


def test_status_is_that_of_the_folder(log: LogFolder, node: ServedNode) -> None:
    assert read_once(node.url, "--consumer", "c", "--until", f"{FIRST + 2}:0").code == 0
    found = []
    for place in (node.url, log.path):
        result = run_cli(["status", place, "--output", "json"])
        assert result.code == 0, result.err
        found.append([without_time(json.loads(line)) for line in result.lines])
    assert found[0] == found[1]
    assert json.dumps(found[0]).count('"c"') >= 1


def without_time(value: object) -> object:
    """Without what differs from second to second, where it is, and who asks."""
    if isinstance(value, dict):
        left = ("folder", "where", "state", "now", "moved", "held", "running", "host", "program")
        return {
            key: without_time(each)
            for key, each in value.items()
            if key not in left and not key.endswith(("seconds", "_at", "age"))
        }
    return [without_time(each) for each in value] if isinstance(value, list) else value


def table_of(batches: Iterator[pyarrow.RecordBatch]) -> list[dict[str, object]]:
    return [row for batch in batches for row in batch.to_pylist()]


def test_programs_read_and_follow_the_same(log: LogFolder, node: ServedNode) -> None:
    beside = table_of(tailer.open(log.path).read())
    assert len(beside) == 20
    assert table_of(tailer.open(node.url).read()) == beside
    assert table_of(tailer.open(node.url).follow(once=True)) == beside
    assert table_of(tailer.open(node.url, tables=["nothing.*"]).read()) == []
    kept = tailer.open(node.url, consumer="c")
    assert table_of(kept.follow(once=True)) == beside
    assert table_of(kept.follow(once=True)) == []
    between = {"start": f"{FIRST + 1}:0", "end": f"{FIRST + 2}:0"}
    assert table_of(tailer.open(node.url).read(**between)) == table_of(tailer.open(log.path).read(**between))


def test_a_program_goes_on_where_it_broke_off(log: LogFolder, node: ServedNode) -> None:
    beside = table_of(tailer.open(log.path).read())
    rows = tailer.open(node.url, consumer="c").follow(once=True)
    first = next(rows).to_pylist()
    rows.close()
    rest = table_of(tailer.open(node.url, consumer="c").follow(once=True))
    # The batch that was given last was not said to be safe.
    assert rest in (beside, beside[len(first) :])


def test_the_typed_form(log: LogFolder, node: ServedNode) -> None:
    far, beside = (table_of(tailer.open(place, table="ks.t").read()) for place in (node.url, log.path))
    assert far == beside
    assert [row["v"] for row in far] == [0, 1, 2, 3, 4] * 4


def test_masks(tmp_path: Path) -> None:
    folder, key = people_log(tmp_path / "people" / "cdc_raw"), key_file(tmp_path / "key")
    with served(folder.path) as node:
        far = read_once(node.url, "--consumer", "c", *mask_words(key))
        bare = read_once(node.url, *mask_words(key))
        # The state has no clear value either.
        kept = b"".join(path.read_bytes() for path in tmp_path.glob("people/*.cdc_tail/**/*") if path.is_file())
        refused = read_once(node.url, "--consumer", "c")
    beside = read_once(folder.path, *mask_words(key))
    assert far.code == 0, far.err
    assert far.lines == bare.lines == beside.lines
    assert far.lines
    for text in CLEAR:
        assert text not in far.out
        assert text.encode() not in kept
    assert (refused.code, refused.out) == (6, "")


def test_native_logs_are_served_too(tmp_path: Path) -> None:
    first, second = NativeWriter(7), NativeWriter(8)
    first.section([ORDERS.definition, put(1, "one"), put(2, "two")])
    second.section([ORDERS.definition, put(3, "three")])
    folder = folder_of(tmp_path, first, second, live=True)
    with served(folder) as node:
        far = read_once(node.url, "--stopped")
    beside = read_once(shutil.copytree(folder, tmp_path / "copy" / "cdc_raw"), "--stopped")
    assert (far.code, far.lines) == (beside.code, beside.lines)
    assert far.lines


def test_a_state_folder_has_no_place_beside_a_node(node: ServedNode, tmp_path: Path) -> None:
    result: Result = read_once(node.url, "--state", tmp_path / "state")
    assert (result.code, result.out) == (2, "")
    assert "Leave it out" in result.err
    assert not (tmp_path / "state").exists()
