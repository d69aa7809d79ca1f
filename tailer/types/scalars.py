"""Text, blob, boolean, uuid, inet, `empty` and custom types: bytes to JSON, and its text back. Knows no other type."""

from __future__ import annotations

import re
import struct
from json.encoder import encode_basestring
from typing import Any, Final, NoReturn

from tailer.types.jsontext import EMPTY, quote, wrong_length
from tailer.types.texts import MARKER, escaped, key_text_value, strict_key_text_value, text_value, unescaped

_MAPPED: Final = bytes(10) + b"\xff\xff"
"""What an IPv4 address within an IPv6 one begins with."""

_IPV4: Final = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}", re.ASCII)


def text_json(value: bytes) -> str:
    """JSON of a text that is no key."""
    return _string(text_value(value))


def key_text_json(value: bytes) -> str:
    """JSON of a text that is a key."""
    return _string(key_text_value(value))


def strict_key_text_json(value: bytes) -> str:
    """The same, where keys that are no UTF-8 are not delivered."""
    return _string(strict_key_text_value(value))


def _string(text: str) -> str:
    encoded = encode_basestring(text)
    return quote(text) if "\\u" in encoded else encoded


def ascii_value(value: bytes) -> str:
    """An ascii."""
    try:
        return value.decode("ascii")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} of the ascii is not ASCII") from None


def ascii_json(value: bytes) -> str:
    """JSON of an ascii."""
    return quote(ascii_value(value))


def ascii_bytes(text: str) -> bytes:
    """The bytes of an ascii."""
    return text.encode("ascii")


def blob_json(value: bytes) -> str:
    """JSON of a blob: lower-case hex."""
    return f'"0x{value.hex()}"'


def parse_blob(text: str) -> bytes:
    """The bytes of a blob's text."""
    if not text.startswith("0x"):
        raise ValueError(f"{text!r:.80} is no blob")
    return bytes.fromhex(text[2:])


def custom_json(value: bytes) -> str:
    """JSON of a composite or unknown Java class, which the server itself cannot print: its hex."""
    return f'"0x{value.hex()}"' if value else EMPTY


def boolean_text(value: bool) -> str:
    """JSON of a boolean."""
    return "true" if value else "false"


def uuid_json(value: bytes) -> str:
    """JSON of a uuid or timeuuid."""
    if len(value) != 16:
        if not value:
            return EMPTY
        raise wrong_length(value, "uuid", "16")
    text = value.hex()
    return f'"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"'


def parse_uuid(text: str) -> bytes:
    """The bytes of a uuid's or timeuuid's text."""
    value = bytes.fromhex(text.replace("-", ""))
    if len(value) != 16:
        raise ValueError(f"{text!r:.80} is no uuid")
    return value


def inet_json(value: bytes) -> str:
    """JSON of an inet: IPv6 is not shortened, and an IPv4 address mapped into it prints as IPv4."""
    if len(value) == 16 and not value.startswith(_MAPPED):
        groups = (value[at] << 8 | value[at + 1] for at in range(0, 16, 2))
        return f'"{":".join(f"{group:x}" for group in groups)}"'
    if len(value) in (4, 16):
        return f'"{".".join(map(str, value[-4:]))}"'
    if not value:
        return EMPTY
    raise wrong_length(value, "inet", "4 or 16")


def parse_inet(text: str) -> bytes:
    """The bytes of an inet's text."""
    if _IPV4.fullmatch(text):
        return bytes(map(int, text.split(".")))
    groups = [int(group, 16) for group in text.split(":")]
    if len(groups) != 8:
        raise ValueError(f"{text!r:.80} is no inet")
    return struct.pack(">8H", *groups)


def key_inet_json(value: bytes) -> str:
    """The same of a key: an IPv4 address within an IPv6 one is escaped (see `texts`)."""
    return f'"{escaped(value)}"' if len(value) == 16 and value.startswith(_MAPPED) else inet_json(value)


def parse_key_inet(text: str) -> bytes:
    """The bytes of a key's text."""
    if not text.startswith(MARKER):
        return parse_inet(text)
    value = unescaped(text)
    if len(value) != 16 or not value.startswith(_MAPPED):
        raise ValueError(f"{text!r:.80} is the text of no key")
    return value


def empty_json(value: bytes) -> str:
    """JSON of the type `empty`, which has no byte."""
    if value:
        raise wrong_length(value, "empty", "none")
    return EMPTY


def no_value(value: Any) -> NoReturn:
    """For types without a text of their own."""
    raise ValueError(f"{value!r:.80} of a type that has no such value")
