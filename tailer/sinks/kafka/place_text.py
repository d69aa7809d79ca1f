"""A position as it stands in the topic of positions: whose it is (the message's key) and where (its value). Pure."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from tailer.errors import RefusedError
from tailer.sinks.outlet import OutletKey, Place
from tailer.typed_decode import decode_json

VERSION: Final = 1


class _Versioned(msgspec.Struct):
    v: Annotated[int, msgspec.Meta(ge=1)]


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
    try:
        version = decode_json(value, _Versioned).v
        if version > VERSION:
            raise RefusedError(
                f"the version of the position in {where}",
                expected=VERSION,
                found=version,
                remedy="A newer cdc-tail wrote it: use that version.",
            )
        found = decode_json(value, _Value)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise RefusedError(
            f"{where} has a position that cannot be read: {error}",
            remedy="Did another program write to it? Begin anew with another consumer.",
        ) from None
    return Place(bytes(found.offset).decode(), found.generation)
