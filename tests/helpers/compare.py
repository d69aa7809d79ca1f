"""Compares printed rows with the expected ones, and says where they part."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tests.oracle import Row
from tests.oracle.jsontext import Pairs, dumps, equal, ordered

SHOWN = 1500


def same_rows(want: Sequence[Row], have: Sequence[str]) -> None:
    """Same rows, same order, same text; only a float may be spelled otherwise if it is the same number."""
    for number, (row, line) in enumerate(zip(want, have, strict=False)):
        if row.text != line and not _same_but_for_floats(row, line):
            raise AssertionError(_difference(number, row, line, len(want), len(have)))
    if len(want) > len(have):
        raise AssertionError(
            f"{len(want)} rows expected, {len(have)} came; the first missing is\n{want[len(have)].text}"
        )
    if len(have) > len(want):
        raise AssertionError(f"{len(want)} rows expected, {len(have)} came; the first too many is\n{have[len(want)]}")


def without_truncates(lines: Sequence[str]) -> list[str]:
    """`expected/` has no truncations: they are tested on their own."""
    return [line for line in lines if '"op":"truncate"' not in line]


def truncates(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if '"op":"truncate"' in line]


def place_of(line: str) -> tuple[int, int, int]:
    row = json.loads(line)
    return row["segment"], row["offset"], row["row"]


def _same_but_for_floats(row: Row, line: str) -> bool:
    have = ordered(line)
    return equal(row.data, have) and dumps(have) == line


def _difference(number: int, row: Row, line: str, expected_count: int, count: int) -> str:
    try:
        have = ordered(line)
    except ValueError as error:
        return f"row {number} is no JSON ({error}): {line[:SHOWN]}"
    fields = []
    if isinstance(have, Pairs):
        mine = dict(have.items)
        fields = [
            f"  {name}: expected {dumps(value)[:SHOWN]}\n  {' ' * len(name)}     found {dumps(mine.get(name))[:SHOWN]}"
            for name, value in row.data.items()
            if name not in mine or not equal(value, mine[name])
        ]
    told = "\n".join(fields) or f"  the text only:\n  expected {row.text[:SHOWN]}\n     found {line[:SHOWN]}"
    what = f"{row.data['keyspace']}.{row.data['table']} {row.data['event_id']}"
    return f"row {number} ({what}; {expected_count} expected, {count} came):\n{told}"
