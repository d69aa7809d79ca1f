"""What a change did to a column, as text: by the column's type, for two types may look the same in JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tailer.schema.model import TypeField
from tailer.sinks.row_text import decode_row
from tailer.sinks.table_text import TableText
from tests.unit.sinks.rows import ORDINARY, batch, row
from tests.unit.sinks.tables import table

ID = "9f6593a0-e598-11f1-b9b8-bd260306fc63"
OTHER = "9f6593a1-e598-11f1-b9b8-bd260306fc63"
SHARD = {"shard": ID, "kind": "global", "clock": 1}
HOME = {"home": (TypeField("street", "text"), TypeField("no", "int"))}


def shown(type_: str, value: Any) -> str:
    known = table(types=HOME, c=type_)(ORDINARY["table_id"])
    return column_of(TableText(known), json.dumps({"c": value}, separators=(",", ":")))


def column_of(known: TableText, columns: str) -> str:
    (text,) = known.columns(decode_row(batch(row(columns=columns)).json_lines()).columns)
    return text


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        ("counter", [{**SHARD, "total": 17}], "c=17"),
        ("counter", [{**SHARD, "total": 2**63 - 1}, {**SHARD, "total": 5}, {**SHARD, "total": -1}], f"c={2**63 + 3}"),
        ("counter", None, "c=null"),
        ("counter", "", 'c=""'),
        ("set<text>", {"replaced": False, "put": ["x", "y"], "removed": ["z"]}, 'c + "x" + "y" - "z"'),
        ("set<text>", {"replaced": False, "removed": ["y"]}, 'c - "y"'),
        ("set<text>", {"replaced": True, "put": ["x", "y"]}, 'c=["x","y"]'),
        ("set<text>", {"replaced": True, "removed": ["x"]}, 'c=null - "x"'),
        ("set<text>", None, "c=null"),
        ("list<int>", {"replaced": False, "put": [[ID, 9], [OTHER, 9]]}, "c + 9 + 9"),
        ("list<int>", {"replaced": True, "put": [[ID, 9]], "removed": [OTHER]}, f"c=[9] - #{OTHER}"),
        ("list<text>", {"replaced": False, "put": [[ID, "a\x07"]]}, r'c + "a\u0007"'),
        # In JSON like the list above.
        ("set<frozen<tuple<timeuuid, int>>>", {"replaced": False, "put": [[ID, 9]]}, f'c + ["{ID}",9]'),
        (
            "map<text, int>",
            {"replaced": False, "put": {"k": 5, "n": 6}, "removed": ["p"]},
            'c["k"]=5 c["n"]=6 c["p"]=null',
        ),
        ("map<text, int>", {"replaced": True, "put": {"k": 5}}, 'c={"k":5}'),
        ("home", {"replaced": False, "put": {"street": "x"}, "removed": ["no"]}, 'c.street="x" c.no=null'),
        ("home", {"replaced": True, "put": {"street": "x"}}, 'c={"street":"x"}'),
        # Frozen: a value like any other, whatever it looks like.
        ("frozen<map<text, boolean>>", {"replaced": True}, 'c={"replaced":true}'),
        ("frozen<list<frozen<map<text, int>>>>", [{"total": 5}], 'c=[{"total":5}]'),
        # Of a definition that was another one when the row was made.
        ("set<text>", "x", 'c="x"'),
        ("counter", 5, "c=5"),
    ],
)
def test_a_change(type_: str, value: Any, expected: str) -> None:
    assert shown(type_, value) == expected


def test_without_a_definition_the_row_says_what_it_is() -> None:
    change = '{"replaced":false,"put":["x"]}'
    assert column_of(TableText(None), f'{{"c":{change}}}') == f"c={change}"
