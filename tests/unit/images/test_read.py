"""A row that becomes complete while its values stay: consumers must see it, for they keep completeness too."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

import pytest

from tailer.images.image import Image
from tailer.images.served import Answer, EventIds, ServedRange, ServedRow
from tailer.images.served_changes import served_rows
from tailer.rebuild.table import plan_of
from tailer.rows.image_ops import OF_ONE_ROW, OF_SEVERAL_ROWS, OPS
from tailer.schema.ring import TOKEN_MAX, TOKEN_MIN
from tests.unit.images.told import ID, SECOND, START, State, change, delete_partition, insert, now, update


def served(state: State, *rows: dict[str, Any], until: int = START + 9 * SECOND) -> list[tuple[Any, ...]]:
    """A server is asked for the whole table and has these rows; of each image op, before, after, changed, complete."""
    known = state.merger.table(ID)
    assert known is not None
    partitions: Mapping[bytes, Mapping[bytes, ServedRow]] = served_rows(rows, plan_of(known.facts.table))
    found = ServedRange(TOKEN_MIN, TOKEN_MAX, partitions)
    answer = Answer(until, True, (), EventIds("snapshot:1:"))
    return told(state.merger.served(ID, found, answer, now(10)))


def told(images: list[Image]) -> list[tuple[Any, ...]]:
    return [(image.op, image.before, image.after, image.changed, image.complete) for image in images]


def shown(ts: int, **columns: object) -> dict[str, Any]:
    """A row as a server has it: written at `ts`."""
    return change("snapshot", ts, columns=columns)


def test_a_row_whose_values_were_all_known_becomes_complete() -> None:
    state = State()
    state.tell(insert(START + 1, v=1, w=2))
    row = '{"k":1,"x":1,"v":1,"w":2}'
    assert served(state, shown(START + 1, v=1, w=2)) == [("read", row, row, (), True)]
    assert served(state, shown(START + 1, v=1, w=2), until=START + 11 * SECOND) == []


def test_a_row_whose_values_are_null_is_read_where_the_server_says_that_it_exists() -> None:
    state = State()
    state.tell(update(START + 1, v=None, w=None))
    row = '{"k":1,"x":1,"v":null,"w":null}'
    assert served(state, shown(START)) == [("read", row, row, (), True)]


def test_where_a_value_was_not_known_the_op_is_as_ever() -> None:
    state = State()
    state.tell(insert(START + 1, v=1))
    images = served(state, shown(START + 1, v=1))
    assert images == [("update", '{"k":1,"x":1,"v":1}', '{"k":1,"x":1,"v":1,"w":null}', ("w",), True)]


def test_a_deletion_of_the_partition_that_is_older_makes_its_rows_complete() -> None:
    state = State()
    state.tell(insert(START + 9, v=1, w=2))
    images = told(state.tell(delete_partition(START + 5)))
    row = '{"k":1,"x":1,"v":1,"w":2}'
    assert [image for image in images if image[0] != "delete_partition"] == [("read", row, row, (), True)]


def test_ops_are_of_one_row_or_of_several() -> None:
    assert sorted(chain(OF_ONE_ROW, OF_SEVERAL_ROWS)) == sorted(OPS)


@pytest.mark.parametrize("op", OPS)
def test_read_is_an_op_of_one_row(op: str) -> None:
    assert (op in OF_ONE_ROW) == (op in ("insert", "update", "upsert", "delete", "expire", "read"))
