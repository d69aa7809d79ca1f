"""Data files for tests: an outlet of them, and what is in a folder, read without any of our readers."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from pathlib import Path
from typing import Any

import cramjam

from tailer.options.sources import resolve
from tailer.options.tail import TailOptions
from tailer.schema.model import Column, TableDefinition
from tailer.sinks.files.outlet import FilesOutlet, open_outlet
from tailer.sinks.outlet import OutletContext, OutletKey, Place
from tailer.tail.deliver import deliver
from tailer.tail.feed import Feed
from tailer.tail.patience import Patience
from tests.helpers.tails import open_tail
from tests.unit.sinks.rows import ORDINARY, batch, row

KEY = OutletKey("5f4e", "n1", "billing")
ORDERS = TableDefinition(
    ORDINARY["table_id"],
    "shop",
    "orders",
    (Column("id", "partition_key", "int", 0), Column("at", "clustering", "text", 0)),
)
GIVEN = {name: found.value for name, found in resolve("follow", {}, {}).items()}
"""The options of a command that says nothing."""


def refuse(*arguments: Any) -> None:
    raise AssertionError(f"no row is refused: {arguments}")


def outlet(folder: Path, *, key: OutletKey = KEY, **values: Any) -> FilesOutlet:
    """Of `files:FOLDER`, not open yet."""
    context = OutletContext(key, {ORDERS.id: ORDERS}.get, None, refuse, [].append)
    return open_outlet(f"files:{folder}", {**GIVEN, **values}, context)


def stands(folder: Path, **values: Any) -> Place | None:
    """What an outlet of the folder says when it opens."""
    out = outlet(folder, **values)
    try:
        return out.open()
    finally:
        out.close()


def place(number: int, generation: int = 1) -> Place:
    return Place(f'{{"j":0,"s":1700000000001,"o":{number}}}', generation)


def rows(*values: int, **more: Any) -> Any:
    """A batch with a row for each number, which is its key, its position and its value."""
    made = [
        row(
            partition_key=f'{{"id":{value}}}',
            columns=f'{{"v":{value}}}',
            offset=value,
            event_id=f"n1:1:{value}:0",
            **more,
        )
        for value in values
    ]
    return batch(*made)


def write_files(folder: Path, *files: list[int], key: OutletKey = KEY, **values: Any) -> None:
    """A run that commits a file for each list of numbers, behind those that are there."""
    out = outlet(folder, key=key, **values)
    before = out.open()
    try:
        for numbers in files:
            out.write(rows(*numbers))
            behind = place(numbers[-1])
            out.commit(before, behind)
            before = behind
    finally:
        out.close()


def indexes(folder: Path) -> list[dict[str, Any]]:
    """The indexes in a node's folder by number, each checked against its data file; numbers have no gaps."""
    found = [json.loads(path.read_text()) for path in sorted(folder.glob("*.idx.json"))]
    assert (
        [index["number"] for index in found] == [found[0]["number"] + at for at in range(len(found))] if found else True
    )
    for index in found:
        if index["data"]:
            data = (folder / index["data"]).read_bytes()
            assert (len(data), hashlib.sha256(data).hexdigest()) == (index["bytes"], index["sha256"])
    return found


def lines_of(folder: Path) -> list[dict[str, Any]]:
    """All rows of a node's files that have an index, in order."""
    data = [(folder / index["data"]).read_bytes() for index in indexes(folder) if index["data"]]
    texts = [bytes(cramjam.zstd.decompress(each)) for each in data]
    rows = [[json.loads(line) for line in text.splitlines()] for text in texts]
    assert [len(each) for each in rows] == [index["rows"] for index in indexes(folder) if index["data"]]
    return [row for each in rows for row in each]


def values_of(folder: Path) -> list[int]:
    return [row["columns"]["v"] for row in lines_of(folder)]


def feed(log: Path, folder: Path, roll_bytes: int = 1, **more: Any) -> int:
    """One run of `follow --to files:FOLDER` over what is there; how many rows it committed."""
    options = TailOptions(consumer="c", settle_seconds=0.0, outlet=True)
    values = {**GIVEN, "roll_bytes": roll_bytes, **more}
    with open_tail(log, options) as tail:
        made = partial(open_outlet, f"files:{folder}", values)
        return deliver(Feed(tail, made, Patience(0.0, [].append), [].append), once=True, say=[].append)
