"""The JSON text of a change's attributes, a msgpack map (architecture section 10), for the column `attrs`.

Keys are text: those that are none are the JSON text of what they are. Integers are exact; floats as Python's shortest
spelling of a double, but `"NaN"`, `"Infinity"` and `"-Infinity"`; bytes, extensions (without their type) and text that
is no UTF-8 as `"0x…"`; arrays and maps nested. Compact, in the map's own order. Every map that a scan let pass has one.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any, Final

from tailer.scan.index import Lines
from tailer.scan.record.heads import is_map, parts
from tailer.types import quote

_QUOTE: Final = '"'
_FLOATS: Final = {0xCA: struct.Struct(">f"), 0xCB: struct.Struct(">d")}
_WORDS: Final = {0xC0: "null", 0xC2: "false", 0xC3: "true"}
_UNSIGNED: Final = range(0xCC, 0xD0)
_SIGNED: Final = range(0xD0, 0xD4)


def attrs_texts(lines: Lines, data: bytes) -> dict[int, str]:
    """By number of the entry, of lines that a scan of `data` gave."""
    known: dict[bytes, str] = {}
    texts: dict[int, str] = {}
    for entry, off, length in lines.tolist():
        packed = data[off : off + length]
        text = known.get(packed)
        if text is None:
            text = known[packed] = _json(packed, 0)[0]
        texts[entry] = text
    return texts


def _json(data: bytes, at: int) -> tuple[str, int]:
    """The text of the value at `at`, and the offset behind it."""
    head = data[at]
    inside, off, behind = parts(data, at, len(data))
    if is_map(head):
        return _joined(data, off, inside // 2, _pair, "{}")
    if inside or head & 0xF0 == 0x90 or head in (0xDC, 0xDD):
        return _joined(data, off, inside, _json, "[]")
    return _scalar(head, data[off:behind]), behind


def _joined(
    data: bytes, at: int, count: int, text_of: Callable[[bytes, int], tuple[str, int]], around: str
) -> tuple[str, int]:
    texts: list[str] = []
    for _ in range(count):
        text, at = text_of(data, at)
        texts.append(text)
    return around[0] + ",".join(texts) + around[1], at


def _pair(data: bytes, at: int) -> tuple[str, int]:
    key, at = _json(data, at)
    value, at = _json(data, at)
    return f"{key if key[0] == _QUOTE else quote(key)}:{value}", at


def _scalar(head: int, held: bytes) -> str:
    if head < 0x80 or head >= 0xE0:
        return str(head if head < 0x80 else head - 256)
    if head in _WORDS:
        return _WORDS[head]
    if head in _FLOATS:
        return _float(*_FLOATS[head].unpack(held))
    if head in _UNSIGNED or head in _SIGNED:
        return str(int.from_bytes(held, "big", signed=head in _SIGNED))
    if head < 0xC0 or 0xD9 <= head <= 0xDB:
        try:
            return quote(held.decode())
        except UnicodeDecodeError:
            pass
    return f'"0x{held.hex()}"'


def _float(value: Any) -> str:
    if math.isfinite(value):
        return repr(value)
    return '"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'
