"""A log with the texts that Cassandra accepts and UTF-8 refuses, in every place that a text can have.

The table `ks.odd`: in four partitions one row each, of which every text is the same bytes; `READ` and `KEYS` say by
hand how these are read.
"""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from tests.helpers.log_writer import (
    TS,
    Bound,
    Cell,
    Column,
    Complex,
    Deletion,
    Liveness,
    LogFolder,
    Marker,
    Row,
    Table,
    Update,
    completed,
    create_payload,
    encode_mutation,
    segment_of,
)

SEGMENT = 1_700_000_000_000
BYTES = tuple(map(bytes.fromhex, ("00", "c080", "eda080", "efbfbd")))
MARKED = b"cdc-tail-bytes:c080"
"""A text of its own, which looks like what stands for another one."""
KEYS = ("\0", "cdc-tail-bytes:c080", "cdc-tail-bytes:eda080", "\ufffd")
"""The text of each as a key."""
READ = ("\0", "\0", "\ufffd", "\ufffd")
"""The text of each as a value."""

TABLE = Table(
    UUID(int=1 << 64 | 0x11EE << 48 | 0x8888),
    "ks",
    "odd",
    (
        Column("k", "partition_key", "text", 0),
        Column("c", "clustering", "text", 0),
        Column("v", "regular", "text"),
        Column("l", "regular", "list<text>"),
        Column("s", "regular", "set<text>"),
        Column("m", "regular", "map<text, text>"),
        Column("f", "regular", "frozen<map<text, frozen<list<text>>>>"),
    ),
)
_ID = bytes.fromhex("af60af60eb5611f186cd9d5b19ef72c9")


def _framed(*parts: bytes) -> bytes:
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def insert(text: bytes, key: bytes | None = None, ts: int = TS, clustering: bytes | None = None) -> Update:
    """A row whose texts are all of these bytes. `key`: others of its key; `clustering`: others of its clustering."""

    def one(path: bytes, value: bytes) -> Complex:
        return Complex((Cell(value, ts, path=path, like_row=1),), Deletion(ts - 1, TS // 1_000_000))

    one_list = (1).to_bytes(4, "big") + _framed(text)
    cells = (
        ("v", Cell(text, ts, like_row=1)),
        ("l", one(_ID, text)),
        ("s", one(text, b"")),
        ("m", one(text, text)),
        ("f", Cell((1).to_bytes(4, "big") + _framed(text, one_list), ts, like_row=1)),
    )
    key = text if key is None else key
    return Update(TABLE, key, (Row((key if clustering is None else clustering,), Liveness(ts), None, cells),))


def delete_row(key: bytes, ts: int) -> Update:
    return Update(TABLE, key, (Row((key,), None, Deletion(ts, TS // 1_000_000)),))


def delete_behind(key: bytes, bound: bytes, ts: int) -> Update:
    """DELETE … WHERE k = key AND c > bound."""
    deletion = Deletion(ts, TS // 1_000_000)
    return Update(
        TABLE, key, (Marker(Bound.EXCL_START, (bound,), (deletion,)), Marker(Bound.INCL_END, (), (deletion,)))
    )


def folder_with(parent: Path, *updates: Update) -> Path:
    """A finished log with the table and these entries."""
    folder = LogFolder(parent / "cdc_raw")
    made = segment_of(SEGMENT, [[create_payload(TABLE)], [encode_mutation((update,)) for update in updates]])
    folder.put(made, completed(made))
    return folder.path


def four_rows(parent: Path) -> Path:
    return folder_with(parent, *map(insert, BYTES))
