"""JSON as text: numbers keep their spelling when read, and are written as the change row spells them.

Knows JSON and Java's float layout, no CQL type.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from typing import Any

Json = Any
"""A value: None, bool, int, str, Number, Real, list, dict or Pairs."""


class Number(str):
    """A JSON number as it is spelled (`1E+3`, `0.00`): neither its scale nor its digits may be lost."""

    __slots__ = ()


class Real:
    """A float or double: equal by value, written in Java's layout."""

    __slots__ = ("value", "wide")

    def __init__(self, value: float, wide: bool) -> None:
        self.value = value
        self.wide = wide

    def same(self, text: str) -> bool:
        """Whether a number spelled so has these very bits (the sign of zero counts)."""
        layout = ">d" if self.wide else ">f"
        try:
            return struct.pack(layout, float(text)) == struct.pack(layout, self.value)
        except OverflowError:  # rounded up beyond the largest float
            return False

    def text(self) -> str:
        digits, exponent = self._shortest()
        sign = "-" if struct.pack(">d", self.value)[0] & 0x80 else ""
        if self.value == 0:
            return f"{sign}0.0"
        if 1e-3 <= abs(self.value) < 1e7:
            if exponent < 0:
                return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
            digits = digits.ljust(exponent + 1, "0")
            return f"{sign}{digits[: exponent + 1]}.{digits[exponent + 1 :] or '0'}"
        return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"

    def _shortest(self) -> tuple[str, int]:
        """The fewest significant digits that give these bits back, and the decimal exponent of the first one."""
        for count in range(17):
            text = f"{abs(self.value):.{count}e}"
            if count == 16 or Real(abs(self.value), self.wide).same(text):
                break
        mantissa, _, exponent = text.partition("e")
        return mantissa.replace(".", "").rstrip("0") or "0", int(exponent)


class Pairs:
    """A JSON object whose names may repeat and whose order counts."""

    __slots__ = ("items",)

    def __init__(self, items: Iterable[tuple[str, Json]]) -> None:
        self.items = list(items)


def loads(text: str | bytes) -> Json:
    """JSON with numbers that have a point or an exponent as `Number`."""
    return json.loads(text, parse_float=Number)


def ordered(text: str | bytes) -> Json:
    """JSON with every object as `Pairs` and every float as `Number`: for comparing."""
    return json.loads(text, parse_float=Number, object_pairs_hook=Pairs)


_ESCAPES = {chr(code): f"\\u{code:04X}" for code in range(0x20)} | {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}
_TABLE = str.maketrans(_ESCAPES)


def string(text: str) -> str:
    """A JSON string as Jackson writes it: hex escapes in upper case, everything from 0x20 on raw."""
    return f'"{text.translate(_TABLE)}"'


def dumps(value: Json) -> str:
    """Compact JSON text of the value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Number):
        return str.__str__(value)
    if isinstance(value, str):
        return string(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Real):
        return value.text()
    if isinstance(value, list):
        return f"[{','.join(map(dumps, value))}]"
    items = value.items if isinstance(value, Pairs) else value.items()
    return "{" + ",".join(f"{string(name)}:{dumps(child)}" for name, child in items) + "}"


def equal(want: Json, have: Json) -> bool:
    """Whether `have` (from `ordered`) is `want`: names in the same order, floats by value, other numbers by text."""
    if isinstance(want, Real):
        return isinstance(have, (Number, int)) and not isinstance(have, bool) and want.same(str(have))
    if isinstance(want, (dict, Pairs)):
        if not isinstance(have, Pairs):
            return False
        items = list(want.items() if isinstance(want, dict) else want.items)
        return [name for name, _ in items] == [name for name, _ in have.items] and all(
            equal(mine, theirs) for (_, mine), (_, theirs) in zip(items, have.items, strict=True)
        )
    if isinstance(want, list):
        return isinstance(have, list) and len(want) == len(have) and all(map(equal, want, have))
    return type(want) is type(have) and bool(want == have)
