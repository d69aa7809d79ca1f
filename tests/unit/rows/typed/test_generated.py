"""Over tables, values and mutations at random both builds give the same; so they do over bytes that are no values."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailer.rows.typed.form import form_of
from tailer.rows.typed.lines import fast_lines, plain_lines
from tailer.rows.typed.plain import build_plain
from tailer.schema.model import TableDefinition
from tailer.schema.typed import TypedOptions, TypedTable, typed_table
from tests.helpers.logs.model import Table, Update
from tests.unit.rows.typed.generated import tables, updates
from tests.unit.rows.typed.reading import same_built
from tests.unit.rows.typed.scanned import definition_of, scanned

pytestmark = pytest.mark.slow

fast = pytest.importorskip("tailer.rows.typed.compiled.fast", exc_type=ImportError)

FEWER = max(settings.default.max_examples // 4, 1)


def check(form: TypedTable, arguments: tuple[Any, ...]) -> None:
    ready = form_of(form)
    want = build_plain(*arguments, ready)
    same_built(fast.build_fast(*arguments, ready), want)
    batch = want.batch.batch
    for rows in (batch, batch.slice(1), batch.slice(0, 1)):
        assert fast_lines(ready, rows) == plain_lines(ready, rows)


@st.composite
def logs(draw: st.DrawFn, *, counters: bool = False) -> tuple[Table, list[tuple[Update, ...]]]:
    table = draw(tables(counters=counters))
    mutations = draw(st.lists(st.lists(updates(table), min_size=1, max_size=2).map(tuple), min_size=1, max_size=8))
    return table, mutations


@settings(max_examples=FEWER)
@given(logs(), st.sampled_from(["decimal", "string"]))
def test_both_builds_give_the_same(
    log: tuple[Table, list[tuple[Update, ...]]], decimals: Literal["decimal", "string"]
) -> None:
    table, mutations = log
    definition = definition_of(table)
    form = typed_table(definition, [], TypedOptions(decimals=decimals))
    check(form, scanned(definition, mutations))


@settings(max_examples=FEWER)
@given(logs(counters=True))
def test_of_counters_too(log: tuple[Table, list[tuple[Update, ...]]]) -> None:
    table, mutations = log
    definition = definition_of(table)
    check(typed_table(definition, [], TypedOptions()), scanned(definition, mutations))


@settings(max_examples=FEWER)
@given(logs(), st.sampled_from(["fail", "ignore"]), st.data())
def test_with_columns_that_the_form_has_not(
    log: tuple[Table, list[tuple[Update, ...]]], on_change: Literal["fail", "ignore"], data: st.DataObject
) -> None:
    table, mutations = log
    definition = definition_of(table)
    kept = [column for column in definition.columns if column.kind in ("partition_key", "clustering")]
    kept += [column for column in definition.data_columns if data.draw(st.booleans())]
    older = TableDefinition(definition.id, "ks", "t", tuple(kept), cdc=True, types=definition.types)
    check(typed_table(older, [], TypedOptions(on_change=on_change)), scanned(definition, mutations))
