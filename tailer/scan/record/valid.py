"""What a record may say, once: for the scan, which refuses the rest, and for who writes one. Loads nothing heavy."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from tailer.limits import ATTRS_BYTES_MAX, RECORD_DEPTH_MAX
from tailer.typed_decode import msgpack_decoder

TIME_MIN: Final = -(2**63) + 1
"""The number below it says "none" in an index."""

TIME_MAX: Final = 2**63 - 1
TTL_MAX: Final = 2**31 - 1

_ATTRS: Final = msgpack_decoder(dict[str, Any])


def is_time(value: object) -> bool:
    """Whether that is a timestamp: whole microseconds."""
    return type(value) is int and TIME_MIN <= value <= TIME_MAX


def is_ttl(value: object) -> bool:
    """Whether that is a TTL: whole seconds."""
    return type(value) is int and 0 <= value <= TTL_MAX


def is_expiry(value: object) -> bool:
    """Whether that is a second at which something may expire."""
    return type(value) is int and 0 <= value <= TIME_MAX


def check_attrs(packed: bytes) -> None:
    """ValueError with a reason for bytes that are no attributes: a map by text, not too large and not too deep."""
    if len(packed) > ATTRS_BYTES_MAX:
        raise ValueError(f"{len(packed)} bytes as msgpack, where {ATTRS_BYTES_MAX} are read at most")
    try:
        attrs = _ATTRS.decode(packed)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise ValueError(str(error)) from None
    if _depth(attrs) > RECORD_DEPTH_MAX:
        raise ValueError(f"more than {RECORD_DEPTH_MAX} maps and arrays in one another")


def _depth(value: object) -> int:
    """How many arrays and maps are in one another; an empty one holds nothing, and is none."""
    if isinstance(value, dict):
        return 1 + max(max(_depth(key), _depth(part)) for key, part in value.items()) if value else 0
    if isinstance(value, (list, tuple)):
        return 1 + max(map(_depth, value)) if value else 0
    return 0
