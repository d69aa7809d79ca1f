"""Rows that assign non-frozen columns whole are made by the compiled build, without the plain twin's help."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest

from tailer.rows.typed.form import form_of
from tailer.rows.typed.plain import build_plain
from tailer.schema.typed import TypedOptions, typed_table
from tests.helpers.logs.model import Cell, Column, Complex, Deletion, Liveness, Row, Table, Update
from tests.helpers.logs.wire import i32
from tests.unit.rows.typed.generated import ID, NOW, TS
from tests.unit.rows.typed.reading import same_built
from tests.unit.rows.typed.test_generated import definition_of, scanned

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
BY_ELEMENT: dict[str, tuple[Liveness | None, list[tuple[str, Any]]]] = {
    "put": (None, [("s", Complex((Cell(b"", TS, path=i32(1)),), None))]),
    "removed": (None, [("s", Complex((Cell(ts=TS, deleted=NOW, path=i32(1)),), None))]),
    "older": (PLAIN, [whole("s", Liveness(TS - 5))]),
    "deleted long before": (PLAIN, [whole("s", PLAIN, before=2)]),
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


def test_between_rows_that_change_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    built([*ROWS.values(), *BY_ELEMENT.values(), *ROWS.values()], alone=False, patch=monkeypatch)


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
