"""Rows with columns that no log has: behind all others, the same by both twins, in Arrow and JSON lines, both forms."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailer.rows.choice import AnyBatch
from tailer.rows.generic.build import build as plain_generic
from tailer.rows.typed.form import form_of
from tailer.rows.typed.plain import build_plain
from tailer.rows.widened import WidenedBatch, widened
from tailer.schema.extras import NO_EXTRAS, Extras, Origin
from tailer.schema.ring import TOKEN_MIN, Primaries
from tailer.schema.typed import TypedOptions, typed_table
from tailer.sinks.arrow import schema_of
from tests.helpers.logs.model import Table, Update
from tests.unit.rows.typed.generated import tables, updates
from tests.unit.rows.typed.scanned import definition_of, scanned
from tests.unit.scan.compiled.twins import compiled_only

FEWER = max(settings.default.max_examples // 4, 1)
ORIGIN = Origin('sh"op', "dc1", "r\n1")
SOME = Primaries({"ks": 0}, (((TOKEN_MIN, -(2**61)), (0, 2**62)),))
EVERY = [
    Extras(ORIGIN),
    Extras(primary=True),
    Extras(ORIGIN, True),
    Extras(ORIGIN, True, "primary"),
    Extras(replicas="primary"),
]
Log = tuple[Table, list[tuple[Update, ...]]]


@st.composite
def logs(draw: st.DrawFn) -> Log:
    table = draw(tables())
    return table, draw(st.lists(st.lists(updates(table), min_size=1, max_size=2).map(tuple), min_size=1, max_size=8))


def made(log: Log, twin: str, form: str) -> AnyBatch:
    table, mutations = log
    what = scanned(definition_of(table), mutations)
    typed = form_of(typed_table(definition_of(table), (), TypedOptions(prefix="m_")))
    if twin == "plain":
        batch: AnyBatch = plain_generic(*what).batch if form == "generic" else build_plain(*what, typed).batch
        return batch
    from tailer.rows.generic.compiled.build import build
    from tailer.rows.typed.compiled.fast import build_fast

    fast: AnyBatch = build(*what).batch if form == "generic" else build_fast(*what, typed).batch
    return fast


def is_first(token: int | None) -> bool | None:
    return None if token is None else token <= -(2**61) or 0 < token <= 2**62


def expected(alone: AnyBatch, extras: Extras, prefix: str) -> list[dict[str, Any]]:
    """The lines by hand: all columns of the row, then those that were asked for."""
    rows = []
    for line in alone.json_lines().split(b"\n")[:-1]:
        row = json.loads(line)
        first = is_first(row[f"{prefix}token"])
        if extras.replicas == "primary" and first is False:
            continue
        if extras.origin is not None:
            row |= {f"{prefix}cluster": 'sh"op', f"{prefix}dc": "dc1", f"{prefix}rack": "r\n1"}
        rows.append(row | ({f"{prefix}primary": first} if extras.primary else {}))
    return rows


def check(alone: AnyBatch, extras: Extras, prefix: str) -> None:
    batch = widened(alone, extras, SOME)
    wanted = expected(alone, extras, prefix)
    lines = [json.loads(line) for line in batch.json_lines().split(b"\n")[:-1]]
    assert lines == wanted
    assert [list(line) for line in lines] == [list(row) for row in wanted]
    arrow = batch.to_arrow()
    arrow.validate(full=True)
    assert arrow.schema.names[len(alone.to_arrow().schema.names) :] == [prefix + name for name in extras.columns]
    for name in extras.columns:
        column = [row[prefix + name] for row in wanted]
        assert arrow.column(prefix + name).to_pylist() == column
        assert list(batch.column(name)) == column
    assert len(batch) == sum(batch.kinds().values()) == sum(batch.rows_by_table().values()) == len(wanted)
    for start, stop in ((0, 1), (1, None), (2, 1)):
        assert (
            batch.slice(start, stop)
            .to_arrow()
            .equals(arrow.slice(start)[: None if stop is None else max(stop - start, 0)])
        )


@pytest.mark.parametrize("form", ["generic", "typed"])
@settings(max_examples=FEWER, deadline=None)
@given(log=logs(), extras=st.sampled_from(EVERY))
def test_of_the_plain_twin(form: str, log: Log, extras: Extras) -> None:
    check(made(log, "plain", form), extras, "m_" if form == "typed" else "")


@compiled_only
@pytest.mark.parametrize("form", ["generic", "typed"])
@settings(max_examples=FEWER, deadline=None)
@given(log=logs(), extras=st.sampled_from(EVERY))
def test_both_twins_give_the_same(form: str, log: Log, extras: Extras) -> None:
    plain, fast = (widened(made(log, twin, form), extras, SOME) for twin in ("plain", "compiled"))
    assert plain.json_lines() == fast.json_lines()
    assert plain.to_arrow().equals(fast.to_arrow())


@given(log=logs())
def test_what_nobody_can_tell_stays(log: Log) -> None:
    alone = made(log, "plain", "generic")
    for ring in (None, Primaries(), Primaries({"other": 0}, ((),))):
        batch = widened(alone, Extras(primary=True, replicas="primary"), ring)
        assert list(batch.column("primary")) == [None] * len(alone)
    assert len(widened(alone, Extras(replicas="primary"), Primaries({"ks": 0}, ((),)))) == 0
    assert widened(alone, NO_EXTRAS, SOME) is alone
    assert not isinstance(widened(alone, Extras(replicas="primary"), SOME), WidenedBatch)


def test_the_schema_says_the_same_before_there_is_a_row() -> None:
    names = Extras(ORIGIN, True).columns
    assert names == ("cluster", "dc", "rack", "primary")
    assert schema_of(None, names).names[-4:] == list(names)
    assert [str(schema_of(None, names).field(name).type) for name in names] == ["string"] * 3 + ["bool"]
