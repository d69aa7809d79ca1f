"""JSON of every scalar type; expected texts are the server's (`AbstractType.toJSONString`) or follow from the bytes."""

from __future__ import annotations

import struct

import pytest

from tailer.types import parse_type

# type, bytes in hex, JSON
CASES = [
    ("ascii", "61227e", '"a\\"~"'),
    ("text", "", '""'),
    ("text", "08090a0c0d", '"\\b\\t\\n\\f\\r"'),
    ("text", "001f7f", '"\\u0000\\u001F\x7f"'),
    ("text", "5c7530306666", '"\\\\u00ff"'),
    ("text", "5c1f5c75303031661a", '"\\\\\\u001F\\\\u001f\\u001A"'),
    ("text", "2fe280a8c3a9f09f9880", '"/\u2028é😀"'),
    ("varchar", "61", '"a"'),
    ("blob", "00ffAB", '"0x00ffab"'),
    ("blob", "", '"0x"'),
    ("boolean", "00", "false"),
    ("boolean", "01", "true"),
    ("boolean", "02", "true"),
    ("tinyint", "80", "-128"),
    ("smallint", "8000", "-32768"),
    ("int", "80000000", "-2147483648"),
    ("bigint", "7fffffffffffffff", "9223372036854775807"),
    ("varint", "0001", "1"),
    ("varint", "ff", "-1"),
    ("varint", "010000000000000000", "18446744073709551616"),
    ("decimal", "0000000000", "0"),
    ("decimal", "00000002", "0.00"),
    ("decimal", "0000000200", "0.00"),
    ("decimal", "000000026e", "1.10"),
    ("decimal", "0000000601", "0.000001"),
    ("decimal", "0000000701", "1E-7"),
    ("decimal", "000000070a", "0.0000010"),
    ("decimal", "0000000700", "0E-7"),
    ("decimal", "ffffffff00", "0E+1"),
    ("decimal", "fffffffd01", "1E+3"),
    ("decimal", "ffffffecff", "-1E+20"),
    ("decimal", "ffffffff7b", "1.23E+3"),
    ("decimal", "8000000101", "1E+2147483647"),
    ("decimal", "80000000ff", "-1E+2147483648"),
    ("decimal", "7fffffff7b", "1.23E-2147483645"),
    ("timestamp", "0000018bcfe56878", '"2023-11-14 22:13:20.120Z"'),
    ("timestamp", "ffffffffffffffff", '"1969-12-31 23:59:59.999Z"'),
    ("timestamp", "ffffc77cedd32800", '"0001-01-01 00:00:00.000Z"'),
    ("timestamp", "ffffc77cedd327ff", '"0000-12-31 23:59:59.999Z"'),
    ("timestamp", "0000e677d21fdc00", '"+10000-01-01 00:00:00.000Z"'),
    ("timestamp", "7fffffffffffffff", '"+292278994-08-17 07:12:55.807Z"'),
    ("timestamp", "8000000000000000", '"-292275055-05-16 16:47:04.192Z"'),
    ("date", "80000000", '"1970-01-01"'),
    ("date", "00000000", '"-5877641-06-23"'),
    ("date", "ffffffff", '"+5881580-07-11"'),
    ("date", f"{2**31 - 719528:08x}", '"0000-01-01"'),
    ("date", f"{2**31 - 719529:08x}", '"-0001-12-31"'),
    ("date", f"{2**31 + 2932896:08x}", '"9999-12-31"'),
    ("date", f"{2**31 + 2932897:08x}", '"+10000-01-01"'),
    ("date", f"{2**31 + 11016:08x}", '"2000-02-29"'),
    ("time", f"{3_661_100_000_000:016x}", '"01:01:01.100000000"'),
    ("time", f"{86_399_999_999_999:016x}", '"23:59:59.999999999"'),
    # The server checks only the length of a time.
    ("time", "7fffffffffffffff", '"23:47:16.854775807"'),
    ("time", "ffffffffffffffff", '"00:00:00.00000000-1"'),
    ("time", "8000000000000000", '"0-23:0-47:0-16.00-85400-77500-808"'),
    ("uuid", "11111111222211ee88880123456789ab", '"11111111-2222-11ee-8888-0123456789ab"'),
    ("timeuuid", "11111111222211EE88880123456789AB", '"11111111-2222-11ee-8888-0123456789ab"'),
    ("inet", "7f000001", '"127.0.0.1"'),
    ("inet", "20010db8000000000000000000000001", '"2001:db8:0:0:0:0:0:1"'),
    ("inet", "00" * 15 + "01", '"0:0:0:0:0:0:0:1"'),
    ("inet", "00" * 10 + "ffff01020304", '"1.2.3.4"'),
    ("inet", "00" * 12 + "01020304", '"0:0:0:0:0:0:102:304"'),
    ("duration", "000000", '"0s"'),
    ("duration", "1c5002", '"1y2mo40d1ns"'),
    ("duration", "010305", '"-1mo2d3ns"'),
    ("duration", "0000ff" + "ff" * 8, '"-2562047h47m16s854ms775us808ns"'),
    ("duration", "000002ff", '"1ns"'),
    ("empty", "", '""'),
]


@pytest.mark.parametrize(("name", "found", "expected"), CASES)
def test_scalars_print_as_the_server_prints_them(name: str, found: str, expected: str) -> None:
    assert parse_type(name, {}).json(bytes.fromhex(found)) == expected


ZERO_LENGTH = {"blob": '"0x"'}
NATIVE = [
    "ascii", "bigint", "blob", "boolean", "counter", "date", "decimal", "double", "duration", "empty", "float", "inet",
    "int", "smallint", "text", "time", "timestamp", "timeuuid", "tinyint", "uuid", "varchar", "varint",
]  # fmt: skip


@pytest.mark.parametrize("name", NATIVE)
def test_a_zero_length_value_is_an_empty_string_but_of_a_blob(name: str) -> None:
    assert parse_type(name, {}).json(b"") == ZERO_LENGTH.get(name, '""')
    assert parse_type(name, {}).key_json(b"") == ZERO_LENGTH.get(name, '""')


WRONG = [
    ("ascii", "80"),
    ("bigint", "00"),
    ("boolean", "0100"),
    ("date", "000000"),
    ("decimal", "000000"),
    ("double", "00000000"),
    ("duration", "0000"),
    ("duration", "00"),
    ("duration", "020100"),  # one month, minus one day
    ("duration", "f1fffffffe0000"),  # months beyond 32 bits
    ("empty", "00"),
    ("float", "0000000000"),
    ("inet", "010203"),
    ("int", "0000000001"),
    ("smallint", "00"),
    ("text", "ff"),
    ("text", "c1bf"),
    ("time", "00"),
    ("timestamp", "0000000000000000ff"),
    ("timeuuid", "00"),
    ("tinyint", "0000"),
    ("uuid", "00" * 17),
]


@pytest.mark.parametrize(("name", "found"), WRONG)
def test_bytes_of_another_type_are_a_value_error_with_a_reason(name: str, found: str) -> None:
    with pytest.raises(ValueError, match=r"\w+ \w+") as failed:
        parse_type(name, {}).json(bytes.fromhex(found))
    assert failed.type is ValueError


DOUBLES = [
    (0.0, "0.0"),
    (-0.0, "-0.0"),
    (1.0, "1.0"),
    (-1.5, "-1.5"),
    (0.001, "0.001"),
    (0.0009999, "9.999E-4"),
    (9999999.0, "9999999.0"),
    (9999999.999, "9999999.999"),
    (1e7, "1.0E7"),
    (12345678.9, "1.23456789E7"),
    (123456789012345680.0, "1.2345678901234568E17"),
    (2e23, "2.0E23"),
    (1.7976931348623157e308, "1.7976931348623157E308"),
    (2.2250738585072014e-308, "2.2250738585072014E-308"),
    (5e-324, "5.0E-324"),
    (-0.00012, "-1.2E-4"),
    (float("nan"), '"NaN"'),
    (float("inf"), '"Infinity"'),
    (float("-inf"), '"-Infinity"'),
]


@pytest.mark.parametrize(("number", "expected"), DOUBLES)
def test_doubles_have_the_shortest_digits_in_javas_layout(number: float, expected: str) -> None:
    assert parse_type("double", {}).json(struct.pack(">d", number)) == expected


FLOATS = [
    ("3dcccccd", "0.1"),
    ("40490fdb", "3.1415927"),
    ("4b800000", "1.6777216E7"),
    ("4b800001", "1.6777218E7"),
    ("7f7fffff", "3.4028235E38"),
    ("ff7fffff", "-3.4028235E38"),
    ("00800000", "1.1754944E-38"),
    ("007fffff", "1.1754942E-38"),
    ("00000001", "1.0E-45"),
    ("80000001", "-1.0E-45"),
    ("00000000", "0.0"),
    ("80000000", "-0.0"),
    ("0c000000", "9.8607613E-32"),
    ("7fc00000", '"NaN"'),
    ("ffc00001", '"NaN"'),
    ("7f800000", '"Infinity"'),
    ("ff800000", '"-Infinity"'),
]


@pytest.mark.parametrize(("found", "expected"), FLOATS)
def test_floats_have_the_shortest_digits_of_32_bits(found: str, expected: str) -> None:
    assert parse_type("float", {}).json(bytes.fromhex(found)) == expected


def test_numbers_of_any_length_print() -> None:
    # Python's own str refuses more than 4300 digits.
    number = 10**200_000 + 7
    value = number.to_bytes(number.bit_length() // 8 + 1, "big")
    digits = "1" + "0" * 199_999 + "7"
    assert parse_type("varint", {}).json(value) == digits
    assert parse_type("decimal", {}).json(b"\0\0\0\2" + value) == f"{digits[:-2]}.{digits[-2:]}"
    negative = (-number).to_bytes(number.bit_length() // 8 + 1, "big", signed=True)
    assert parse_type("varint", {}).json(negative) == "-" + digits
