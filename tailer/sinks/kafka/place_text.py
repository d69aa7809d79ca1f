"""A position as it stands in the topic of positions: whose it is (the message's key) and where (its value). Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from tailer.sinks.outlet import OutletKey, Place
from tailer.typed_decode import decode_json
from tailer.versions import decode_versioned

VERSION: Final = 1


class _Value(msgspec.Struct):
    """`offset` stays the very text it was: places are compared by it."""

    v: int
    generation: int
    offset: msgspec.Raw


def key_bytes(key: OutletKey) -> bytes:
    """The same for the same, and different for different ones."""
    return msgspec.json.encode(key._asdict())


def transactional_id(key: OutletKey) -> str:
    """What the broker tells two writers of one position by. Neither a folder nor a node has a slash in its name."""
    return f"cdc-tail/{key.folder}/{key.node}/{key.consumer}"


def value_bytes(place: Place) -> bytes:
    return msgspec.json.encode(_Value(VERSION, place.generation, msgspec.Raw(place.offset.encode())))


def place_of(value: bytes, where: str) -> Place:
    """The place that a value says. RefusedError for one of a later version, and for what is none."""
    remedy = "Did another program write to it? Begin anew with another consumer."
    return decode_versioned(value, _decode, VERSION, f"the position in {where}", remedy=remedy)


def _decode(value: bytes, version: int) -> Place:
    found = decode_json(value, _Value)
    return Place(bytes(found.offset).decode(), found.generation)
