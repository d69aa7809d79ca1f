"""Rows of a column that was dropped and added again with another type: both twins, each value in its own column."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from tailer.rows.typed.form import form_of
from tailer.rows.typed.plain import build_plain
from tailer.schema.model import Column, TableDefinition
from tailer.schema.typed import TypedOptions, typed_table
from tests.helpers.log_writer import TS, Cell, Liveness, Row, Update, i32, simple_table
from tests.helpers.logs.model import Column as LogColumn
from tests.unit.rows.typed.reading import same_built
from tests.unit.rows.typed.scanned import scanned

fast = pytest.importorskip("tailer.rows.typed.compiled.fast", exc_type=ImportError)


@pytest.mark.parametrize(("before", "after"), [("text", "blob"), ("int", "blob"), ("bigint", "timestamp")])
def test_each_value_is_in_the_column_of_its_own_type(before: str, after: str) -> None:
    log = simple_table("ks", "t")
    key, clustering, _ = log.columns
    columns = (Column("pk", "partition_key", "int", 0), Column("ck", "clustering", "text", 0))
    first = TableDefinition(log.id.hex, "ks", "t", (*columns, Column("v", "regular", before)), cdc=True)
    second = msgspec.structs.replace(first, columns=(*columns, Column("v", "regular", after, dropped_time=5)))
    typed = typed_table(second, [first, second], TypedOptions())
    form = form_of(typed)
    value = {"text": b"yes!", "int": i32(7), "bigint": (7).to_bytes(8, "big")}[before]
    shown = {"text": "yes!", "int": 7, "bigint": 7}[before]
    for definition, type_, own, other in (
        (first, before, f"v_dropped_{before}", "v"),
        (second, after, "v", f"v_dropped_{before}"),
    ):
        table = replace(log, columns=(key, clustering, LogColumn("v", "regular", type_)))
        row = Row((b"a",), Liveness(TS), None, (("v", Cell(value, TS, like_row=1)),))
        arguments = scanned(typed.renamed(definition), [(Update(table, i32(1), (row,)),)])
        built = build_plain(*arguments, form)
        same_built(fast.build_fast(*arguments, form), built)
        (found,) = built.batch.batch.to_pylist()
        assert (found["pk"], found["ck"], found[other], found["_set"]) == (1, "a", None, [own])
        if definition is first:
            assert found[own] == shown
        else:
            assert found[own] is not None
