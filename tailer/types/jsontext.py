"""JSON strings spelled as the server spells them. Knows nothing of CQL types.

The server's JSON library escapes the quote, the backslash and the control characters; everything else stays as it is.
Python's does the same but for the hex digits of `\\u001F`, which are upper case there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from json.encoder import encode_basestring
from typing import Final

ToJson = Callable[[bytes], str]
"""The bytes of one value to its JSON text; ValueError for bytes that are no value of the type."""

EMPTY: Final = '""'
"""What a zero-length value of most types prints."""

_ESCAPE: Final = re.compile(r"\\(?:u[0-9a-f]{4}|.)")


def quote(text: str) -> str:
    """`text` as a JSON string."""
    encoded = encode_basestring(text)
    # A backslash of the text itself is doubled, so looking for `\u` alone would take `\\u00ff` for an escape.
    return _ESCAPE.sub(_upper, encoded) if "\\u" in encoded else encoded


def _upper(escape: re.Match[str]) -> str:
    found = escape[0]
    return found if len(found) == 2 else "\\u" + found[2:].upper()


def as_key(json: ToJson) -> ToJson:
    """The JSON string for a value that is a map's key: a string as it is, else its JSON text in quotes."""

    def key_json(value: bytes) -> str:
        text = json(value)
        return text if text[0] == '"' else quote(text)

    return key_json


def wrong_length(value: bytes, name: str, expected: str) -> ValueError:
    """The error for `value` when its length is none that `name` has."""
    return ValueError(f"{len(value)} bytes for {name}, which has {expected}")
