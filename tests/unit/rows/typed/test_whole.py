"""What the compiled build makes without the plain twin's help: non-frozen columns whole and by element, counters, range
deletions, values with times of their own. And what it leaves."""

from __future__ import annotations

import struct
from typing import Any, NoReturn

import pytest

from tailer.rows.typed.form import form_of
from tailer.rows.typed.plain import build_plain
from tailer.schema.typed import TypedOptions, typed_table
from tests.helpers.logs.model import Bound, Cell, Column, Complex, Deletion, Liveness, Marker, Row, Table, Update
from tests.helpers.logs.wire import i32
from tests.unit.rows.typed.generated import ID, NOW, TS
from tests.unit.rows.typed.reading import same_built
from tests.unit.rows.typed.scanned import definition_of, scanned

fast = pytest.importorskip("tailer.rows.typed.compiled.fast", exc_type=ImportError)

TYPES = {
    "l": "list<text>",
    "s": "set<int>",
    "m": "map<text, frozen<list<int>>>",
    "d": "map<double, int>",
    "u": "point",
    "v": "int",
}
TABLE = Table(
    ID,
    "ks",
    "t",
    (
        Column("k", "partition_key", "int", 0),
        Column("c", "clustering", "int", 0),
        *(Column(name, "regular", text) for name, text in sorted(TYPES.items())),
    ),
)
LIST_ID = ID.bytes
ELEMENTS: dict[str, list[tuple[bytes, bytes]]] = {
    "l": [(LIST_ID, b"a"), (LIST_ID, b"")],
    "s": [(i32(-1), b""), (i32(1), b"")],
    "m": [(b"", i32(0)), (b"b", i32(1) + i32(4) + i32(7))],
    "d": [(bytes(8), i32(1)), (b"\x3f" + bytes(7), b"")],
    "u": [(b"\0\1", b"y")],
}


def whole(name: str, live: Liveness, *, empty: bool = False, before: int = 1) -> tuple[str, Complex]:
    made = [Cell(value, live.ts, live.ttl, live.expires, path=path) for path, value in ELEMENTS[name]]
    return name, Complex(() if empty else tuple(made), Deletion(live.ts - before, NOW))


PLAIN, EXPIRING = Liveness(TS), Liveness(TS, 60, NOW + 60)
NAMES = sorted(ELEMENTS)
ROWS: dict[str, tuple[Liveness | None, list[tuple[str, Any]]]] = {
    "insert": (PLAIN, [whole(name, PLAIN) for name in NAMES]),
    "with a TTL": (EXPIRING, [whole(name, EXPIRING) for name in NAMES]),
    "update": (None, [whole(name, PLAIN) for name in NAMES]),
    "insert of empty ones": (PLAIN, [whole(name, PLAIN, empty=True) for name in NAMES]),
    "update with empty ones": (None, [whole("d", PLAIN, empty=True), whole("l", PLAIN), ("v", Cell(i32(1), TS))]),
    "deletion": (None, [whole(name, PLAIN, empty=True, before=0) for name in NAMES]),
    "empty ones alone": (None, [whole(name, PLAIN, empty=True) for name in NAMES]),
    "an empty one beside a deleted value": (None, [whole("s", PLAIN, empty=True), ("v", Cell(ts=TS, deleted=NOW))]),
    "one of many": (PLAIN, [whole("m", PLAIN)]),
}


def changed(name: str, *, ts: int = TS, ttl: int | None = None) -> tuple[str, Complex]:
    expires = None if ttl is None else NOW + ttl
    return name, Complex(tuple(Cell(value, ts, ttl, expires, path=path) for path, value in ELEMENTS[name]), None)


def removed(name: str, deletion: Deletion | None = None) -> tuple[str, Complex]:
    return name, Complex(tuple(Cell(ts=TS, deleted=NOW, path=path) for path, _ in ELEMENTS[name]), deletion)


BY_ELEMENT: dict[str, tuple[Liveness | None, list[tuple[str, Any]]]] = {
    "put": (None, [changed(name) for name in NAMES]),
    "put with a TTL": (None, [changed(name, ttl=60) for name in NAMES]),
    "put with an insert": (PLAIN, [changed(name) for name in NAMES]),
    "put beside an older value": (None, [changed("l"), ("v", Cell(i32(7), TS - 9))]),
    "put beside a newer value": (None, [changed("l"), changed("s", ts=TS + 1), ("v", Cell(i32(7), TS + 5))]),
    "put beside a value": (None, [changed("m"), ("v", Cell(i32(7), TS))]),
    "removed": (None, [removed(name) for name in NAMES]),
    "put and removed": (None, [("l", Complex((*changed("l")[1].cells, *removed("l")[1].cells), None))]),
    "some whole, some by element": (PLAIN, [changed("d"), whole("l", PLAIN), removed("m"), whole("s", PLAIN)]),
    "older": (PLAIN, [whole("s", Liveness(TS - 5))]),
    "deleted long before": (PLAIN, [whole("s", PLAIN, before=2)]),
    "elements of two times": (PLAIN, [("s", Complex((*whole("s", PLAIN)[1].cells[:1],
        *whole("s", EXPIRING)[1].cells[1:]), Deletion(TS - 1, NOW)))]),
}  # fmt: skip
TIMED: dict[str, tuple[Liveness | None, list[tuple[str, Any]]]] = {
    "an older value": (PLAIN, [("v", Cell(i32(1), TS - 1))]),
    "a value with a TTL": (PLAIN, [("v", Cell(i32(1), TS, 60, NOW + 60))]),
    "a value without the row's TTL": (EXPIRING, [("v", Cell(i32(1), TS))]),
    "a null with a row's TTL": (EXPIRING, [("v", Cell(ts=TS, deleted=NOW))]),
    "an older null": (PLAIN, [("v", Cell(ts=TS - 3, deleted=NOW))]),
}
LEFT: dict[str, tuple[Liveness | None, list[tuple[str, Any]]]] = {
    "removed from a whole one": (None, [removed("s", Deletion(TS - 1, NOW))]),
}


def built(rows: list[tuple[Liveness | None, list[tuple[str, Any]]]], *, alone: bool, patch: pytest.MonkeyPatch) -> None:
    """Both builds give the same. `alone`: the plain twin is not asked."""
    made = [Row((i32(number),), live, None, tuple(cells)) for number, (live, cells) in enumerate(rows)]
    definition = definition_of(TABLE)
    arguments = (*scanned(definition, [(Update(TABLE, i32(1), tuple(made)),)]), form_of(_typed(definition)))
    want = build_plain(*arguments)
    assert len(want.batch) == len(rows)

    def no_help(*_: Any) -> NoReturn:
        raise AssertionError("rows were left to the plain twin")

    if alone:
        patch.setattr(fast, "build_plain", no_help)
    same_built(fast.build_fast(*arguments), want)


def _typed(definition: Any) -> Any:
    return typed_table(definition, [], TypedOptions())


@pytest.mark.parametrize("name", ROWS)
def test_of_one_kind(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    built([ROWS[name]] * 3, alone=True, patch=monkeypatch)


def test_of_all_kinds_together(monkeypatch: pytest.MonkeyPatch) -> None:
    built(list(ROWS.values()), alone=True, patch=monkeypatch)


@pytest.mark.parametrize("name", BY_ELEMENT)
def test_changes_of_elements(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    built([BY_ELEMENT[name]] * 3, alone=True, patch=monkeypatch)


@pytest.mark.parametrize("name", TIMED)
def test_values_with_times_of_their_own(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    built([TIMED[name], ROWS["insert"], TIMED[name]], alone=True, patch=monkeypatch)


def test_between_rows_that_change_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [*ROWS.values(), *BY_ELEMENT.values(), *TIMED.values(), *ROWS.values()]
    built(rows, alone=True, patch=monkeypatch)


def test_between_rows_that_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    built([*BY_ELEMENT.values(), *LEFT.values(), *BY_ELEMENT.values()], alone=False, patch=monkeypatch)


def unaided(patch: pytest.MonkeyPatch, table: Table, updates: list[tuple[Update, ...]]) -> Any:
    """The rows, which both builds give, and the compiled one alone."""
    definition = definition_of(table)
    arguments = (*scanned(definition, updates), form_of(_typed(definition)))
    want = build_plain(*arguments)

    def no_help(*_: Any) -> NoReturn:
        raise AssertionError("rows were left to the plain twin")

    patch.setattr(fast, "build_plain", no_help)
    same_built(fast.build_fast(*arguments), want)
    return want.batch.batch


def test_range_deletions(monkeypatch: pytest.MonkeyPatch) -> None:
    older, newer = (Deletion(TS, NOW),), (Deletion(TS + 4, NOW),)
    between = Row((i32(3),), PLAIN, None, (("v", Cell(i32(1), TS)),))
    lines: list[Row | Marker] = [
        Marker(Bound.INCL_START, (i32(1),), older), Marker(Bound.EXCL_END, (i32(2),), older),
        Marker(Bound.EXCL_START, (i32(2),), older), between,
        Marker(Bound.INCL_END_EXCL_START, (i32(4),), older + newer), Marker(Bound.INCL_END, (), newer),
    ]  # fmt: skip
    rows = unaided(monkeypatch, TABLE, [(Update(TABLE, i32(1), tuple(lines)),)] * 3)
    assert rows.column("_op").to_pylist() == ["delete_range", "delete_range", "insert", "delete_range"] * 3
    assert rows.column("_write_ts").to_pylist() == [TS, TS, TS, TS + 4] * 3
    assert rows.column("_range").to_pylist()[:4] == [
        '{"start":{"c":1},"start_inclusive":true,"end":{"c":2},"end_inclusive":false}',
        '{"start":{"c":2},"start_inclusive":false,"end":{"c":4},"end_inclusive":true}',
        None,
        '{"start":{"c":4},"start_inclusive":false,"end":null,"end_inclusive":true}',
    ]


def test_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = (
        Column("k", "partition_key", "int", 0),
        Column("a", "regular", "counter"),
        Column("b", "regular", "counter"),
    )
    table = Table(ID, "ks", "t", columns)
    shard = struct.pack(">16sqq", ID.bytes, 7, 40)
    held = struct.pack(">hh", 1, 1 - 2**15) + shard + struct.pack(">16sqq", ID.bytes, 8, -2)
    rows = [(("a", Cell(held, TS)),), (("a", Cell(ts=TS, deleted=NOW)), ("b", Cell(held, TS)))]
    updates = [(Update(table, i32(number), (Row((), None, None, rows[number % 2]),)),) for number in range(6)]
    made = unaided(monkeypatch, table, updates)
    assert made.column("a").to_pylist() == [38, None] * 3
    assert made.column("b").to_pylist() == [None, 38] * 3
    name = '{"shard":"11111111-2222-11ee-8888-0123456789ab","kind":'
    text = f'[{name}"remote","clock":7,"total":40}},{name}"global","clock":8,"total":-2}}]'
    assert made.column("_deltas").to_pylist() == [f'{{"a":{text}}}', f'{{"a":null,"b":{text}}}'] * 3


def test_texts_that_need_more_room(monkeypatch: pytest.MonkeyPatch) -> None:
    elements = [Cell(b"\1" * 5000, TS, path=LIST_ID) for _ in range(4)]
    row = PLAIN, [("l", Complex(tuple(elements), Deletion(TS - 1, NOW)))]
    built([row] * 5, alone=True, patch=monkeypatch)


@pytest.mark.parametrize(
    ("column", "path", "value"),
    [
        ("l", b"short", b"a"),
        ("l", LIST_ID, b"\xff"),
        ("s", b"\0", b""),
        ("m", b"a", i32(2) + i32(4) + i32(7)),
        ("u", b"\0\2", b"y"),
        ("u", b"\1", b"y"),
        ("u", b"\0\0", b"y"),
    ],
)
def test_elements_that_are_none(column: str, path: bytes, value: bytes) -> None:
    good = Row((i32(0),), PLAIN, None, (whole("l", PLAIN),))
    cells = Complex((Cell(value, TS, path=path),), Deletion(TS - 1, NOW))
    bad = Row((i32(1),), PLAIN, None, ((column, cells),))
    definition = definition_of(TABLE)
    updates = [(Update(TABLE, i32(1), (row,)),) for row in (good, bad, good)]
    arguments = (*scanned(definition, updates), form_of(_typed(definition)))
    want = build_plain(*arguments)
    assert [fault.entry for fault in want.faults] == [1]
    same_built(fast.build_fast(*arguments), want)


def test_two_keys_of_one_value() -> None:
    pairs = [(bytes(8), i32(1)), (b"\x80" + bytes(7), i32(2))]
    cells = Complex(tuple(Cell(value, TS, path=path) for path, value in pairs), Deletion(TS - 1, NOW))
    definition = definition_of(TABLE)
    updates = [(Update(TABLE, i32(1), (Row((i32(1),), PLAIN, None, (("d", cells),)),)),)]
    arguments = (*scanned(definition, updates), form_of(_typed(definition)))
    want = build_plain(*arguments)
    assert [fault.entry for fault in want.faults] == [0]
    same_built(fast.build_fast(*arguments), want)
