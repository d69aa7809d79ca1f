"""Changes of one row that the scan notes by the column: the same rows, and no lines; all others keep their places."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tailer.rows.place import Place
from tailer.rows.prepared import prepare
from tailer.rows.records import with_attrs
from tailer.scan.record.scan import Scanned
from tailer.schema.model import Column, TableDefinition
from tailer.schema.typed import TypedOptions, typed_table
from tests.unit.scan.compiled.twins import compiled_only
from tests.unit.scan.record.packed import entry
from tests.unit.scan.record.scanned import ID, PRINT, TS, cell, change, laid_out, row, scan_both

pytestmark = compiled_only
reading = pytest.importorskip("tests.unit.rows.typed.reading", exc_type=ImportError)

KEY = ID.hex() + PRINT.hex()
STATE = entry([8, bytes(16), bytes(16)])


def i32(number: int) -> bytes:
    return number.to_bytes(4, "big", signed=True)


def definition(keys: int, clustering: int, regular: int = 3) -> TableDefinition:
    columns = [Column(f"k{n}", "partition_key", "int", n) for n in range(keys)]
    columns += [Column(f"c{n}", "clustering", "int", n) for n in range(clustering)]
    columns += [Column("s", "static", "int"), *(Column(f"v{n}", "regular", "int") for n in range(regular))]
    return TableDefinition(ID.hex(), "ks", "t", tuple(columns), cdc=True)


def read(table: TableDefinition, payloads: Sequence[bytes]) -> tuple[Scanned, Any] | None:
    """Both ways, held together."""
    from tailer.rows.typed.compiled.one_row import read_record_one_row
    from tailer.rows.typed.form import form_of
    from tailer.rows.typed.plain import build_plain

    prepared = prepare({KEY: table}, {KEY})
    data, starts, sizes = laid_out(payloads)
    form = form_of(typed_table(table, [], TypedOptions()))
    place = Place("local", 1_700_000_000_001, np.array(starts))
    plain = scan_both(data, starts, sizes, prepared.scan_tables)
    want = build_plain(plain.index, plain.data, prepared, with_attrs(place, plain), form)
    found = read_record_one_row(data, starts, sizes, prepared, 0, place, form)
    if found is not None:
        reading.same_built(found[1], want)
        assert found[0].index.stopped == plain.index.stopped
    return found


def plain(number: int, keys: int, clustering: int, op: int = 0, **more: Any) -> bytes:
    first = keys + clustering + 1
    values = [cell(first, i32(number)), cell(first + 2, None if number % 5 == 4 else i32(-number))]
    key = [i32(number + n) for n in range(keys)]
    return entry(change(row(op, key, [i32(number)] * clustering or None, cells=values), ts=TS + number, **more))


@pytest.mark.parametrize("op", [0, 1])
@pytest.mark.parametrize(("keys", "clustering"), [(1, 0), (1, 2), (2, 1), (3, 0)])
def test_plain_changes_leave_no_lines(keys: int, clustering: int, op: int) -> None:
    payloads = [plain(number, keys, clustering, op) for number in range(100)]
    found = read(definition(keys, clustering), [STATE, *payloads[:50], STATE, *payloads[50:], STATE, STATE])
    assert found is not None
    scanned, built = found
    assert len(scanned.index.rows) == len(scanned.index.updates) == len(scanned.index.cells) == 0
    batch = built.batch.batch
    assert batch.column("v0").to_pylist() == list(range(100))
    assert batch.column("v2").to_pylist() == [None if n % 5 == 4 else -n for n in range(100)]
    assert batch.column("v1").null_count == 100
    assert batch.column(f"k{keys - 1}").to_pylist() == [n + keys - 1 for n in range(100)]
    assert batch.column("_op").to_pylist() == ["update" if op else "insert"] * 100
    assert batch.column("_set").to_pylist() == [["v0", "v2"]] * 100
    assert batch.column("_write_ts").to_pylist() == [TS + n for n in range(100)]


def test_others_keep_their_places() -> None:
    table = definition(2, 1)
    key, clustering = [i32(1), i32(2)], [i32(3)]
    others = [
        plain(7, 2, 1, 1),
        plain(7, 2, 1, more=({"origin": 1},)),
        plain(7, 2, 1, more=()),
        plain(7, 2, 1, more=(None, "newer")),
        entry(change(row(0, key, clustering, ts=5, cells=[cell(4, i32(1))]))),
        entry(change(row(0, key, clustering, cells=[cell(6, i32(1)), cell(4, i32(2))]))),
        entry(change(row(0, key, clustering, cells=[cell(5, i32(1))]))),
        entry(change(row(0, key, clustering))),
        entry(change(row(1, key, clustering))),
        entry(change(row(1, key, None, static=True, cells=[cell(3, i32(9))]))),
        entry(change(row(2, key, clustering))),
        entry(change(row(4, key, None), row(0, key, clustering, cells=[cell(4, i32(1))]))),
        entry(change(row(0, key, clustering, ttl=5, expires=6, cells=[cell(4, i32(1), None, 5, 6)]))),
        plain(7, 2, 1, txn=4),
        STATE,
    ]
    chance = random.Random(1)
    payloads = [chance.choice(others) if number % 3 == 2 else plain(number, 2, 1) for number in range(400)]
    found = read(table, payloads)
    assert found is not None
    assert 0 < len(found[0].index.rows) < 200
    payloads[200] = plain(7, 2, 1)[:-9]
    found = read(table, payloads)
    assert found is not None
    assert found[0].index.stopped.entry == 200


def test_columns_behind_the_127th() -> None:
    table = definition(1, 0, 20)
    wide = definition(1, 0, 300)
    payloads = [
        entry(change(row(0, [i32(n)], None, cells=[cell(129, i32(n)), cell(130, b""), cell(200, i32(n))])))
        for n in range(50)
    ]
    # Rows of as many columns are noted so of no table; the lines must be right all the same.
    assert read(wide, payloads) is None
    assert read(table, [entry(change(row(0, [i32(1)], None, cells=[cell(3, i32(1))])))] * 20) is not None


def test_a_value_that_is_none_of_its_type_is_read_again() -> None:
    bad = entry(change(row(0, [b"\1\2\3"], None, cells=[cell(2, i32(1)), cell(4, i32(1))])))
    good = [plain(number, 1, 0) for number in range(20)]
    assert read(definition(1, 0), [*good, bad, *good]) is None
    assert read(definition(1, 0), good + good) is not None


def test_kinds_are_told_alike() -> None:
    from tailer.scan.record.compiled.kinds import kinds_of
    from tailer.scan.record.kinds import plain_kinds

    usual = plain(1, 1, 0)
    payloads = [usual, plain(2, 1, 0, txn=5), STATE, b"\x92\xcc\x80" + bytes(9), bytes(10), usual[:20], usual[:31]]
    payloads += [entry([kind, bytes(8)]) for kind in (0, 1, 3, 9, 64, 127)]
    payloads += [usual[:at] + bytes([usual[at] ^ 1]) + usual[at + 1 :] for at in range(40)]
    data, starts, sizes = laid_out(payloads)
    where = np.array(starts), np.array(sizes)
    assert kinds_of(data, *where).tolist() == plain_kinds(data, *where).tolist()
