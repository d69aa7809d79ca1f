"""The Arrow types of CQL types, as the typed form has them (architecture section 4). Knows no value.

Importing this loads pyarrow.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from tailer.types.cql import CqlType, Decimals, Native, Shape
from tailer.types.values import field_names, is_pairs

_DURATION: Final = pa.struct([("months", pa.int32()), ("days", pa.int32()), ("nanoseconds", pa.int64())])
_BY_NAME: Final[dict[str, pa.DataType]] = {
    str(type_): type_
    for type_ in (
        *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_()),
        *(pa.string(), pa.binary(), pa.date32(), pa.timestamp("us", "UTC"), _DURATION),
        *(pa.decimal128(38, 18), pa.decimal128(38, 0)),
    )
}
"""What the names in the table of CQL types mean."""


def arrow_type(type_: CqlType, decimals: Decimals, *, plain: bool = False) -> pa.DataType:
    """The Arrow type of a whole value. With `plain` dates and timestamps are the integers that they are made of."""
    traits = type_.traits
    if isinstance(traits, Native):
        if traits.read_text is not None and decimals == "string":
            return pa.string()
        return _BY_NAME[(plain and traits.arrow_plain) or traits.arrow]
    parts = [arrow_type(argument, decimals, plain=plain) for argument in type_.arguments]
    if is_pairs(type_):
        return pa.list_(pa.struct(list(zip(("key", "value"), parts, strict=True))))
    if traits.shape is Shape.MAP:
        return pa.map_(*parts)
    if traits.takes == 1:
        return pa.list_(parts[0])
    return pa.struct(list(zip(field_names(type_), parts, strict=True)))
