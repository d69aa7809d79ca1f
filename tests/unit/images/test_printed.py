"""Images as lines, by compiled code out of their bytes: byte for byte what msgspec makes of the objects."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.images import encoded
from tailer.images.compiled.lines import printed
from tailer.images.encoded import EncodedImages, JoinedImages
from tailer.images.image import Image
from tailer.images.image_rows import ImageRows, JoinedRows
from tailer.rows.batch import TableName
from tailer.rows.image_ops import OF_ONE_ROW

WHOLE = st.integers(-(2**63), 2**63 - 1)
EDGES = st.sampled_from(
    [sign * 2**bits + more for bits in (0, 5, 7, 8, 15, 16, 31, 32) for more in (-1, 0, 1) for sign in (1, -1)]
)
NUMBERS = st.none() | WHOLE | EDGES
LENGTHS = st.sampled_from([0, 1, 31, 32, 255, 256, 65_535, 65_536])
"""Those between which a text's head grows."""

JSON = st.recursive(st.none() | st.integers() | st.text(), lambda each: st.lists(each, max_size=3)).map(json.dumps)
NESTED = st.none() | JSON | LENGTHS.map(lambda length: json.dumps("x" * length))
PLAIN = st.text(st.characters(min_codepoint=0x20, exclude_characters='"\\', exclude_categories=["Cs"]))
NAMES = PLAIN | LENGTHS.map("n".__mul__)
CHANGED = st.lists(NAMES, max_size=3).map(tuple) | st.integers(14, 18).map(lambda count: ("c",) * count)
TABLES = st.sampled_from([("ks", "t", "1"), ("ks", "t", "2"), ("ks", "u", "1"), ("k", "st", "1"), ("ä" * 20, "t", "1")])

KINDS: dict[str, Any] = {
    **dict.fromkeys(("token", "write_ts", "prev_seq", "segment", "offset", "row"), NUMBERS),
    **dict.fromkeys(("partition_key", "clustering", "range", "before", "after"), NESTED),
    **dict.fromkeys(("is_static", "complete"), st.booleans()),
    **dict.fromkeys(("node", "event_id"), st.none() | NAMES),
    "op": st.sampled_from(OF_ONE_ROW),
    "changed": CHANGED,
    "seq": WHOLE | EDGES,
}


@st.composite
def images(draw: Any) -> list[Image]:
    made = draw(st.lists(st.tuples(TABLES, st.fixed_dictionaries(KINDS)), max_size=6))
    return [Image(*table, **values) for table, values in made]


def joined(some: list[Image]) -> JoinedImages:
    made = EncodedImages()
    made.add(some)
    return JoinedImages(made.joined())


@given(some=images(), before=st.booleans(), begin=st.integers(0, 7), end=st.none() | st.integers(0, 7))
def test_the_bytes_are_those_of_the_objects(some: list[Image], before: bool, begin: int, end: int | None) -> None:
    held = joined(some)
    made = printed(memoryview(held.data)[5:], len(some), before=before)
    assert made is not None
    held._printed[before] = made
    rows, plain = JoinedRows(held, before=before), ImageRows(some, before=before)
    assert rows.json_lines() == bytes(made.lines) == plain.json_lines()
    assert rows.rows_by_table() == plain.rows_by_table()
    part, same = rows.slice(begin, end), plain.slice(begin, end)
    assert len(part) == len(same)
    assert part.json_lines() == same.json_lines()
    assert part.rows_by_table() == same.rows_by_table()
    assert part.slice(1).json_lines() == same.slice(1).json_lines()
    assert list(part.images) == list(same.images)
    assert part.to_arrow() == same.to_arrow()


@pytest.mark.parametrize("name", ["node", "event_id", "keyspace", "table", "table_id", "changed"])
@pytest.mark.parametrize("text", ['"', "\\", "\n", "\0", 'long enough to be copied at once, and a "quote"'])
def test_what_json_would_escape_is_left_to_the_plain_twin(name: str, text: str) -> None:
    some = [an_image(), an_image(**{name: (text,) if name == "changed" else text})]
    held = joined(some)
    assert printed(memoryview(held.data)[5:], 2, before=True) is None
    assert JoinedRows(held).json_lines() == ImageRows(some).json_lines()


def test_a_row_of_thousands_of_columns() -> None:
    some = [an_image(changed=tuple(f"c{at % 10}" for at in range(5000)))] * 40
    made = printed(memoryview(joined(some).data)[5:], len(some), before=True)
    assert made is not None
    assert bytes(made.lines) == ImageRows(some).json_lines()


def test_many_images_are_printed_without_being_made_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoded, "twin_now", lambda module, enough: import_module(module) if enough else None)
    few, many = joined([an_image()] * 3), joined([an_image()] * 40)
    for held in (few, many):
        rows = JoinedRows(held)
        assert rows.json_lines() == ImageRows([an_image()] * len(held)).json_lines()
        assert rows.rows_by_table() == {TableName("ks.t", "id"): len(held)}
    assert "images" in vars(few)
    assert "images" not in vars(many)


def an_image(**more: Any) -> Image:
    table: dict[str, Any] = {"keyspace": "ks", "table": "t", "table_id": "id"}
    row = {"token": 1, "partition_key": '{"id":1}', "clustering": None, "is_static": False, "range": None}
    what = {"op": "insert", "before": None, "after": '{"id":1,"v":"\\""}', "changed": ("v",), "complete": True}
    return Image(**{**table, **row, **what, "write_ts": 7, "seq": 8, "prev_seq": None, **more})
