"""One typed form of several nodes, of which one has not seen yet that a column was dropped and added again."""

from __future__ import annotations

import msgspec
import pytest

from tailer.schema.model import Column, TableDefinition
from tailer.schema.typed import TypedOptions, TypedTable, typed_table

form = pytest.importorskip("tailer.spark.form", exc_type=ImportError)

KEY = Column("id", "partition_key", "int", 0)
FIRST = TableDefinition("00" * 16, "ks", "t", (KEY, Column("b", "regular", "text")), cdc=True)
SECOND = msgspec.structs.replace(FIRST, columns=(KEY, Column("b", "regular", "blob", dropped_time=50)))


@pytest.mark.parametrize("turned", [False, True])
def test_a_node_that_is_late_has_its_values_under_the_name_of_the_earlier_column(turned: bool) -> None:
    late, ahead = typed_table(FIRST, [FIRST], TypedOptions()), typed_table(SECOND, [SECOND], TypedOptions())
    made: TypedTable = form.union([ahead, late] if turned else [late, ahead])
    assert [(column.name, column.type) for column in made.columns] == [
        ("id", "int"),
        ("b", "blob"),
        ("b_dropped_text", "text"),
    ]
    assert [made.renamed(each).data_columns[0].name for each in (FIRST, SECOND)] == ["b_dropped_text", "b"]
    assert made.columns == form.union([typed_table(SECOND, [FIRST, SECOND], TypedOptions()), late]).columns
