"""Columns of a batch as the texts that its JSON lines have, for databases that have no type for their values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa

from tailer.sinks.list_texts import strings_json
from tailer.typed_decode import decode_json, json_decoder

if TYPE_CHECKING:
    from tailer.sinks.base import Rows

_MOMENT: Final = re.compile(r"([+-]?)(\d+)(-\d\d-\d\d)(.*)", re.ASCII | re.DOTALL)
_decode_fields: Final = json_decoder(dict[str, msgspec.Raw]).decode
_NULL: Final = b"null"
_STRINGS: Final = pa.list_(pa.string())


def moment(text: str, before_christ: str) -> str:
    """A date, or a time with its date, with the year as databases read it. `before_christ`: the form of years before 1,
    of `{date}` and the rest, `{time}`."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        return text
    sign, digits, day, rest = found.groups()
    year = -int(digits) if sign == "-" else int(digits)
    if year > 0:
        return f"{year:04d}{day}{rest}"
    return before_christ.format(date=f"{1 - year:04d}{day}", time=rest)


def with_texts(batch: Rows, names: Sequence[str], *, bare: Sequence[str] = ()) -> pa.RecordBatch:
    """The batch with these columns as text: the JSON of their values, without the quotes of a string for those in
    `bare`."""
    arrow = batch.to_arrow()
    quick = [name for name in names if arrow.schema.field(name).type == _STRINGS and name not in bare]
    slow = [name for name in (*names, *bare) if name not in quick]
    made = {name: strings_json(arrow.column(name)) for name in quick}
    if slow:
        made |= _from_lines(batch.json_lines(), slow, frozenset(bare))
    arrays = [made.get(name, arrow.column(name)) for name in arrow.schema.names]
    return pa.RecordBatch.from_arrays(arrays, names=arrow.schema.names)


def _from_lines(lines: bytes, names: Sequence[str], bare: frozenset[str]) -> dict[str, pa.Array]:
    texts: dict[str, list[str | None]] = {name: [] for name in names}
    readers = [(name, texts[name].append, _bare if name in bare else _whole) for name in names]
    for line in lines.splitlines():
        fields = _decode_fields(line)
        for name, take, read in readers:
            value = bytes(fields[name])
            take(None if value == _NULL else read(value))
    return {name: pa.array(column, pa.string()) for name, column in texts.items()}


def _whole(value: bytes) -> str:
    return value.decode()


def _bare(value: bytes) -> str:
    if not value.startswith(b'"'):
        return value.decode()
    text: Any = decode_json(value, str)
    return str(text)
