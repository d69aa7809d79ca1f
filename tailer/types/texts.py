"""Text of CQL: the bytes that the server accepts, as a value and as a key. Pure; whoever asks for it is told a count.

The server's validator (`org.apache.cassandra.serializers.UTF8Serializer`, CASSANDRA-1088 and after) accepts more than
UTF-8. A value is read so:

    UTF-8                                               its characters
    C0 80                                               U+0000 (Java's modified UTF-8)
    ED A0..AF xx ED B0..BF xx                           the character of the two surrogates (CESU-8)
    any other sequence that the validator accepts       U+FFFD: a lone surrogate; E0 and F0 with second bytes that it
                                                        lets pass; what is beyond U+10FFFF

Of a key two different byte strings are never one text. What is UTF-8 stays as it is; other bytes, and a text that
begins with the marker itself, are the marker and the bytes in hex, which `key_text_bytes` reverses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Literal

OddKeys = Literal["escape", "quarantine"]
"""What becomes of a key whose text the server accepts and UTF-8 does not: it is escaped, or its entry is put aside."""

MARKER: Final = "cdc-tail-bytes:"
"""What the text of a key begins with that stands for bytes."""

_MARKER_BYTES: Final = MARKER.encode()
_NO_CHARACTER: Final = "\ufffd"

# The states of the validator. `(b & 0x30) != 0` is all that it asks of the byte behind F0.
_SEQUENCES: Final = re.compile(
    rb"""
    (?P<utf8>  (?: [\x00-\x7f] | [\xc2-\xdf][\x80-\xbf]
               | \xe0[\xa0-\xbf][\x80-\xbf] | [\xe1-\xec\xee\xef][\x80-\xbf]{2} | \xed[\x80-\x9f][\x80-\xbf]
               | \xf0[\x90-\xbf][\x80-\xbf]{2} | [\xf1-\xf3][\x80-\xbf]{3} | \xf4[\x80-\x8f][\x80-\xbf]{2} )++ )
    | (?P<zero> \xc0\x80 )
    | (?P<pair> \xed[\xa0-\xaf][\x80-\xbf] \xed[\xb0-\xbf][\x80-\xbf] )
    | (?P<none> \xed[\xa0-\xbf][\x80-\xbf]
              | \xe0[^\x80-\x9f][\x80-\xbf]
              | \xf0[\x10-\x3f\x50-\x7f\x90-\xbf\xd0-\xff][\x80-\xbf]{2}
              | [\xf4-\xf7][\x80-\xbf]{3} )
    """,
    re.VERBOSE,
)

_ODD: Final = re.compile(rb"\xc0\x80|\xed[\xa0-\xbf]|\xe0[^\xa0-\xbf]|\xf0[^\x90-\xbf]|\xf4[^\x80-\x8f]|[\xf5-\xf7]")
"""Is in each value that the validator accepts and UTF-8 does not, and in some others."""


class OddTextError(ValueError):
    """A key's text that the server accepts and UTF-8 does not, where such keys are not delivered."""


class _Count:
    number = 0


_COUNT: Final[ContextVar[_Count | None]] = ContextVar("replaced", default=None)


@contextmanager
def counted_replacements() -> Iterator[Callable[[], int]]:
    """How many values of text are read meanwhile, here, that have a U+FFFD in place of what is no character."""
    count, around = _Count(), _COUNT.get()
    token = _COUNT.set(count)
    try:
        yield lambda: count.number
    finally:
        _COUNT.reset(token)
        if around is not None:
            around.number += count.number


def text_value(value: bytes) -> str:
    """A text that is no key. ValueError for bytes that the server refuses."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        text, replaced = _read(value)
        count = _COUNT.get()
        if count is not None:
            count.number += replaced
        return text


def key_text_value(value: bytes) -> str:
    """A text that is a key. ValueError for bytes that the server refuses."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        _read(value)
        return escaped(value)
    return escaped(value) if text.startswith(MARKER) else text


def strict_key_text_value(value: bytes) -> str:
    """The same, but OddTextError for bytes that are no UTF-8."""
    try:
        value.decode()
    except UnicodeDecodeError as error:
        _read(value)
        raise OddTextError(f"byte {error.start} of the text of a key is not UTF-8") from None
    return key_text_value(value)


def key_text_bytes(text: str) -> bytes:
    """The bytes of a key's text. ValueError for an escape that no key has."""
    if not text.startswith(MARKER):
        return text.encode()
    value = unescaped(text)
    if key_text_value(value) != text:
        raise ValueError(f"{text!r:.80} is the text of no key: what it stands for is spelled {key_text_value(value)!r}")
    return value


def escaped(value: bytes) -> str:
    """What stands for the bytes of a key that have no text of their own."""
    return MARKER + value.hex()


def unescaped(text: str) -> bytes:
    """The bytes that such a text stands for. ValueError where it is spelled in another way."""
    digits = text.removeprefix(MARKER)
    try:
        value = bytes.fromhex(digits)
    except ValueError:
        raise ValueError(f"{text!r:.80} is the text of no key: {digits!r:.80} are no hex digits") from None
    if escaped(value) != text:
        raise ValueError(f"{text!r:.80} is the text of no key: what it stands for is spelled {escaped(value)!r}")
    return value


def may_be_odd(value: bytes) -> bool:
    """Whether a value may hold a text that UTF-8 refuses and the server accepts."""
    return _ODD.search(value) is not None


def _read(value: bytes) -> tuple[str, bool]:
    """What the server's validator accepts, as text, and whether a U+FFFD stands for something in it."""
    texts: list[str] = []
    at, replaced = 0, False
    while at < len(value):
        found = _SEQUENCES.match(value, at)
        if found is None:
            raise ValueError(f"byte {at} of the text is not UTF-8")
        kind = found.lastgroup
        if kind == "utf8":
            texts.append(found[0].decode())
        elif kind == "pair":
            texts.append(found[0].decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass").decode("utf-16"))
        else:
            texts.append("\0" if kind == "zero" else _NO_CHARACTER)
            replaced |= kind == "none"
        at = found.end()
    return "".join(texts), replaced
