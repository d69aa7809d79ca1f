"""Messages of generated rows: what their JSON says is what a plain model says; both forms of a row give the same."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tailer.rows.typed.form import form_of
from tailer.schema.typed import META, TypedColumn, TypedTable
from tailer.sinks.envelope.envelope import Envelope
from tailer.sinks.envelope.options import EnvelopeOptions
from tests.helpers.amount import examples
from tests.unit.sinks.envelope.made import AT
from tests.unit.sinks.rows import ORDINARY, batch, row
from tests.unit.sinks.tables import table

TABLES = table(state="text", n="bigint", ok="boolean", tags="set<text>")
TYPED = TypedTable(
    "shop.orders",
    (
        TypedColumn("id", "partition_key", "int"),
        TypedColumn("at", "clustering", "text"),
        TypedColumn("n", "regular", "bigint"),
        TypedColumn("ok", "regular", "boolean"),
        TypedColumn("state", "regular", "text"),
        TypedColumn("tags", "regular", "set<text>"),
    ),
)
_letters = st.characters(min_codepoint=0x20, exclude_categories=["Cs"])
"""The server spells control characters in its own way; other tests have them."""
PLAIN = {"n": st.integers(-(2**63), 2**63 - 1), "ok": st.booleans(), "state": st.text(_letters)}

RANGE = {"start": {"at": "a"}, "start_inclusive": True, "end": None, "end_inclusive": True}

_words = st.lists(st.text(_letters, max_size=3), max_size=3, unique=True)
_element_change = st.fixed_dictionaries({"replaced": st.booleans()}, optional={"put": _words, "removed": _words})


@st.composite
def changes(draw: st.DrawFn) -> dict[str, Any]:
    """One change: what it set by column, and of which kind it is."""
    op = draw(st.sampled_from(["insert", "update", "delete_row", "delete_range", "delete_partition", "truncate"]))
    change: dict[str, Any] = {
        "op": op,
        "id": draw(st.integers(-(2**31), 2**31 - 1)),
        "at": draw(st.text(_letters, max_size=5)),
    }
    if op in ("insert", "update"):
        names = draw(st.permutations([*PLAIN, "tags"]))[: draw(st.integers(0, 4))]
        values = {name: draw(st.none() | PLAIN.get(name, _element_change)) for name in names}
        change["columns"] = {name: _without_empty(value) for name, value in values.items()}
    change |= {name: draw(st.none() | st.integers(0, 2**31 - 1)) for name in ("ttl", "expires_at")}
    change["write_ts"] = draw(st.integers(-(2**63), 2**63 - 1))
    change["txn"] = draw(st.none() | st.text(_letters, max_size=3))
    return change


def _without_empty(value: Any) -> Any:
    """`put` and `removed` are absent where there are none."""
    return {name: part for name, part in value.items() if part != []} if isinstance(value, dict) else value


def compact(value: Any) -> str | None:
    return None if value is None else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def generic(change: dict[str, Any]) -> tuple[Any, ...]:
    alone = change["op"] in ("insert", "update", "delete_row")
    known = {name: change[name] for name in ("op", "ttl", "expires_at", "write_ts", "txn")}
    return row(
        **known,
        partition_key=None if change["op"] == "truncate" else compact({"id": change["id"]}),
        clustering=compact({"at": change["at"]}) if alone else None,
        columns=compact(change.get("columns")),
        range=_range(change),
    )


def _range(change: dict[str, Any]) -> str | None:
    return compact(RANGE) if change["op"] == "delete_range" else None


def typed(changed: list[dict[str, Any]]) -> pa.RecordBatch:
    schema = form_of(TYPED).schema
    columns: dict[str, list[Any]] = {name: [] for name in schema.names}
    for change in changed:
        told = {**ORDINARY, **change, **_typed_row(change)}
        for name in schema.names:
            columns[name].append(told.get(name.removeprefix("_") if name[1:] in META else name))
    return pa.RecordBatch.from_pydict(columns, schema=schema)


def _typed_row(change: dict[str, Any]) -> dict[str, Any]:
    written = change.get("columns") or {}
    tags = written.get("tags")
    by_element = isinstance(tags, dict) and not tags["replaced"]
    own = {name: value for name, value in written.items() if name != "tags"}
    own["tags"] = tags.get("put") if isinstance(tags, dict) and not by_element else None
    whole = change["op"] in ("insert", "update", "delete_row")
    return {
        **dict.fromkeys(PLAIN), **own, "id": None if change["op"] == "truncate" else change["id"],
        "at": change["at"] if whole else None, "range": _range(change), "cells": None, "attrs": None,
        "is_static": False,
        "set": [name for name in written if name != "tags" or not by_element] if "columns" in change else None,
        "deltas": compact({"tags": tags}) if "tags" in written else None,
    }  # fmt: skip


def model(change: dict[str, Any]) -> dict[str, Any]:
    """The message as the page says it is."""
    op = change["op"]
    key = {"id": change["id"], "at": change["at"]}
    after = None
    if op in ("insert", "update"):
        after = dict(key)
        for name, value in change["columns"].items():
            if name == "tags" and isinstance(value, dict):
                if value["replaced"]:
                    after[name] = value.get("put")
            else:
                after[name] = value
    source: dict[str, Any] = {
        "connector": "cdc-tail", "name": "cdc-tail", "ts_ms": change["write_ts"] // 1000, "ts_us": change["write_ts"],
        **{name: ORDINARY[name] for name in ("keyspace", "table", "node", "segment", "offset", "event_id")},
        "partial": True,
        **({} if after is None else {"set": [name for name in after if name not in key]}),
        **{name: change[name] for name in ("ttl", "expires_at") if change[name] is not None},
    }  # fmt: skip
    if "tags" in (change.get("columns") or {}):
        source["deltas"] = {"tags": change["columns"]["tags"]}
    if op == "delete_range":
        source["range"] = RANGE
    if change["txn"] is not None:
        source["txn"] = change["txn"]
    letter = {"insert": "c", "update": "u", "delete_row": "d", "truncate": "t"}.get(op, op)
    return {"before": key if op == "delete_row" else None, "after": after, "source": source, "op": letter, "ts_ms": AT}


@given(st.lists(changes(), min_size=1, max_size=6))
@settings(max_examples=examples(200), deadline=None)
def test_messages_are_what_the_page_says(changed: list[dict[str, Any]]) -> None:
    made = list(Envelope(EnvelopeOptions("debezium"), TABLES).messages(batch(*map(generic, changed)).to_arrow(), AT))
    for change, message in zip(changed, made, strict=True):
        told = json.loads(message.value or b"")
        version = told["source"].pop("version")
        assert version
        # As lists, for the order of names counts too.
        assert json.dumps(told) == json.dumps(model(change))
        expected = None if change["op"] == "truncate" else {"id": change["id"]}
        if expected and change["op"] in ("insert", "update", "delete_row"):
            expected["at"] = change["at"]
        assert message.key == (None if expected is None else (compact(expected) or "").encode())


@given(st.lists(changes(), min_size=1, max_size=6), st.sampled_from(["debezium", "debezium-cassandra"]), st.booleans())
@settings(max_examples=examples(200), deadline=None)
def test_both_forms_of_a_row_give_the_same_message(changed: list[dict[str, Any]], form: str, with_schema: bool) -> None:
    options = EnvelopeOptions(form, tombstones=True, with_schema=with_schema and form == "debezium")
    of_generic = Envelope(options, TABLES).messages(batch(*map(generic, changed)).to_arrow(), AT)
    of_typed = Envelope(options, TABLES, TYPED).messages(typed(changed), AT)
    assert list(of_typed) == list(of_generic)
