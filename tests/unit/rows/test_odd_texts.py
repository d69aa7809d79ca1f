"""Texts that Cassandra accepts and UTF-8 refuses, by both twins of both forms: expected texts are written by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tailer.errors import OddKeyError
from tailer.reading.replaced_texts import replaced_texts
from tailer.rows.choice import Decoded, Made
from tailer.rows.explain import explain_value
from tailer.rows.prepared import prepare
from tailer.rows.typed.batch import TypedBuilt
from tailer.rows.typed.form import form_of
from tailer.rows.typed.plain import build_plain
from tailer.schema.typed import TypedOptions, typed_table
from tests.helpers.odd_texts import BYTES, KEYS, MARKED, READ, TABLE, insert
from tests.unit.rows.twins import COMPILED, build_both
from tests.unit.rows.typed.scanned import Scanned, definition_of, scanned

DEFINITION = definition_of(TABLE)
MARKED_KEY = "cdc-tail-bytes:" + MARKED.hex()
TEXTS = {**dict(zip(BYTES, zip(KEYS, READ, strict=True), strict=True)), MARKED: (MARKED_KEY, MARKED.decode())}
"""By its bytes a text's key and its value."""

TIMES = 5
"""So that there is enough for compiled code."""

MANY = [text for _ in range(TIMES) for text in (b"a", *TEXTS)]
PLAIN = {b"a": ("a", "a")}


def many() -> Scanned:
    return scanned(DEFINITION, [(insert(text),) for text in MANY])


def strict(made: Scanned) -> Scanned:
    prepared = prepare({DEFINITION.id: DEFINITION}, [DEFINITION.id], strict_keys=True)
    return made[0], made[1], prepared, made[3]


def typed(made: Scanned) -> TypedBuilt:
    """By both twins."""
    form = form_of(typed_table(DEFINITION, [], TypedOptions()))
    plain = build_plain(*made, form)
    if COMPILED:
        from tailer.rows.typed.compiled.fast import build_fast

        fast = build_fast(*made, form)
        assert fast.batch.to_arrow().equals(plain.batch.to_arrow())
        assert fast.faults == plain.faults
    return plain


def test_generic_rows() -> None:
    built = build_both(*many())
    assert built.faults == []
    lines = [json.loads(line) for line in built.batch.json_lines().splitlines()]
    for row, text in zip(lines, MANY, strict=True):
        key, value = {**TEXTS, **PLAIN}[text]
        columns = row["columns"]
        assert (row["partition_key"], row["clustering"]) == ({"k": key}, {"c": key})
        assert (columns["v"], columns["s"]["put"], columns["m"]["put"]) == (value, [key], {key: value})
        assert (columns["l"]["put"][0][1], columns["f"]) == (value, {key: [value]})


def test_typed_rows() -> None:
    rows = typed(many()).batch.to_arrow().to_pylist()
    for row, text in zip(rows, MANY, strict=True):
        key, value = {**TEXTS, **PLAIN}[text]
        assert (row["k"], row["c"], row["v"], row["l"], row["s"]) == (key, key, value, [value], [key])
        assert (row["m"], row["f"]) == ([(key, value)], [(key, [value])])


def test_with_strict_keys_the_entries_are_faults_of_their_own() -> None:
    built = build_both(*strict(many()))
    odd = [number for number, text in enumerate(MANY) if text in BYTES[1:3]]
    assert [fault.entry for fault in built.faults] == odd
    assert all(fault.odd_key for fault in built.faults)
    assert isinstance(explain_value(built.faults[0], many()[3]), OddKeyError)
    assert [fault.entry for fault in typed(strict(many())).faults] == odd


def test_with_strict_keys_an_odd_value_is_none_of_them() -> None:
    made = scanned(DEFINITION, [(replace(insert(BYTES[2], b"k"), unfiltereds=(insert_value(BYTES[2]),)),)])
    assert build_both(*strict(made)).faults == []


def insert_value(text: bytes) -> object:
    """A row that has the text in its value alone."""
    row = insert(text, b"k").unfiltereds[0]
    return replace(row, cells=tuple(cell for cell in row.cells if cell[0] in ("v", "l")))  # type: ignore[union-attr]


@pytest.mark.parametrize("form", ["generic", "typed"])
def test_what_is_no_character_is_counted(form: str) -> None:
    made = many()
    built = build_both(*made) if form == "generic" else typed(made)
    decoded = Decoded(made[0], made[1], Made(*built[:2]))
    expected = {("ks.odd", column): TIMES for column in ("v", "l", "m", "f")}
    assert replaced_texts(decoded, made[2]) == expected
