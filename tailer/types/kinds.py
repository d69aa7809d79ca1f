"""The CQL types, a row each: whoever needs to know something of one by its name has it from here.

A new type is a row, and the functions of its text. What stands in a row: `cql.Native` and `cql.Nested`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from struct import Struct
from typing import Any, Final

from tailer.types import encode, floats, forms, integers, order, printed, scalars, texts, times, value_json, values
from tailer.types.counter import counter_json
from tailer.types.cql import CqlType, Native, Nested, Shape, ValueToJson
from tailer.types.fixed import fixed_json, fixed_reader
from tailer.types.jsontext import as_key


def _fixed(
    name: str,
    java: tuple[str, ...],
    code: str,
    *,
    text: ValueToJson = str,
    plain: Callable[[Any], Any] | None = None,
    **traits: Any,
) -> Native:
    """A type of constant size. `code`: its letter of `struct`; `text`, `plain`: of the number that this reads."""
    codec = Struct(">" + code)
    json, read = fixed_json(name, code, text), fixed_reader(name, code, plain)
    usual: dict[str, Any] = {"pack": codec.pack, "spell": text, "quoted": False, "size": codec.size}
    return Native(name, java, json=json, read=read, **usual | traits)


def _whole(name: str, java: str, code: str, **traits: Any) -> Native:
    """A signed integer."""
    return _fixed(
        name, (java,), code, printed=printed.INTEGER, parse=int, order=order.signed_order, exact=True, **traits
    )


def _letters(name: str, java: tuple[str, ...], arrow: str, **traits: Any) -> Native:
    """A type of any number of bytes that are taken as they are."""
    return Native(name, java, arrow, form=forms.LETTERS, order=order.unsigned_order, exact=True, **traits)


def _uuid(name: str, java: tuple[str, ...], **traits: Any) -> Native:
    return Native(
        name, java, "string", printed.UUID, scalars.uuid_json, scalars.parse_uuid, bytes,
        values.unquoted(scalars.uuid_json), form=forms.UUID, size=16, bare=True, exact=True, **traits,
    )  # fmt: skip


ROWS: Final = (
    _letters(
        "ascii", ("AsciiType",), "string", printed=printed.ASCII, json=scalars.ascii_json, parse=str,
        pack=scalars.ascii_bytes, read=scalars.ascii_value, zero=True, within="text",
    ),
    _whole("bigint", "LongType", "q", arrow="int64", form=forms.LONG, bare=True, python=("builtins.int",)),
    _letters(
        "blob", ("BytesType",), "binary", printed=printed.BLOB, json=scalars.blob_json, parse=scalars.parse_blob,
        pack=bytes, read=bytes, spell=scalars.blob_json, zero=True, python=("builtins.bytes",),
    ),
    _fixed(
        "boolean", ("BooleanType",), "?", arrow="bool", printed=printed.BOOLEAN, form=forms.BOOLEAN, bare=True,
        text=scalars.boolean_text, parse=scalars.no_value, order=order.unsigned_order, python=("builtins.bool",),
    ),
    Native(
        "counter", ("CounterColumnType",), "int64", printed.COUNTER, counter_json, scalars.no_value,
        scalars.no_value, values.counter_value, order.unsigned_order, str, quoted=False, shape=Shape.COUNTER,
    ),
    _letters(
        "custom", (), "binary", printed=printed.CUSTOM, json=scalars.custom_json, parse=scalars.parse_blob, pack=bytes,
        read=bytes, spell=scalars.custom_json,
    ),
    _fixed(
        "date", ("SimpleDateType",), "I", arrow="date32[day]", arrow_plain="int32", printed=printed.DATE,
        form=forms.DATE, text=times.date_text, plain=times.days_of, parse=times.parse_date, pack=times.date_bytes,
        spell=lambda days: f'"{times.day_text(days)}"', order=order.unsigned_order, quoted=True, exact=True,
        python=("datetime.date",),
    ),
    Native(
        "decimal", ("DecimalType",), "decimal128(38, 18)", printed.DECIMAL, integers.decimal_json, Decimal,
        integers.decimal_bytes, values.decimal_value, order.decimal_order, "{:f}".format, quoted=False,
        read_text=integers.decimal_text, python=("decimal.Decimal",),
    ),
    _fixed(
        "double", ("DoubleType",), "d", arrow="double", printed=printed.DOUBLE, form=forms.LONG, bare=True,
        text=floats.double_text, parse=float, order=order.double_order, python=("builtins.float",),
    ),
    Native(
        "duration", ("DurationType",), "struct<months: int32, days: int32, nanoseconds: int64>", printed.DURATION,
        times.duration_json, times.parse_duration, times.duration_bytes, values.duration_value, order.unsigned_order,
        value_json.object_json(dict.fromkeys(values.DURATION, str)), python=("datetime.timedelta",),
    ),
    Native(
        "empty", ("EmptyType",), "string", printed.NOTHING, scalars.empty_json, scalars.no_value, bytes,
        values.no_value, order.unsigned_order, size=0, bare=True,
    ),
    _fixed(
        "float", ("FloatType",), "f", arrow="float", printed=printed.FLOAT, form=forms.INT, bare=True,
        text=floats.float_text, parse=floats.parse_float, order=order.float_order,
    ),
    Native(
        "inet", ("InetAddressType",), "string", printed.INET, scalars.inet_json, scalars.parse_inet, bytes,
        values.unquoted(scalars.inet_json), order.unsigned_order,
        python=("ipaddress.IPv4Address", "ipaddress.IPv6Address"),
    ),
    _whole("int", "Int32Type", "i", arrow="int32", form=forms.INT, bare=True),
    _whole("smallint", "ShortType", "h", arrow="int16", form=forms.SHORT),
    _letters(
        "text", ("UTF8Type",), "string", printed=printed.TEXT, json=scalars.text_json, parse=str, pack=str.encode,
        read=texts.text_value, zero=True, synonyms=("varchar",), python=("builtins.str",),
    ),
    _fixed(
        "time", ("TimeType",), "q", arrow="int64", printed=printed.TIME, form=forms.LONG, text=times.time_text,
        parse=times.parse_time, order=order.unsigned_order, quoted=True, exact=True, python=("datetime.time",),
    ),
    _fixed(
        "timestamp", ("TimestampType", "DateType"), "q", arrow="timestamp[us, tz=UTC]", arrow_plain="int64",
        printed=printed.TIMESTAMP, form=forms.MILLIS, bare=True, text=times.timestamp_text, plain=values.micros,
        parse=times.parse_timestamp, spell=lambda micros: times.timestamp_text(micros // 1000),
        order=order.signed_order, quoted=True, exact=True, python=("datetime.datetime",),
    ),
    _uuid("timeuuid", ("TimeUUIDType",), order=order.timeuuid_order, within="uuid"),
    _whole("tinyint", "ByteType", "b", arrow="int8", form=forms.BYTE),
    _uuid("uuid", ("UUIDType", "LexicalUUIDType"), order=order.uuid_order, python=("uuid.UUID",)),
    Native(
        "varint", ("IntegerType",), "decimal128(38, 0)", printed.VARINT, integers.varint_json, integers.parse_whole,
        integers.varint_bytes, values.varint_value, order.varint_order,
        lambda number: str(int(number)), quoted=False, read_text=integers.varint_text,
    ),
)  # fmt: skip

LIST: Final = Nested(
    "list", ("ListType",), 1, Shape.LIST, printed.ARRAY, encode.array_encoder, values.list_reader,
    order.elements_order, value_json.array_json, values.list_of_cells,
)  # fmt: skip
SET: Final = Nested(
    "set", ("SetType",), 1, Shape.SET, printed.ARRAY, encode.array_encoder, values.list_reader,
    order.elements_order, value_json.array_json, values.set_of_cells,
)  # fmt: skip
MAP: Final = Nested(
    "map", ("MapType",), 2, Shape.MAP, printed.MAP, encode.map_encoder, values.map_reader,
    order.map_order, value_json.map_json, values.map_of_entries,
)  # fmt: skip
TUPLE: Final = Nested(
    "tuple", ("TupleType",), 0, Shape.SIMPLE, printed.TUPLE, encode.tuple_encoder, values.fields_reader,
    order.fields_order, value_json.fields_json,
)  # fmt: skip
UDT: Final = Nested(
    "udt", (), 0, Shape.UDT, printed.UDT, encode.udt_encoder, values.fields_reader,
    order.fields_order, value_json.fields_json, values.udt_of_cells,
)  # fmt: skip
VECTOR: Final = Nested(
    "vector", ("VectorType",), 1, Shape.SIMPLE, printed.VECTOR, encode.vector_encoder, values.vector_reader,
    order.vector_order, value_json.array_json,
)  # fmt: skip

NESTED: Final = (LIST, SET, MAP, TUPLE, UDT, VECTOR)

BY_NAME: Final[Mapping[str, Native]] = {native.name: native for native in ROWS}
CUSTOM: Final = BY_NAME["custom"]
TEXT: Final = BY_NAME["text"]
KEY_TEXT: Final = TEXT._replace(
    printed=printed.KEY_TEXT, json=scalars.key_text_json, read=texts.key_text_value, pack=texts.key_text_bytes
)
"""A text that is a key, or in one: see `texts`."""
STRICT_KEY_TEXT: Final = KEY_TEXT._replace(json=scalars.strict_key_text_json, read=texts.strict_key_text_value)
"""The same, where keys that are no UTF-8 are not delivered."""
DECIMAL: Final = BY_NAME["decimal"]
KEY_DECIMAL: Final = DECIMAL._replace(
    json=integers.key_decimal_json,
    read=lambda value: values.decimal_value(integers.checked_key_decimal(value)),
    read_text=lambda value: integers.decimal_text(integers.checked_key_decimal(value)),
)
"""A decimal that is a key, or in one."""
INET: Final = BY_NAME["inet"]
KEY_INET: Final = INET._replace(
    printed=printed.KEY_INET, json=scalars.key_inet_json, read=values.unquoted(scalars.key_inet_json),
    parse=scalars.parse_key_inet,
)  # fmt: skip
"""An address that is a key, or in one: an IPv4 address within an IPv6 one is another key than by itself."""
TIME: Final = BY_NAME["time"]
KEY_TIME: Final = TIME._replace(
    printed=printed.KEY_TIME, json=fixed_json("time", "q", times.key_time_text), spell=times.key_time_text,
    parse=times.parse_key_time,
)  # fmt: skip
"""A time that is a key, or in one: the server takes any number of nanoseconds, and shows the hour within a day."""


def native_type(native: Native) -> CqlType:
    """The type of one row of the table."""
    key_json = native.json if native.quoted else as_key(native.json)
    return CqlType(native.name, native, native.json, key_json, native.size if native.bare else None, native.shape)


NATIVES: Final[Mapping[str, CqlType]] = {
    word: native_type(native) for native in ROWS if native is not CUSTOM for word in (native.name, *native.synonyms)
}
"""Every word of CQL for a type without arguments."""

ELEMENT_ID: Final = NATIVES["timeuuid"]
"""What names an element of a non-frozen list."""


def custom(class_name: str) -> CqlType:
    """The type of a Java class that CQL has no word for: its bytes in hex."""
    return CqlType(f"'{class_name}'", CUSTOM, CUSTOM.json, CUSTOM.json)
