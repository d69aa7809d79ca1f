"""Many columns of which each row sets few: both builds give the same."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.schema.model import TableDefinition
from tailer.schema.typed import TypedOptions, typed_table
from tests.helpers.logs.model import Bound, Cell, Column, Complex, Deletion, Liveness, Marker, Row, Table, Update
from tests.helpers.logs.mutation import encode_mutation
from tests.helpers.logs.wire import i32
from tests.unit.rows.typed.generated import (
    ID,
    NOW,
    SCALARS,
    TS,
    cells,
    column_types,
    complexes,
    frozen_types,
    kind_of,
    own_cells,
    values,
)
from tests.unit.rows.typed.scanned import definition_of, scanned
from tests.unit.rows.typed.test_generated import check
from tests.unit.rows.typed.test_one_row import read
from tests.unit.scan.compiled.twins import compiled_only

pytestmark = pytest.mark.slow

sparse_arrays = pytest.importorskip("tailer.rows.typed.compiled.sparse_arrays", exc_type=ImportError)

LIVE = Liveness(TS)


@st.composite
def logs(draw: st.DrawFn) -> tuple[Table, list[tuple[Update, ...]]]:
    keys = [Column("k0", "partition_key", "text", 0), Column("k1", "partition_key", "int", 1)][
        : draw(st.integers(1, 2))
    ]
    clustering = [Column("c", "clustering", "text", 0)][: draw(st.integers(0, 1))]
    types = [*SCALARS, *draw(st.lists(draw(st.sampled_from([frozen_types, column_types])), min_size=1, max_size=9))]
    columns = [Column(f"v{number:02}", "regular", text, -1) for number, text in enumerate(types)]
    table = Table(ID, "ks", "t", (*keys, *clustering, *columns))
    mutations: list[tuple[Update, ...]] = []
    for number in range(draw(st.integers(8, 24))):
        live = draw(st.sampled_from([LIVE, LIVE, LIVE, Liveness(TS, 60, NOW + 60), None]))
        chosen = draw(st.lists(st.sampled_from(columns), min_size=int(live is None), max_size=3, unique=True))
        held: list[tuple[str, Cell | Complex]] = []
        for column in sorted(chosen, key=lambda column: column.name):
            kind = kind_of(column.type)
            if kind.complex:
                held.append((column.name, draw(complexes(kind, live))))
            else:
                make = draw(st.sampled_from([own_cells, own_cells, own_cells, cells]))
                held.append((column.name, draw(make(values(kind, whole=True), live, None))))
        deletion = None if held else draw(st.sampled_from([None, Deletion(TS - 1, NOW)]))
        names = [draw(st.sampled_from([b"a", b"bc", b"\xff"])) for _ in clustering]
        row = Row(tuple(names), live if deletion is None else None, deletion, tuple(held))
        text = b"key %d" % draw(st.integers(0, number))
        key = text if len(keys) == 1 else len(text).to_bytes(2, "big") + text + b"\0\0\4" + i32(number) + b"\0"
        gone = draw(st.sampled_from([None] * 9 + [Deletion(TS, NOW)]))
        mutations.append((Update(table, key, (row,), None, gone),))
    return table, mutations


@given(logs(), st.booleans())
def test_wide_rows(log: tuple[Table, list[tuple[Update, ...]]], has_all: bool) -> None:
    table, mutations = log
    definition = definition_of(table)
    options = TypedOptions(decimals="string", on_change="ignore")
    form = typed_table(definition if has_all else _without_one(definition), [], options)
    check(form, scanned(definition, mutations))


def _without_one(definition: TableDefinition) -> TableDefinition:
    kept = tuple(column for column in definition.columns if column.name != "v03")
    return TableDefinition(definition.id, "ks", "t", kept, cdc=True, types=definition.types)


def test_texts_that_are_none_among_few() -> None:
    columns = [Column(f"v{number}", "regular", kind, -1) for number, kind in enumerate(["text", "ascii"] * 20)]
    table = Table(ID, "ks", "t", (Column("k", "partition_key", "int", 0), *columns))
    held = ["é".encode(), b"\xff", b"", b"a", b"\xc3", "ü€".encode()]
    mutations = []
    for number in range(60):
        cell = Cell(held[number % len(held)], TS)
        row = Row((), LIVE, None, ((f"v{number * 7 % 40}", cell),))
        mutations.append((Update(table, number.to_bytes(4, "big"), (row,)),))
    definition = definition_of(table)
    check(typed_table(definition, [], TypedOptions()), scanned(definition, mutations))


@compiled_only
@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.sampled_from([1, 9, 40]))
def test_rows_that_set_all_columns_are_noted(shapes: list[int], columns: int) -> None:
    """Whole rows, with a TTL or not, among rows that set one column, or change elements of another."""
    kinds = ["int", "text", "boolean", "bigint"]
    own = [Column(f"v{number:02}", "regular", kinds[number % 4], -1) for number in range(columns)]
    table = Table(
        ID, "ks", "t", (Column("k", "partition_key", "int", 0), *own, Column("w", "regular", "list<int>", -1))
    )
    held = [i32(7), b"text", b"\1", bytes(8)]
    payloads = []
    for number, shape in enumerate([0, *shapes]):
        live = Liveness(TS, 60, NOW + 60) if shape == 1 else LIVE
        like = 2 if shape == 1 else 1
        cells = [(c.name, Cell(held[n % 4], TS, live.ttl, live.expires, like_row=like)) for n, c in enumerate(own)]
        row = Row((), live, None, tuple(cells))
        if shape == 2:
            row = Row((), LIVE, None, (cells[number % columns],))
        elif shape == 3:
            appended = Complex((Cell(i32(number), TS, path=bytes(16)),), None)
            row = Row((), None, None, (("w", appended),))
        payloads.append(encode_mutation((Update(table, i32(number), (row,)),)))
    found = read(payloads, definition_of(table))
    assert found is not None
    assert len(found[0].rows) <= len(shapes)
    assert len(found[1].batch) == len(payloads)


@compiled_only
@pytest.mark.parametrize("small", [0, 2000])
def test_few_whole_rows_do_not_speak_for_many_small_ones(small: int) -> None:
    """Room by the column for each entry would be many times the bytes of the log."""
    columns = [Column(f"v{number:02}", "regular", "int", -1) for number in range(60)]
    table = Table(ID, "ks", "t", (Column("k", "partition_key", "int", 0), *columns))

    def payload(count: int) -> bytes:
        cells = tuple((column.name, Cell(i32(7), TS, like_row=1)) for column in columns[:count])
        return encode_mutation((Update(table, i32(1), (Row((), LIVE, None, cells),)),))

    found = read([payload(60)] * 20 + [payload(1)] * small, definition_of(table))
    assert (found is None) == (small > 0)


def read_range_deletions() -> None:
    """Few columns set per row, and before each row the deletion of a range: two lines of the index, one row."""
    columns = [Column(f"v{number:02}", "regular", "int", -1) for number in range(40)]
    keys = (Column("k", "partition_key", "int", 0), Column("c", "clustering", "int", 0))
    table = Table(ID, "ks", "t", (*keys, *columns))
    gone = (Deletion(TS - 1, NOW),)
    markers = Marker(Bound.INCL_START, (i32(1),), gone), Marker(Bound.INCL_END, (i32(5),), gone)
    mutations: list[tuple[Update, ...]] = []
    for number in range(50):
        row = Row((i32(number),), LIVE, None, ((f"v{number % 40:02}", Cell(i32(number), TS, like_row=1)),))
        mutations += [(Update(table, i32(number), made),) for made in (markers, (row,))]
    definition = definition_of(table)
    check(typed_table(definition, [], TypedOptions()), scanned(definition, mutations))


@compiled_only
@pytest.mark.skipif(shutil.which("gcc") is None, reason="guarded arrays need gcc")
def test_range_deletions_among_rows_with_few_values() -> None:
    """No kernel goes beyond an array: in a process where the page behind each array may not be touched."""
    code = (
        "from tests.helpers.guarded_arrays import install; install()\n"
        "from tests.unit.rows.typed.test_wide import read_range_deletions; read_range_deletions()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
