"""One value: the server's JSON of it, with the deviations of the change row.

The server's text decides; the bytes are looked at only where that text says too little: NaN and infinities (`null`),
zero durations, years before 1, zero-length values, and what the server cannot print at all.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Final

from tests.oracle.cqltypes import Type
from tests.oracle.jsontext import Json, Number, Pairs, Real, dumps, loads


class _Absent:
    """The server printed nothing for this value."""


ABSENT: Final = _Absent()

_TEXT_KEYS = frozenset({"ascii", "text", "varchar", "blob", "date", "time", "timestamp"}) | frozenset(
    {"uuid", "timeuuid", "inet", "duration", "empty", "custom"}
)
_FIXED = {"boolean": 1, "int": 4, "float": 4, "bigint": 8, "double": 8, "timestamp": 8, "uuid": 16, "timeuuid": 16}
_PLAIN: dict[str, Callable[[bytes], Json]] = {
    "int": lambda raw: int.from_bytes(raw, "big", signed=True),
    "bigint": lambda raw: int.from_bytes(raw, "big", signed=True),
    "text": lambda raw: raw.decode(),
}


def value(kind: Type, server: Json, raw: bytes | None) -> Json:
    """`raw` is None where the recording has no bytes (clustering values of the sets with stages)."""
    if isinstance(server, dict) and set(server) == {"hex", "error"} and kind.name != "udt":
        server = ABSENT
    if raw is None:
        if kind.args or server is None:
            raise ValueError(f"{kind} needs its bytes")
        return _scalar(kind, server, None)
    if kind.name in _CONTAINERS:
        return _CONTAINERS[kind.name](kind, server, raw)
    if not raw:
        return "0x" if kind.name == "blob" else ""
    return _scalar(kind, server, raw)


def key_text(kind: Type, server: Json, raw: bytes) -> str:
    """The value as an object's name: its own text if it is a string, else its compact JSON."""
    made = value(kind, server, raw)
    return made if isinstance(made, str) and not isinstance(made, Number) else dumps(made)


def _scalar(kind: Type, server: Json, raw: bytes | None) -> Json:
    if kind.name in ("float", "double"):
        return _real(kind.name == "double", server, raw)
    if isinstance(server, _Absent):
        if raw is None:
            raise ValueError(f"{kind} has neither text nor bytes")
        return _PLAIN[kind.name](raw) if kind.name in _PLAIN else _opaque(kind, raw)
    if kind.name == "duration" and server == "":
        return "0s"
    if kind.name == "timestamp" and raw is not None:
        return _timestamp(server, raw)
    return server


def _opaque(kind: Type, raw: bytes) -> str:
    if kind.name != "custom":
        raise ValueError(f"no rule for {kind} without the server's text")
    return f"0x{raw.hex()}"


def _real(wide: bool, server: Json, raw: bytes | None) -> Json:
    if server is None or isinstance(server, _Absent):
        if raw is None:
            raise ValueError("a float that is no number needs its bytes")
        number: float = struct.unpack(">d" if wide else ">f", raw)[0]
        if number != number:
            return "NaN"
        if number in (float("inf"), float("-inf")):
            return "Infinity" if number > 0 else "-Infinity"
        return Real(number, wide)
    return server if server == "" else Real(float(server), wide)


def _timestamp(server: str, raw: bytes) -> str:
    if int.from_bytes(raw, "big", signed=True) >= -62_135_596_800_000:  # 0001-01-01
        return server
    year_of_era, rest = server.lstrip("+").split("-", 1)
    proleptic = int(year_of_era) - 1
    return f"{'-' if proleptic else ''}{proleptic:04d}-{rest}"


def _frames(raw: bytes, count: int | None = None) -> Iterator[bytes | None]:
    """Values behind 4-byte lengths; a negative length is null. Without a count: as many as there are."""
    at = 0
    while (count is None or count > 0) and at < len(raw):
        size = int.from_bytes(raw[at : at + 4], "big", signed=True)
        yield None if size < 0 else raw[at + 4 : at + 4 + size]
        at += 4 + max(size, 0)
        count = None if count is None else count - 1
    if at != len(raw) or count:
        raise ValueError(f"{raw.hex()}: lengths do not add up")


def _children(server: Json, count: int) -> list[Json]:
    """The server's JSON of the parts by place, whatever their names were; what it does not have is absent."""
    if server is None or isinstance(server, _Absent):
        return [ABSENT] * count
    parts = list(server.values()) if isinstance(server, dict) else list(server)
    return parts + [ABSENT] * (count - len(parts))


def _elements(kind: Type, server: Json, raw: bytes) -> Json:
    parts = list(_frames(raw[4:], int.from_bytes(raw[:4], "big"))) if raw else []
    return [_part(kind.args[0], child, part) for child, part in _zip(_children(server, len(parts)), parts)]


def _map(kind: Type, server: Json, raw: bytes) -> Json:
    parts = list(_frames(raw[4:], 2 * int.from_bytes(raw[:4], "big"))) if raw else []
    count = len(parts) // 2
    names: list[Json] = [ABSENT] * count if isinstance(server, _Absent) else list(server)
    made = []
    for name, child, key, item in zip(names, _children(server, count), parts[0::2], parts[1::2], strict=True):
        assert key is not None
        made.append((key_text(kind.args[0], _key(kind.args[0], name, key), key), _part(kind.args[1], child, item)))
    return Pairs(made)


def _key(kind: Type, name: Json, raw: bytes) -> Json:
    """The JSON that stands behind a name in the server's object."""
    return name if isinstance(name, _Absent) or not raw or kind.name in _TEXT_KEYS else loads(name)


def _fields(kind: Type, server: Json, raw: bytes) -> Json:
    parts = list(_frames(raw))
    children = _children(server, len(kind.args))[: len(kind.args)]
    missing = len(kind.args) - len(parts)
    if missing < 0:
        raise ValueError(f"{raw.hex()} has more fields than {kind}")
    parts += [None] * missing
    made = [_part(arg, child, part) for arg, child, part in zip(kind.args, children, parts, strict=True)]
    return Pairs(zip(kind.fields, made, strict=True)) if kind.name == "udt" else made


def _vector(kind: Type, server: Json, raw: bytes) -> Json:
    (element,) = kind.args
    fixed = fixed_size(element)
    parts: list[bytes | None] = []
    at = 0
    while len(parts) < kind.size:
        size, at = (fixed, at) if fixed else _vint(raw, at)
        parts.append(raw[at : at + size])
        at += size
    if at != len(raw):
        raise ValueError(f"{raw.hex()} is no {kind}")
    return [_part(element, child, part) for child, part in _zip(_children(server, kind.size), parts)]


def fixed_size(kind: Type) -> int:
    """Bytes of a value in a vector, 0 if each says its own."""
    return fixed_size(kind.args[0]) * kind.size if kind.name == "vector" else _FIXED.get(kind.name, 0)


def _vint(raw: bytes, at: int) -> tuple[int, int]:
    extra = 8 - (raw[at] ^ 0xFF).bit_length()
    first = raw[at] & (0xFF >> extra)
    return int.from_bytes(bytes([first]) + raw[at + 1 : at + 1 + extra], "big"), at + 1 + extra


def _part(kind: Type, server: Json, raw: bytes | None) -> Json:
    return None if raw is None else value(kind, server, raw)


def _zip(children: list[Json], parts: list[bytes | None]) -> Iterator[tuple[Json, bytes | None]]:
    return zip(children, parts, strict=True)


_CONTAINERS: dict[str, Callable[[Type, Json, bytes], Json]] = {
    "list": _elements,
    "set": _elements,
    "map": _map,
    "tuple": _fields,
    "udt": _fields,
    "vector": _vector,
}
