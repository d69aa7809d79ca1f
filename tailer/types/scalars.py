"""JSON of text, blob, boolean, uuid, inet and `empty`, and the hex of custom types. Knows no other type."""

from __future__ import annotations

from json.encoder import encode_basestring

from tailer.types.jsontext import EMPTY, quote, wrong_length


def text_json(value: bytes) -> str:
    """JSON of a text: UTF-8."""
    try:
        encoded = encode_basestring(value.decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} of the text is not UTF-8") from None
    return quote(value.decode()) if "\\u" in encoded else encoded


def ascii_json(value: bytes) -> str:
    """JSON of an ascii."""
    try:
        return quote(value.decode("ascii"))
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} of the ascii is not ASCII") from None


def blob_json(value: bytes) -> str:
    """JSON of a blob: lower-case hex."""
    return f'"0x{value.hex()}"'


def custom_json(value: bytes) -> str:
    """JSON of a composite or unknown Java class, which the server itself cannot print: its hex."""
    return f'"0x{value.hex()}"' if value else EMPTY


def boolean_json(value: bytes) -> str:
    """JSON of a boolean: any byte but zero is true."""
    if len(value) == 1:
        return "true" if value[0] else "false"
    if not value:
        return EMPTY
    raise wrong_length(value, "boolean", "1")


def uuid_json(value: bytes) -> str:
    """JSON of a uuid or timeuuid."""
    if len(value) != 16:
        if not value:
            return EMPTY
        raise wrong_length(value, "uuid", "16")
    text = value.hex()
    return f'"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"'


def inet_json(value: bytes) -> str:
    """JSON of an inet: IPv6 is not shortened, and an IPv4 address mapped into it prints as IPv4."""
    if len(value) == 16 and not value.startswith(bytes(10) + b"\xff\xff"):
        groups = (value[at] << 8 | value[at + 1] for at in range(0, 16, 2))
        return f'"{":".join(f"{group:x}" for group in groups)}"'
    if len(value) in (4, 16):
        return f'"{".".join(map(str, value[-4:]))}"'
    if not value:
        return EMPTY
    raise wrong_length(value, "inet", "4 or 16")


def empty_json(value: bytes) -> str:
    """JSON of the type `empty`, which has no byte."""
    if value:
        raise wrong_length(value, "empty", "none")
    return EMPTY
