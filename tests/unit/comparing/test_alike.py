"""What prints alike is no difference, whatever its bytes are."""

from __future__ import annotations

from collections import Counter

import pytest

from tailer.comparing.alike import Alike
from tailer.comparing.partition import Difference
from tailer.rebuild.table import Table, plan_of
from tailer.schema.model import Column, TypeField
from tailer.types.parts import framed
from tests.helpers.odd_texts import BYTES, READ
from tests.unit.images.told import definition

TYPES = {"address": (TypeField("street", "text"), TypeField("number", "int"), TypeField("zip", "text"))}
COLUMNS = {"home": "frozen<address>", "l": "list<frozen<address>>", "d": "double", "n": "int", "v": "text"}
PLAN = plan_of(Table.of(definition(*(Column(name, "regular", cql) for name, cql in COLUMNS.items()), types=TYPES)))

NUMBER = (501).to_bytes(4, "big")
"""0x1F5: F5 is in no UTF-8 text."""
SHORT, FULL, OTHER = framed([b"s", NUMBER]), framed([b"s", NUMBER, None]), framed([b"s", NUMBER, b"z"])


def in_list(value: bytes) -> bytes:
    return (1).to_bytes(4, "big") + framed([value])


@pytest.mark.parametrize(
    ("column", "known", "served", "alike"),
    [
        ("home", SHORT, FULL, True),
        ("home", FULL, SHORT, True),
        ("home", SHORT, OTHER, False),
        ("home", SHORT, None, False),
        ("home", SHORT, framed([b"s", NUMBER, None, b"more"]), False),
        ("l", in_list(SHORT), in_list(FULL), True),
        ("d", bytes.fromhex("7ff8000000000000"), bytes.fromhex("7ff8000000000001"), True),
        ("d", bytes.fromhex("8000000000000000"), bytes(8), False),
        ("n", None, NUMBER, False),
    ],
)
def test_values(column: str, known: bytes | None, served: bytes | None, alike: bool) -> None:
    same = Alike(PLAN)
    assert same(Difference(b"p", b"r", "value", column, known, served)) == alike
    assert same.replaced == Counter()


def test_texts_that_utf_8_refuses() -> None:
    """A state has them as change rows print them; what has become a U+FFFD is counted."""
    same = Alike(PLAN)
    for text, read in zip(BYTES, READ, strict=True):
        assert same(Difference(b"p", b"r", "value", "v", read.encode(), text))
    assert same.replaced == {("ks.t", "v"): 1}
    assert not same(Difference(b"p", b"r", "value", "v", b"?", BYTES[2]))
