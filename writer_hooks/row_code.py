"""The code that encodes rows of one model: made once for a table, straight through its columns. Knows no file.

A row of the class that declares its table is the commonest change. What is always the same of its record stands here as
constants between the values, and nothing is asked of a value that its field's type already says. The plain encoder
(`declared_table`, by name) says what is right: this gives the same bytes, and raises where it has none to give.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

import msgspec

from tailer.scan.record.record import INSERT, UPDATE, encode_record
from tailer.types import CqlType
from tailer.types.cql import Native
from writer_hooks.python_values import ToBytes

EncodeRow = Callable[[int, Any], bytes]
"""(op, a model's value) -> the row's array as msgpack; `python_values.VALUE_ERRORS` for what it does not encode."""

_NIL: Final = b"\xc0"
_FALSE: Final = b"\xc2"
_CELL: Final = b"\x96"
_ROW: Final = b"\x99"
_NOTHING_ELSE: Final = _NIL * 4
"""Of a cell, behind its value: ts, ttl, expires_at, elements."""
_UNTIMED: Final = _FALSE + _NIL * 3
"""Of a row, behind its clustering: not static, and no ts, ttl, expires_at."""

_BIN8: Final = 0xC4
_SHORT: Final = 1 << 8
_LONG: Final = 1 << 16


class Part(NamedTuple):
    """A column, and its field's. `none`, `unset`: the field's type says that it may be `None`, `msgspec.UNSET`."""

    name: str
    type: CqlType
    encode: ToBytes
    none: bool = False
    unset: bool = False


def row_encoder(key: Sequence[Part], clustering: Sequence[Part], data: Sequence[tuple[int, Part]]) -> EncodeRow:
    """What encodes rows of these columns. `data`: the columns of one cell each, with their numbers."""
    code = _Code()
    code.same(_array(len(key)))
    for part in key:
        code.value(part)
    if clustering:
        code.same(_array(len(clustering)))
        for part in clustering:
            code.value(part)
    else:
        code.same(_NIL)
    code.same(_UNTIMED)
    code.cells(data)
    code.same(_NIL)
    return code.made([part.name for part in (*key, *clustering, *(each for _, each in data))])


class _Code:
    """A function's text while it is written, and the values that its names stand for.

    Nothing of a program's own stands in the text: fields are `v0`, `v1`, …, in their order.
    """

    def __init__(self) -> None:
        self._names: dict[str, Any] = {
            "BIN": _SHORTS,
            "UNSET": msgspec.UNSET,
            "bin_head": _bin_head,
            "join": b"".join,
        }
        self._steps: list[str] = []
        self._parts: list[str] = []
        self._pending = b""
        self._values = 0

    def same(self, data: bytes) -> None:
        """Bytes that every row has."""
        self._pending += data

    def value(self, part: Part) -> None:
        """A value that is always there."""
        name = self._next(part)
        size = _size(part.type)
        if size:
            self.same(bytes((_BIN8, size)))
            self._differs(f"encode_{name}({name})")
        else:
            self._steps.append(f"{name} = encode_{name}({name})")
            self._differs(_head_of(name), name)

    def cells(self, data: Sequence[tuple[int, Part]]) -> None:
        """The array of cells. One that may be unset may be missing, and is counted when its value is seen."""
        if any(part.unset for _, part in data):
            self._names["ARRAYS"] = [_array(count) for count in range(len(data) + 1)]
            self._steps.append(f"count = {len(data)}")
            self._differs("ARRAYS[count]")
        else:
            self.same(_array(len(data)))
        for number, part in data:
            head = _CELL + encode_record(number)
            if part.none or part.unset:
                self._loose(head, part)
            else:
                self.same(head)
                self.value(part)
                self.same(_NOTHING_ELSE)

    def made(self, fields: Sequence[str]) -> EncodeRow:
        """The function of what was said, over the fields of a value."""
        self._flush()
        values = ", ".join(f"v{number}" for number in range(self._values))
        # What a row begins with is the same up to its operation.
        heads = [_ROW + encode_record(op) + self._names["same_0"] for op in (INSERT, UPDATE)]
        names = {**self._names, "get": attrgetter(*fields), "HEADS": heads}
        parts = ", ".join(["HEADS[op]", *self._parts[1:]])
        lines = [f"{values} = get(value)", *self._steps, f"return join(({parts}))"]
        text = "\n    ".join(["def encode_row(op, value):", *lines])
        exec(text, names)
        encode_row: EncodeRow = names["encode_row"]
        return encode_row

    def _loose(self, head: bytes, part: Part) -> None:
        name = self._next(part)
        self._names[f"head_{name}"] = head + (bytes((_BIN8, size)) if (size := _size(part.type)) else b"")
        self._names[f"none_{name}"] = head + _NIL + _NOTHING_ELSE
        self._names["REST"] = _NOTHING_ELSE
        length = "" if size else f"{_head_of(name)}, "
        steps = [f"if {name} is None:", f"    {name} = none_{name}"]
        if part.unset:
            steps += [f"elif {name} is UNSET:", f"    {name} = b''", "    count -= 1"]
        steps += [
            "else:",
            f"    {name} = encode_{name}({name})",
            f"    {name} = join((head_{name}, {length}{name}, REST))",
        ]
        self._steps += steps
        self._differs(name)

    def _next(self, part: Part) -> str:
        name = f"v{self._values}"
        self._values += 1
        self._names[f"encode_{name}"] = part.encode
        return name

    def _differs(self, *expressions: str) -> None:
        self._flush()
        self._parts += expressions

    def _flush(self) -> None:
        if self._pending:
            name = f"same_{len(self._parts)}"
            self._names[name] = self._pending
            self._parts.append(name)
            self._pending = b""


def _size(type_: CqlType) -> int | None:
    """Bytes of each value, where all have the same."""
    return type_.traits.size if isinstance(type_.traits, Native) else None


def _array(length: int) -> bytes:
    """The head of an array."""
    empty = encode_record([None] * length)
    return empty[: len(empty) - length]


def _head_of(name: str) -> str:
    """The code for the head of a value whose bytes have that name."""
    return f"BIN[len({name})] if len({name}) < {_SHORT} else bin_head(len({name}))"


def _bin_head(length: int) -> bytes:
    """The head of a long value."""
    return b"\xc5" + length.to_bytes(2, "big") if length < _LONG else b"\xc6" + length.to_bytes(4, "big")


_SHORTS: Final = tuple(bytes((_BIN8, length)) for length in range(_SHORT))
"""The heads of values by their length."""
