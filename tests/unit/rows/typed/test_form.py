"""Which columns a typed form has, what fits them, and what is refused."""

from __future__ import annotations

import pickle

import msgspec
import pytest

from tailer.errors import UsageError
from tailer.rows.typed.form import form_of
from tailer.schema.masks import masks_of
from tailer.schema.model import Column, TableDefinition, TypeField
from tailer.schema.typed import TypedOptions, TypedTable, typed_table
from tailer.schema.typed_columns import fits
from tailer.types import parse_type

KEY = Column("id", "partition_key", "int", 0)


def table(*columns: Column, **more: object) -> TableDefinition:
    return TableDefinition("00" * 16, "ks", "t", (KEY, *columns), **more)  # type: ignore[arg-type]


def names(form: TypedTable) -> list[str]:
    return [column.name for column in form.columns]


def test_keys_come_first_then_statics_then_the_rest_then_the_change() -> None:
    made = typed_table(
        table(
            Column("a", "regular", "int"),
            Column("s", "static", "text"),
            Column("c2", "clustering", "int", 1),
            Column("c1", "clustering", "int", 0),
            Column("gone", "regular", "int", dropped=True),
        ),
        [],
        TypedOptions(),
    )
    assert names(made) == ["id", "c1", "c2", "s", "a"]
    assert form_of(made).schema.names[5:] == [
        "_op", "_set", "_deltas", "_table_id", "_is_static", "_range", "_write_ts", "_ttl", "_expires_at", "_cells",
        "_token", "_node", "_segment", "_offset", "_row", "_event_id", "_txn", "_attrs",
    ]  # fmt: skip
    assert pickle.loads(pickle.dumps(made)) == made


def test_columns_dropped_since_stand_behind_and_columns_dropped_before_do_not() -> None:
    first = table(Column("a", "regular", "int"), Column("b", "regular", "text"))
    second = table(Column("a", "regular", "int"), Column("b", "regular", "text", dropped=True))
    assert names(typed_table(second, [first, second], TypedOptions())) == ["id", "a", "b"]
    assert names(typed_table(second, [second], TypedOptions())) == ["id", "a"]


def test_a_name_of_the_change_is_refused_unless_the_prefix_is_another() -> None:
    definition = table(Column("_OP", "regular", "int"))
    with pytest.raises(UsageError, match=r'column "_OP" of ks\.t .* meta_prefix'):
        typed_table(definition, [], TypedOptions())
    assert names(typed_table(definition, [], TypedOptions(prefix="cdc_"))) == ["id", "_OP"]
    assert names(typed_table(definition, [], TypedOptions(case_sensitive=True))) == ["id", "_OP"]


def test_names_equal_but_for_case_are_refused_unless_told_apart() -> None:
    definition = table(Column("v", "regular", "int"), Column("V", "regular", "int"))
    with pytest.raises(UsageError, match=r"v, V.*spark\.sql\.caseSensitive"):
        typed_table(definition, [], TypedOptions())
    assert names(typed_table(definition, [], TypedOptions(case_sensitive=True))) == ["id", "v", "V"]


@pytest.mark.parametrize(
    ("have", "want", "fit"),
    [
        ("int", "int", True),
        ("int", "bigint", False),
        ("ascii", "text", True),
        ("text", "ascii", False),
        ("list<int>", "frozen<list<int>>", True),
        ("frozen<short>", "frozen<long>", True),
        ("frozen<long>", "frozen<short>", False),
        ("frozen<list<frozen<short>>>", "list<frozen<long>>", True),
        ("tuple<int>", "tuple<int, int>", False),
        ("vector<int, 2>", "vector<int, 3>", False),
        ("'a.B'", "'a.C'", False),
        ("counter", "bigint", False),
    ],
)
def test_what_fits(have: str, want: str, fit: bool) -> None:
    one, two = TypeField("a", "int"), TypeField("b", "int")
    types = {"short": (one,), "long": (one, two)}
    assert fits(parse_type(have, types), parse_type(want, types)) is fit


def test_an_earlier_column_of_a_name_keeps_its_values_under_another_name() -> None:
    """Of every type that the name had one; the names are the same from wherever the rows begin."""
    first = table(Column("b", "regular", "text"), Column("c", "regular", "ascii"))
    second = table(Column("b", "regular", "blob", dropped_time=5), Column("c", "regular", "text", dropped_time=5))
    third = table(Column("b", "regular", "list<int>", dropped_time=9), Column("c", "regular", "text", dropped_time=5))
    made = typed_table(third, [first, second, third], TypedOptions())
    assert names(made) == ["id", "b", "c", "b_dropped_blob", "b_dropped_text"]
    assert names(typed_table(third, [second, third], TypedOptions())) == ["id", "b", "c", "b_dropped_blob"]
    renamed = [[column.name for column in made.renamed(each).data_columns] for each in (first, second, third)]
    assert renamed == [["b_dropped_text", "c"], ["b_dropped_blob", "c"], ["b", "c"]]
    assert made.renamed(first).data_columns[0].name_bytes == b"b"
    gone = table(Column("b", "regular", "text", dropped=True, dropped_time=5))
    assert made.renamed(gone).data_columns[0].name == "b_dropped_text"


def test_a_type_made_again_with_the_same_fields_but_other_names_is_another_type() -> None:
    u = Column("u", "regular", "frozen<t>")
    a, z, b = TypeField("a", "int"), TypeField("z", "int"), TypeField("b", "text")
    first, grown = table(u, types={"t": (a,)}), table(u, types={"t": (a, b)})
    again = table(msgspec.structs.replace(u, dropped_time=5), types={"t": (z, b)})
    made = form_of(typed_table(again, [first, grown, again], TypedOptions()))
    later, earlier = made.columns[1:]
    assert (later.name, later.arrow.names) == ("u", ["z", "b"])
    assert earlier.name.startswith("u_dropped_udt_")
    assert earlier.arrow.names == ["a", "b"]
    for definition in (first, grown):
        assert made.typed.renamed(definition).data_columns[0].name == earlier.name
    # A field that is renamed while the column lives changes nothing.
    renamed = table(u, types={"t": (z, b)})
    assert names(typed_table(renamed, [grown, renamed], TypedOptions())) == ["id", "u"]


def test_a_column_of_an_earlier_table_of_the_name_has_a_place_too() -> None:
    first, other = table(Column("v", "regular", "int")), table(Column("v", "regular", "text"))
    other = msgspec.structs.replace(other, id="11" * 16)
    made = typed_table(other, [first, other], TypedOptions())
    assert names(made) == ["id", "v", "v_dropped_int"]
    assert [made.renamed(each).data_columns[0].name for each in (first, other)] == ["v_dropped_int", "v"]


def test_a_mask_of_a_column_hides_its_earlier_values_too() -> None:
    first = table(Column("b", "regular", "text"))
    second = table(Column("b", "regular", "blob", dropped_time=5))
    made = typed_table(second, [first, second], TypedOptions())
    masks = masks_of(["ks.t.b=null"], ())
    assert masks.also("ks.t", made.names_in(first)).of("ks.t") == {"b": "null", "b_dropped_text": "null"}
    left_out = masks_of((), ["ks.t.b"]).shown_typed(made)
    assert names(left_out) == ["id"]
