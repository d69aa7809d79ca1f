"""The change rows that must follow from the server's own view of its log: the tests' oracle, fed with dumped lines.

The recorded sets leave mutations of the `system` keyspaces out; a dump has them, and so `truncate` rows can be derived
too (architecture section 4). Shares nothing with the package under test.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from tests.oracle.jsontext import Json, dumps, equal, loads, ordered
from tests.oracle.recording import is_schema
from tests.oracle.rows import Line, change_rows, start, used_definitions
from tests.oracle.schema import Definition, Follower

ROW = """
    node keyspace table table_id op partition_key clustering is_static columns range write_ts ttl expires_at cells token
    segment offset row event_id txn attrs
"""

ChangeRow = dict[str, Json]


def rows_from_dump(lines: Iterable[str], captured: Collection[int]) -> list[ChangeRow]:
    """The rows of the segments in `captured`, in log order; all other segments teach definitions only.

    `lines`: one JSON line a mutation, in log order, each as dumped under the definitions it was written with.
    """
    follower = Follower()
    rows: list[ChangeRow] = []
    for line in map(loads, lines):
        if is_schema(line):
            follower.apply(line["updates"])
        elif line["segment"] not in captured:
            continue
        elif all(update["keyspace"].startswith("system") for update in line["updates"]):
            rows += _truncations(line, follower.definitions)
        else:
            rows += change_rows(line, used_definitions(line, follower.definitions))
    return rows


def _truncations(line: Line, definitions: Mapping[str, Definition]) -> Iterator[ChangeRow]:
    """A row for each live cell of `system.local.truncated_at` that names a captured table; numbers count all cells."""
    cells = [
        cell
        for update in line["updates"]
        if (update["keyspace"], update["table"]) == ("system", "local")
        for row in update["unfiltereds"]
        for cell in row["cells"]
        if cell["column"] == "truncated_at" and not cell["tombstone"]
    ]
    for number, cell in enumerate(cells):
        definition = definitions.get(cell["path_json"])
        if definition is not None and definition.cdc:
            yield _truncation(line, cell, definition, number)


def _truncation(line: Line, cell: Mapping[str, Any], definition: Definition, number: int) -> ChangeRow:
    record = bytes.fromhex(cell["hex"])
    before = {"segment": int.from_bytes(record[:8], "big"), "offset": int.from_bytes(record[8:12], "big")}
    segment, offset = line["segment"], start(line)
    return dict.fromkeys(ROW.split()) | {
        "node": "local",
        "keyspace": definition.keyspace,
        "table": definition.table,
        "table_id": definition.id,
        "op": "truncate",
        "is_static": False,
        "range": {"before": before},
        "write_ts": cell["ts"],
        "segment": segment,
        "offset": offset,
        "row": number,
        "event_id": f"local:{segment}:{offset}:{number}",
    }


def differences(want: list[ChangeRow], have: list[str], most: int = 3) -> list[str]:
    """What a failing test shows: rows missing, given twice, not asked for, out of order or of another content."""
    found = [ordered(text) for text in have]
    names = [dict(row.items)["event_id"] for row in found]
    wanted = {row["event_id"]: row for row in want}
    told = [f"missing: {dumps(row)}" for name, row in wanted.items() if name not in set(names)][:most]
    twice = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()
    told += [f"{names.count(name)} times: {name}" for name in sorted(twice)[:most]]
    told += [f"not in the server's view: {text}" for name, text in zip(names, have, strict=True) if name not in wanted][
        :most
    ]
    if not told and names != list(wanted):
        place = next(i for i, (mine, theirs) in enumerate(zip(wanted, names, strict=True)) if mine != theirs)
        told = [f"out of order from row {place} on: expected {list(wanted)[place]}, found {names[place]}"]
    for name, row, text in zip(names, found, have, strict=True):
        if name in wanted and not equal(wanted[name], row) and len(told) < 2 * most:
            told.append(f"expected {dumps(wanted[name])}\n   found {text}")
    return told
