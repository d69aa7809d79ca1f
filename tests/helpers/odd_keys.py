"""A log whose keys are addresses and times that print as others do: only `blobAsInet` and `blobAsTime` write such.

The table `ks.odd` has a row for each pair of keys; `INETS` and `TIMES` say by hand how these are read.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.helpers.log_writer import (
    TS,
    Cell,
    Column,
    Liveness,
    LogFolder,
    Row,
    Update,
    completed,
    create_payload,
    encode_mutation,
    i32,
    segment_of,
    simple_table,
)

FIRST = 1_700_000_000_000
DAY = 86_400_000_000_000
INETS = {
    b"\1\2\3\4": "1.2.3.4",
    bytes(10) + b"\xff\xff\1\2\3\4": "cdc-tail-bytes:00000000000000000000ffff01020304",
    bytes(15) + b"\1": "0:0:0:0:0:0:0:1",
}
TIMES = {
    (0).to_bytes(8, "big"): "00:00:00.000000000",
    DAY.to_bytes(8, "big"): "cdc-tail-bytes:00004e94914f0000",
    (DAY - 1).to_bytes(8, "big"): "23:59:59.999999999",
    (-1).to_bytes(8, "big", signed=True): "cdc-tail-bytes:ffffffffffffffff",
}
TABLE = replace(
    simple_table("ks", "odd"),
    columns=(
        Column("k", "partition_key", "inet", 0),
        Column("c", "clustering", "time", 0),
        Column("a", "regular", "inet"),
        Column("t", "regular", "time"),
        Column("v", "regular", "int"),
    ),
)
KEYS = [(k, c) for k in INETS.values() for c in TIMES.values()]
SHOWN = {"a": "1.2.3.4", "t": "00:00:00.000000000"}
"""A value prints as the server prints it."""


def insert(number: int) -> Update:
    """The row of so many's pair of keys; `v` is the number."""
    k, c = [(k, c) for k in INETS for c in TIMES][number]
    values = {"a": list(INETS)[1], "t": list(TIMES)[1], "v": i32(number)}
    cells = tuple((name, Cell(value, TS, like_row=1)) for name, value in values.items())
    return Update(TABLE, k, (Row((c,), Liveness(TS), None, cells),))


def all_rows(parent: Path) -> Path:
    """A finished log with all of them."""
    log, rows = LogFolder(parent / "cdc_raw"), [encode_mutation((insert(number),)) for number in range(len(KEYS))]
    writer = segment_of(FIRST, [[create_payload(TABLE)], rows])
    log.put(writer, completed(writer))
    return log.path
