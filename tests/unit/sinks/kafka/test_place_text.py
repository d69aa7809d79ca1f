"""Positions as messages: whose they are, and where; of later versions and of other programs they are refused."""

from __future__ import annotations

import json

import pytest

from tailer.errors import RefusedError
from tailer.sinks.kafka.place_text import key_bytes, place_of, transactional_id, value_bytes
from tailer.sinks.outlet import OutletKey, Place

KEY = OutletKey("5a1f", "n1", "orders")


def test_a_place_comes_back_as_the_very_text_it_was() -> None:
    place = Place('{"s":7, "o":1.0}', 3)
    value = value_bytes(place)
    assert json.loads(value) == {"v": 1, "generation": 3, "offset": {"s": 7, "o": 1.0}}
    assert place_of(value, "topic t") == place


def test_keys_are_of_folder_node_and_consumer() -> None:
    """The very bytes: by other ones a later version would not find where it stood, and write all again."""
    assert key_bytes(KEY) == b'{"folder":"5a1f","node":"n1","consumer":"orders"}'
    assert transactional_id(KEY) == "cdc-tail/5a1f/n1/orders"
    others = [KEY._replace(folder="x"), KEY._replace(node="x"), KEY._replace(consumer="x")]
    assert (
        len({key_bytes(key) for key in (KEY, *others)}) == len({transactional_id(key) for key in (KEY, *others)}) == 4
    )


def test_a_later_version_is_refused_before_anything_else_of_it_is_read() -> None:
    with pytest.raises(RefusedError, match="newer cdc-tail"):
        place_of(b'{"v":2,"offset":"another form"}', "topic t")


@pytest.mark.parametrize(
    "value", [b"", b"nothing", b"{}", b'{"v":0}', b'{"v":1,"offset":{}}', b'{"v":1,"generation":1}']
)
def test_what_is_no_position_is_refused(value: bytes) -> None:
    with pytest.raises(RefusedError, match="cannot be read"):
        place_of(value, "topic t")
