"""Rows put together by keys that UTF-8 refuses, as the current state and the merges of Spark do it."""

from __future__ import annotations

from tailer.rebuild.changes import changed
from tailer.rebuild.facts import Fact
from tailer.rebuild.rows import rows_at
from tailer.rebuild.table import Table, plan_of
from tailer.types import murmur3_token
from tests.helpers.logs.model import Update
from tests.helpers.odd_texts import BYTES, KEYS, READ, TABLE, delete_behind, delete_row, insert
from tests.helpers.rebuilt_json import row_json
from tests.unit.rows.twins import build_both
from tests.unit.rows.typed.scanned import definition_of, scanned

DEFINITION = definition_of(TABLE)
PLAN = plan_of(Table.of(DEFINITION))
LATE = 1_800_000_000_000_000


def rebuilt(*updates: Update) -> list[tuple[str, str, str]]:
    """Keys and value of all rows, as JSON; each partition has the token of its bytes."""
    facts: dict[bytes, dict[bytes, list[Fact]]] = {}
    batch = build_both(*scanned(DEFINITION, [(update,) for update in updates])).batch.to_arrow()
    for row, update in zip(batch.to_pylist(), updates, strict=True):
        made = changed(row, PLAN)
        assert made is not None
        assert row["token"] == murmur3_token(update.key)
        assert made.partition.endswith(len(update.key).to_bytes(4, "big") + update.key)
        facts.setdefault(made.partition, {}).setdefault(made.row, []).extend(made.facts)
    found = []
    for partition, rows in facts.items():
        for row in rows_at(rows, PLAN, {}, 1_700_000_000):
            texts = row_json(partition, row, PLAN)
            if "v" in texts:
                found.append((texts["k"], texts["c"], texts["v"]))
    return found


def quoted(text: str) -> str:
    return '"\\u0000"' if text == "\0" else f'"{text}"'


def test_four_rows_stay_four() -> None:
    expected = [(quoted(key), quoted(key), quoted(value)) for key, value in zip(KEYS, READ, strict=True)]
    assert rebuilt(*map(insert, BYTES)) == expected


def test_a_delete_meets_its_own_row() -> None:
    found = rebuilt(*map(insert, BYTES), delete_row(BYTES[1], LATE))
    assert [row[0] for row in found] == [quoted(key) for key in (KEYS[0], KEYS[2], KEYS[3])]


def test_a_range_meets_the_rows_behind_its_bound() -> None:
    inserts = [insert(b"1", b"k", clustering=text) for text in BYTES]
    found = rebuilt(*inserts, delete_behind(b"k", BYTES[1], LATE))
    assert [row[1] for row in found] == [quoted(key) for key in KEYS[:2]]
