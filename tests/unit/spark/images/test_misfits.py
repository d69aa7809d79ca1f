"""Rows that do not fit the definition by which a state goes on: the log does not show each ALTER, the query knows it.

A server or another node's log shows an ALTER that a node missed; then no `schema` row comes before the rows of it.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tailer.errors import DefinitionError
from tailer.images import Image
from tailer.rebuild import Table
from tailer.schema.model import Column, TableDefinition, TypeField
from tailer.spark.images.job import Earlier, Job, Node, raw
from tests.helpers.bucketed import Buckets, schema_row
from tests.unit.images.told import DATA, ID, SECOND, change, definition, insert

NOW = 2_000 * SECOND
Z = Column("z", "regular", "int")
U = Column("u", "regular", "u")
BEFORE = definition(*DATA, U, types={"u": (TypeField("a", "int"),)})
WIDE = definition(*DATA, U, Z, types={"u": (TypeField("a", "int"), TypeField("b", "int"))})


def begun_with(before: TableDefinition, newest: TableDefinition, earlier: tuple[Earlier, ...] = ()) -> Buckets:
    """A state that the first definition began, in a query that is started again and finds the newest one: the log does
    not show the ALTER, a server or another node's log does."""
    told = Buckets([Table.of(before)], "a", buckets=1)
    told.batch([schema_row(Table.of(before), "a"), at(10, insert(5, v=1))], NOW)
    tables = {ID: raw(Table.of(newest, [before]))}
    told.job = Job({"a": Node({ID: (0, 0)})}, tables, earlier={ID: list(earlier)})
    return told


def at(offset: int, change: dict[str, Any]) -> dict[str, Any]:
    return {**change, "segment": 1, "offset": offset, "event_id": f"a:1:{offset}:0"}


def shown(images: list[Image]) -> list[tuple[str, Any]]:
    """By op and the values that are set."""
    values = [(each.op, None if each.after is None else json.loads(each.after)) for each in images]
    return [(op, after and {k: v for k, v in after.items() if v is not None}) for op, after in values]


def put(**fields: int) -> dict[str, Any]:
    return {"u": {"replaced": False, "put": fields}}


@pytest.mark.parametrize(
    ("made", "after"),
    [
        (insert(6, 2, z=7), {"k": 1, "x": 2, "z": 7}),
        (change("update", 6, 2, columns=put(b=8)), {"k": 1, "x": 2, "u": {"a": None, "b": 8}}),
    ],
    ids=["column", "field"],
)
def test_a_row_that_the_known_definition_does_not_fit_is_merged_by_the_one_of_its_place(
    made: dict[str, Any], after: dict[str, Any]
) -> None:
    """O1: it was an error, and the same one at each start from that checkpoint."""
    told = begun_with(BEFORE, WIDE)
    images = shown(told.batch([at(20, made)], NOW + SECOND))
    assert images == [("schema", None), (images[1][0], after)]
    # The next rows are merged by it, too.
    assert [op for op, _ in shown(told.batch([at(30, insert(8, 3, v=1))], NOW + 2 * SECOND))] == ["insert"]


def test_the_definition_of_the_rows_place_is_tried_before_the_newest() -> None:
    """Behind ADD z its DROP: the row of between has z in its image, as where the state begins there."""
    between = definition(*DATA, Z)
    gone = definition(*DATA, Column("z", "regular", "int", dropped=True, dropped_time=NOW))
    told = begun_with(definition(), gone, (Earlier("a", (1, 15), raw(Table.of(between, [definition()]))),))
    images = told.batch([at(20, insert(6, 2, z=7))], NOW + SECOND)
    assert shown(images)[1:] == [("insert", {"k": 1, "x": 2, "z": 7})]


def test_where_no_definition_fits_it_is_the_same_error() -> None:
    told = begun_with(definition(), definition(*DATA, Z))
    with pytest.raises(DefinitionError, match="has no column 'q'"):
        told.batch([at(20, insert(6, 2, q=7))], NOW + SECOND)
