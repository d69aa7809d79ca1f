"""Text as the server's validator takes it: values are read, keys never merge. Expected readings are worked out by hand
from the rules of `UTF8Serializer.UTF8Validator`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.types import parse_type
from tailer.types.collections import key_type
from tailer.types.encode import encoder, key_encoder, usual_bytes
from tailer.types.read_json import read_json
from tailer.types.texts import MARKER, counted_replacements
from tailer.types.values import elements_reader, reader

TEXT = parse_type("text", {})
KEY = key_type(TEXT)

# bytes in hex, the text that is read
ACCEPTED = [
    ("00", "\0"),
    ("c080", "\0"),
    ("61c08062", "a\0b"),
    ("efbfbd", "\ufffd"),
    ("efbfbe", "\ufffe"),
    ("eda0bdedb880", "\U0001f600"),
    ("f09f9880", "\U0001f600"),
    ("eda080", "\ufffd"),
    ("edb080", "\ufffd"),
    ("edb080eda080", "\ufffd\ufffd"),
    ("eda080eda080edb080", "\ufffd\U00010000"),
    ("edafbfedbfbf", "\U0010ffff"),
    ("61eda0bd62", "a\ufffdb"),
    # Beyond U+10FFFF, and second bytes of three and four that the validator lets pass: one sequence, one U+FFFD.
    ("f4908080", "\ufffd"),
    ("f7bfbfbf", "\ufffd"),
    ("e04180", "\ufffd"),
    ("e0c080", "\ufffd"),
    ("f0108080", "\ufffd"),
    ("f0d08080", "\ufffd"),
    ("ed9fbf", "\ud7ff"),
    ("ee8080", "\ue000"),
]
REFUSED = ["80", "c1bf", "c081", "c0", "c3", "c341", "e09f80", "e0a0", "ed80", "e18041", "f08f8080", "f0408080",
           "f18080", "f5", "f8808080", "ff", "61ff"]  # fmt: skip


@pytest.mark.parametrize(("data", "text"), ACCEPTED)
def test_a_value_is_read_as_the_server_accepts_it(data: str, text: str) -> None:
    value = bytes.fromhex(data)
    assert read_json(TEXT.json(value)) == text
    assert reader(TEXT, "decimal")(value) == text


@pytest.mark.parametrize("data", REFUSED)
def test_what_the_server_refuses_is_none(data: str) -> None:
    for type_ in (TEXT, KEY):
        with pytest.raises(ValueError, match="is not UTF-8"):
            type_.json(bytes.fromhex(data))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("", ""),
        ("00", "\0"),
        ("c080", "cdc-tail-bytes:c080"),
        ("eda080", "cdc-tail-bytes:eda080"),
        ("eda0bdedb880", "cdc-tail-bytes:eda0bdedb880"),
        ("efbfbd", "\ufffd"),
        ("61c080", "cdc-tail-bytes:61c080"),
        (b"cdc-tail-bytes:00".hex(), "cdc-tail-bytes:" + b"cdc-tail-bytes:00".hex()),
        (b"cdc-tail-bytes:".hex(), "cdc-tail-bytes:" + b"cdc-tail-bytes:".hex()),
        (b"cdc-tail-bytes".hex(), "cdc-tail-bytes"),
        (b"Cdc-tail-bytes:00".hex(), "Cdc-tail-bytes:00"),
    ],
)
def test_a_key(data: str, text: str) -> None:
    value = bytes.fromhex(data)
    assert read_json(KEY.json(value)) == text
    assert reader(KEY, "decimal")(value) == text
    assert encoder(KEY)(text) == value


@pytest.mark.parametrize("text", [MARKER + "61", MARKER + "C080", MARKER + "c0 80", MARKER + "ff", MARKER + "x"])
def test_an_escape_that_no_key_has_is_refused(text: str) -> None:
    """Else two texts would be one key."""
    with pytest.raises(ValueError, match=r"is the text of no key|is not UTF-8|fromhex"):
        encoder(KEY)(text)


def test_a_value_with_the_marker_is_itself() -> None:
    value = b"cdc-tail-bytes:00"
    assert TEXT.json(value) == '"cdc-tail-bytes:00"'
    assert encoder(TEXT)("cdc-tail-bytes:00") == value


SEQUENCES = st.sampled_from([bytes.fromhex(data) for data, _ in ACCEPTED] + [MARKER.encode(), b"a", b"0"])
KEYS = st.lists(SEQUENCES, max_size=4).map(b"".join)


@given(KEYS, KEYS)
def test_two_keys_are_two_texts(one: bytes, other: bytes) -> None:
    assert (KEY.json(one) == KEY.json(other)) == (one == other)
    assert encoder(KEY)(read_json(KEY.json(one))) == one


def part(value: bytes) -> bytes:
    return len(value).to_bytes(4, "big") + value


C080 = bytes.fromhex("c080")
ESCAPED = '"cdc-tail-bytes:c080"'
TWO = (1).to_bytes(4, "big") + part(C080) + part(C080)
ONE = (1).to_bytes(4, "big") + part(C080)
FIELDS = {"f": (type("Field", (), {"name": "a", "type": "text"})(),)}

# type, bytes, JSON as a value, JSON as a key
WITHIN = [
    ("frozen<list<text>>", ONE, '["\\u0000"]', f"[{ESCAPED}]"),
    ("frozen<set<text>>", ONE, f"[{ESCAPED}]", f"[{ESCAPED}]"),
    ("frozen<map<text, text>>", TWO, f'{{{ESCAPED}:"\\u0000"}}', f"{{{ESCAPED}:{ESCAPED}}}"),
    ("frozen<tuple<text>>", part(C080), '["\\u0000"]', f"[{ESCAPED}]"),
    ("frozen<f>", part(C080), '{"a":"\\u0000"}', f'{{"a":{ESCAPED}}}'),
    ("vector<text, 1>", b"\2" + C080, '["\\u0000"]', f"[{ESCAPED}]"),
    ("frozen<set<frozen<list<text>>>>", (1).to_bytes(4, "big") + part(ONE), f"[[{ESCAPED}]]", f"[[{ESCAPED}]]"),
    ("frozen<list<int>>", (0).to_bytes(4, "big"), "[]", "[]"),
]


@pytest.mark.parametrize(("text", "value", "as_value", "as_key"), WITHIN)
def test_within_other_values(text: str, value: bytes, as_value: str, as_key: str) -> None:
    type_ = parse_type(text, FIELDS)
    assert type_.json(value) == as_value
    key = key_type(type_)
    assert key.json(value) == as_key
    assert key.text == type_.text
    assert encoder(key)(read_json(as_key)) == value
    assert key_encoder(key)(read_json(key.key_json(value))) == value


def test_plain_values_of_collections() -> None:
    for text, value in (("set<text>", [("cdc-tail-bytes:c080")]), ("list<text>", ["\0"])):
        type_ = parse_type(text, {})
        read = elements_reader(type_, "decimal")
        assert read is not None
        assert read([(C080, C080)]) == value
    read = elements_reader(parse_type("map<text, text>", {}), "decimal")
    assert read is not None
    assert read([(C080, C080), (b"\0", b"a")]) == [("cdc-tail-bytes:c080", "\0"), ("\0", "a")]


def test_a_type_without_texts_is_the_same_as_a_key() -> None:
    for text in ("int", "frozen<list<int>>", "ascii"):
        assert key_type(parse_type(text, {})) is parse_type(text, {})


def test_what_was_replaced_is_counted() -> None:
    with counted_replacements() as count:
        TEXT.json(bytes.fromhex("c080"))
        TEXT.json(bytes.fromhex("eda0bdedb880"))
        KEY.json(bytes.fromhex("eda080"))
        assert count() == 0
        TEXT.json(bytes.fromhex("eda080eda080"))
        parse_type("frozen<list<text>>", {}).json((1).to_bytes(4, "big") + part(bytes.fromhex("eda080")))
        assert count() == 2


@pytest.mark.parametrize(
    ("text", "value", "usual"),
    [
        ("text", "c080", "00"),
        ("text", "eda080", "efbfbd"),
        ("text", "61", "61"),
        ("int", "0000c080", "0000c080"),
        ("frozen<list<text>>", "0000000100000002c080", "000000010000000100"),
        ("frozen<set<text>>", "0000000100000002c080", "0000000100000002c080"),
        ("frozen<list<text>>", "000000010000000161", "000000010000000161"),
    ],
)
def test_the_usual_bytes_of_a_value(text: str, value: str, usual: str) -> None:
    """What its reading gives when it becomes bytes again: a state has these, from the log and from a server."""
    assert usual_bytes(parse_type(text, {}))(bytes.fromhex(value)).hex() == usual


def test_a_decimal_without_a_number_is_zero_but_in_a_key() -> None:
    """The server accepts it; in a key it would have the text of another one."""
    value, decimal = bytes.fromhex("00000002"), parse_type("decimal", {})
    assert decimal.json(value) == "0.00"
    assert reader(decimal, "string")(value) == "0.00"
    for decimals in ("decimal", "string"):
        with pytest.raises(ValueError, match="in a key"):
            reader(key_type(decimal), decimals)(value)
    with pytest.raises(ValueError, match="in a key"):
        key_type(decimal).json(value)
