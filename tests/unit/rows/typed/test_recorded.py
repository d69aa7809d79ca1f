"""Every table of every recorded folder: typed rows are those that follow from the server's view, in both builds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import FreshFolder
from tests.helpers.sets import FRAMED, PLAIN, STAGES, Place, key_options
from tests.oracle import Row, expected, recording
from tests.oracle.cqltypes import Type
from tests.oracle.jsontext import equal, ordered
from tests.oracle.schema import Definition
from tests.unit.rows.typed.convert import META, OutOfRangeError, meta_values, own_values
from tests.unit.rows.typed.reading import read_typed, rows_of

QUICK = [Place("50-lz4")]
REST = [Place(name) for name in (*PLAIN, *FRAMED) if name != "50-lz4"]
REST += [Place("50-killed-lz4", "killed"), *(Place(name, count - 1) for name, count in STAGES.items())]
WITHOUT_DEFINITIONS = ("50-cap", "50-nonblocking")
JSON_COLUMNS = ("attrs", "cells", "deltas", "range")


@pytest.mark.parametrize("place", [*QUICK, *(pytest.param(place, marks=pytest.mark.slow) for place in REST)], ids=str)
def test_typed_rows_are_those_of_the_server(
    place: Place, sets_root: Path, fresh_folder: FreshFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_dir = sets_root / place.set
    (_, *keystore), env = [[""], {}] if not key_options(set_dir)[0] else key_options(set_dir)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    options: dict[str, Any] = {"keystore": Path(keystore[0])} if keystore else {}
    if place.set in WITHOUT_DEFINITIONS:
        options["schema_file"] = set_dir / "schema.cql"
    folder = fresh_folder(place)
    want = expected(set_dir, folder, stopped=True, base=place.set in WITHOUT_DEFINITIONS)
    reader = read_typed(folder, **options)
    by_table: dict[str, list[Row]] = {}
    for row in want.rows:
        by_table.setdefault(row.data["table_id"].replace("-", ""), []).append(row)
    tables = {table for table, batches in reader.batches.items() if any(map(len, batches))}
    assert set(by_table) <= tables if place.set == "50-torn" else set(by_table) == tables
    for table, rows in by_table.items():
        have = [row for row in rows_of(reader.batches[table]) if row["_op"] != "truncate"]
        definition = recording(set_dir).final.definitions[rows[0].data["table_id"]]
        if place.set == "50-torn":
            rows, have = seen_by_the_recorder(rows, have)
        same_rows(definition, rows, have)


def seen_by_the_recorder(rows: list[Row], have: list[Mapping[str, Any]]) -> tuple[list[Row], list[Mapping[str, Any]]]:
    """`50-torn` was dumped with the definitions of its end: only rows that it shows whole."""
    ids = {row.data["event_id"] for row in rows} - {"local:1795258981168:17225:0"}
    return [row for row in rows if row.data["event_id"] in ids], [row for row in have if row["_event_id"] in ids]


def same_rows(definition: Definition, rows: list[Row], have: list[Mapping[str, Any]]) -> None:
    kinds = kinds_of(definition)
    owns = [own_or_none(row, kinds, definition) for row in rows]
    without = {row.data["offset"] for row, own in zip(rows, owns, strict=True) if own is None}
    wanted = [(row, own) for row, own in zip(rows, owns, strict=True) if row.data["offset"] not in without]
    assert [row.data["event_id"] for row, _ in wanted] == [row["_event_id"] for row in have]
    for (row, own), mine in zip(wanted, have, strict=True):
        assert own is not None
        names = [name for name in mine if not (name.startswith("_") and name[1:] in META)]
        assert set(own) <= set(names)
        for name in names:
            assert repr(mine[name]) == repr(own.get(name)), (definition.table, row.data["event_id"], name)
        for name, value in meta_values(row.data, kinds).items():
            got = mine[f"_{name}"]
            if name in JSON_COLUMNS and value is not None:
                assert equal(value, ordered(got)), (definition.table, row.data["event_id"], name)
            else:
                assert got == value, (definition.table, row.data["event_id"], name)


def own_or_none(row: Row, kinds: Mapping[str, Type], definition: Definition) -> dict[str, Any] | None:
    """None if the typed form cannot hold one of the values."""
    key, clustering = ([name for name, _ in names] for names in (definition.partition_key, definition.clustering))
    try:
        return own_values(row.data, kinds, key, clustering)
    except OutOfRangeError:
        return None


def kinds_of(definition: Definition) -> dict[str, Type]:
    columns = (*definition.partition_key, *definition.clustering, *definition.columns)
    kinds = {name: definition.type_of(text) for name, text in columns}
    if definition.table == "altered_type":
        # The server lists a dropped column of a user-defined type as a tuple; rows have the type it had.
        kinds["gone"] = definition.type_of("frozen<evolving>")
    return kinds
