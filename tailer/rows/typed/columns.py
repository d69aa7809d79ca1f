"""The Arrow array of values from where they lie: compiled for common types, one by one for the others.

What is made of parts is in `nested`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailer.errors import SystemFailedError
from tailer.jit.addresses import address_of
from tailer.limits import OFFSET_MAX
from tailer.rows.typed.arrays import bool_array, fixed_array, text_array
from tailer.rows.typed.compiled import decimals
from tailer.rows.typed.compiled.decode import TOO_LONG, UUID_LETTERS, put_counters, put_ends, put_fixed, put_texts
from tailer.rows.typed.form import FormValue
from tailer.types import CqlType, forms, printed
from tailer.types.kinds import BY_NAME, ROWS
from tailer.types.texts import MARKER

Numbers = npt.NDArray[Any]


class Source(NamedTuple):
    """What was scanned, and its address."""

    data: bytes
    base: int


class Column(NamedTuple):
    """Where values lie by row; a length below zero is none. `bad`: marks of rows, to be added to.

    `places`: the addresses of the three.
    """

    off: Numbers
    length: Numbers
    bad: Numbers
    places: tuple[int, int, int]


def one_by_one(column: FormValue, source: Source, places: Column) -> pa.Array:
    data, read = source.data, column.read
    values: list[Any] = []
    for row, (off, length) in enumerate(zip(places.off.tolist(), places.length.tolist(), strict=True)):
        value = None
        if length >= 0:
            try:
                value = read(data[off : off + length])
            except ValueError:
                places.bad[row] = 1
        values.append(value)
    return pa.array(values, column.arrow)


def _fixed(value: FormValue, source: Source, places: Column) -> pa.Array:
    values, valid, count = _numbers(*FIXED[value.type.kind], source, places)
    return fixed_array(value.arrow, values, valid, count)


def _numbers(form: int, width: int, source: Source, places: Column) -> tuple[Numbers, Numbers, int]:
    """The bytes of the values, `width` each; a byte a row, whether it has one; how many have."""
    rows = len(places.off)
    memory = np.empty(rows * (width + 1), np.uint8)
    out = address_of(memory)
    off, length, bad = places.places
    count = put_fixed(form, source.base, off, length, rows, out, out + rows * width, bad)
    return memory[: rows * width], memory[rows * width :], count


def _booleans(column: FormValue, source: Source, places: Column) -> pa.Array:
    return bool_array(*_numbers(forms.BOOLEAN, 1, source, places))


def _texts(column: FormValue, source: Source, places: Column) -> pa.Array:
    rows, kind = len(places.off), column.type.kind
    memory = np.empty(4 * rows + 4 + rows, np.uint8)
    ends_at = address_of(memory)
    ends, valid = memory[: 4 * rows + 4].view(np.int32), memory[4 * rows + 4 :]
    off, length, _ = places.places
    count = put_ends(length, rows, int(kind in ZERO), ends_at, ends_at + 4 * rows + 4)
    if count == TOO_LONG:
        raise too_long(column.name)
    letters = np.empty(ends[-1], np.uint8)
    beyond = put_texts(source.base, off, rows, ends_at, address_of(letters))
    made = text_array(column.arrow, ends, letters, valid, count)
    mark_no_texts(column.type, made, ends, letters, beyond, places.bad)
    return made


def mark_any(marks: Numbers, ends: Numbers, bad: Numbers) -> None:
    """Marks rows with a mark between their offset and the next one."""
    before = np.zeros(len(marks) + 1, np.int64)
    np.cumsum(marks, out=before[1:])
    bad[before[ends[1:]] > before[ends[:-1]]] = 1


def mark_no_texts(type_: CqlType, made: pa.Array, ends: Numbers, letters: Numbers, beyond: int, bad: Numbers) -> None:
    """Marks rows of texts that do not stand for themselves (`types.texts`). `beyond`: whether any is beyond ASCII."""
    kind = type_.traits.printed
    if kind == printed.KEY_TEXT:
        # As bytes: what is no UTF-8 is looked for below.
        escaped = pc.starts_with(made.cast(pa.binary()), MARKER)
        if pc.any(escaped).as_py():
            bad[pc.fill_null(escaped, False).to_numpy(zero_copy_only=False)] = 1
    if not beyond:
        return
    if kind == printed.ASCII:
        mark_any(letters >= 0x80, ends, bad)
    elif kind in (printed.TEXT, printed.KEY_TEXT):
        _mark_no_utf8(made, ends, letters, bad)


def _mark_no_utf8(made: pa.Array, ends: Numbers, letters: Numbers, bad: Numbers) -> None:
    """Those are looked for only where there is one."""
    try:
        made.validate(full=True)
    except pa.ArrowInvalid:
        text = letters.tobytes()
        for row in range(len(bad)):
            try:
                text[ends[row] : ends[row + 1]].decode()
            except UnicodeDecodeError:
                bad[row] = 1


def too_long(column: str) -> SystemFailedError:
    return SystemFailedError(
        f'the rows of one batch have more than 2 GiB in column "{column}"',
        remedy="Read this table in the generic form.",
    )


def _uuids(column: FormValue, source: Source, places: Column) -> pa.Array:
    if len(places.off) > OFFSET_MAX // UUID_LETTERS:
        raise too_long(column.name)
    letters, valid, count = _numbers(forms.UUID, UUID_LETTERS, source, places)
    ends = np.zeros(len(valid) + 1, np.int32)
    np.cumsum(valid, out=ends[1:])
    return text_array(column.arrow, ends * UUID_LETTERS, letters, valid, count)


def _counters(column: FormValue, source: Source, places: Column) -> pa.Array:
    rows = len(places.off)
    memory = np.empty(9 * rows, np.uint8)
    out, (off, length, bad) = address_of(memory), places.places
    count = put_counters(source.base, off, length, rows, out, out + 8 * rows, bad)
    return fixed_array(column.arrow, memory[: 8 * rows], memory[8 * rows :], count)


def _decimals(column: FormValue, source: Source, places: Column) -> pa.Array:
    if not pa.types.is_decimal(column.arrow):
        return one_by_one(column, source, places)
    rows, digits = len(places.off), column.arrow.scale
    memory = np.empty((decimals.WIDTH + 1) * rows, np.uint8)
    out, (off, length, _) = address_of(memory), places.places
    values, valid = memory[: decimals.WIDTH * rows], memory[decimals.WIDTH * rows :]
    has_scale = int(BY_NAME[column.type.kind].printed == printed.DECIMAL)
    left = decimals.put_decimals(digits, has_scale, source.base, off, length, rows, out, out + len(values))
    if left:
        _put_left(column, source, places, values.view(_DECIMAL), valid)
    return fixed_array(column.arrow, values, valid, int(np.count_nonzero(valid)))


_DECIMAL: Final = np.dtype((np.void, decimals.WIDTH))


def _put_left(column: FormValue, source: Source, places: Column, values: Numbers, valid: Numbers) -> None:
    """The decimals that the compiled code has left, a 2 in `valid` each; rows are marked whose value is none."""
    for row in np.flatnonzero(valid == 2).tolist():
        off = int(places.off[row])
        try:
            value = column.read(source.data[off : off + int(places.length[row])])
        except ValueError:
            places.bad[row], valid[row] = 1, 0
            continue
        valid[row] = 1
        values[row] = pa.array([value], column.arrow).buffers()[1].to_pybytes()


FIXED: Final[dict[str, tuple[int, int]]] = {
    native.name: (native.form, native.size)
    for native in ROWS
    if native.size is not None and forms.NONE < native.form < forms.UUID
}
"""Kinds of constant size: how they are read, and the bytes of a value in memory."""

TEXTS: Final = frozenset(native.name for native in ROWS if native.form == forms.LETTERS)

ZERO: Final = frozenset(native.name for native in ROWS if native.zero)
"""Kinds of which no bytes at all are a value."""

Maker = Callable[[FormValue, Source, Column], pa.Array]

SCALARS: Final[dict[str, Maker]] = {
    **dict.fromkeys(FIXED, _fixed),
    **dict.fromkeys(TEXTS, _texts),
    **{native.name: _counters for native in ROWS if native.printed == printed.COUNTER},
    **{native.name: _decimals for native in ROWS if native.printed in (printed.DECIMAL, printed.VARINT)},
    **{native.name: _booleans for native in ROWS if native.form == forms.BOOLEAN},
    **{native.name: _uuids for native in ROWS if native.form == forms.UUID},
}
