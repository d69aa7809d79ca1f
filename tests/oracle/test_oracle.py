"""The oracle itself: independent of what it judges, and right where a second source can say so."""

from __future__ import annotations

import ast
import json
import struct
from pathlib import Path

import pytest

from tests.helpers.sets import STAGES, Place, folders, stage_folders
from tests.oracle import expected, recording
from tests.oracle.cqltypes import Type, parse
from tests.oracle.jsontext import Number, Real, dumps, equal, ordered
from tests.oracle.segments import edges
from tests.oracle.values import ABSENT, value

HERE = Path(__file__).parent


def test_it_imports_nothing_that_it_judges() -> None:
    """Only the standard library, itself, and (in tests) the test runner."""
    allowed = {"__future__", "ast", "collections", "copy", "dataclasses", "functools", "json", "pathlib", "re"}
    allowed |= {"struct", "typing", "zlib", "pytest", "tests"}
    named = set()
    for file in HERE.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                named |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0
                named.add((node.module or "").split(".")[0])
    assert named <= allowed


def test_the_sets_are_those_that_are_tested(sets_root: Path) -> None:
    with_expected = {path.name for path in sets_root.iterdir() if (path / "expected").exists()}
    assert with_expected == {place.set for place in folders()}
    for name, count in STAGES.items():
        assert len(stage_folders(sets_root / name)) == count


@pytest.mark.parametrize(
    ("bits", "wide", "text"),
    [
        ("3fb999999999999a", True, "0.1"),
        ("3dcccccd", False, "0.1"),
        ("4415af1d78b58c40", True, "1.0E20"),
        ("8000000000000000", True, "-0.0"),
        ("0000000000000001", True, "4.9E-324"),
        ("7f7fffff", False, "3.4028235E38"),
        ("00000001", False, "1.4E-45"),
        ("3f50624dd2f1a9fc", True, "0.001"),
        ("416312d000000000", True, "1.0E7"),
        ("416312cfe0000000", True, "9999999.0"),
        ("c0c81cd6c8b43958", True, "-12345.678"),
    ],
)
def test_floats_in_java_layout(bits: str, wide: bool, text: str) -> None:
    number = Real(struct.unpack(">d" if wide else ">f", bytes.fromhex(bits))[0], wide)
    # Java writes two digits where one would do for the smallest double and float: compare those by value.
    assert number.text() == text or (text in {"4.9E-324", "1.4E-45"} and number.same(text))


def test_comparison_is_strict_but_for_float_spelling() -> None:
    assert equal({"a": Real(2e23, True)}, ordered('{"a":1.9999999999999998E23}'))
    assert not equal({"a": Real(0.0, True)}, ordered('{"a":-0.0}'))
    assert not equal({"a": Number("1.10")}, ordered('{"a":1.1}'))
    assert not equal({"a": 1, "b": 2}, ordered('{"b":2,"a":1}'))
    assert not equal({"a": 1}, ordered('{"a":"1"}'))
    assert not equal({"a": True}, ordered('{"a":1}'))
    assert dumps({"t": '\x01\x7f\u2028/"\\\n'}) == '{"t":"\\u0001\x7f\u2028/\\"\\\\\\n"}'
    assert dumps("\x1f") == '"\\u001F"'


def test_values_where_the_server_prints_too_little() -> None:
    assert value(Type("float"), None, bytes.fromhex("7fc00000")) == "NaN"
    assert value(Type("double"), None, bytes.fromhex("fff0000000000000")) == "-Infinity"
    assert value(Type("duration"), "", b"\0\0\0") == "0s"
    oldest = value(Type("timestamp"), "+292275056-05-16 16:47:04.192Z", b"\x80" + bytes(7))
    assert oldest == "-292275055-05-16 16:47:04.192Z"
    assert value(Type("boolean"), {"hex": "", "error": "x"}, b"") == ""
    assert value(Type("custom"), {"hex": "00ff", "error": "x"}, b"\0\xff") == "0x00ff"
    pair = parse("frozen<tuple<int, text>>", ())
    assert value(pair, {"hex": "0000000400000007", "error": "x"}, bytes.fromhex("0000000400000007")) == [7, None]
    named = parse("frozen<t>", (("t", (("A", "int"), ("b", "text"))),))
    assert dumps(value(named, {'"A"': 1}, bytes.fromhex("0000000400000001"))) == '{"A":1,"b":null}'
    assert dumps(value(parse("frozen<map<float, int>>", ()), {"null": 1}, bytes.fromhex(
        "00000001 00000004 7fc00000 00000004 00000001"))) == '{"NaN":1}'  # fmt: skip
    assert value(parse("vector<text, 2>", ()), ["a", ""], b"\x01a\x00") == ["a", ""]
    assert value(Type("int"), ABSENT, b"\xff\xff\xff\xfe") == -2


def test_the_worked_example_has_its_edges() -> None:
    """Section 11 of the format page: one section, ending at 87."""
    log = bytes.fromhex(
        "000000070000018bcfe5680100027b7d9362229a00000057cd7c58770000002f8a95e2450111111111222211ee8888012345678"
        "9ab040000000110fce9d96a43c0000000010176012400016100080000002a01450140cb0000000000000000"
    )
    assert edges(log) == (20, 87)
    assert edges(log[:80]) == (20,)
    assert edges(bytes(40)) == (0,)


@pytest.mark.parametrize("place", [place for place in folders() if isinstance(place.part, str)], ids=str)
def test_log_ends_lie_on_the_ends_of_entries_or_empty_sections(place: Place, sets_root: Path) -> None:
    """Every line of a segment ends within its log, and the last one at its end (or an empty section before it)."""
    record = recording(sets_root / place.set)
    for log in place.folder(sets_root).glob("*.log"):
        lines = record.lines.get(int(log.stem.rsplit("-", 1)[1]), [])
        ends = [line["end"] for line in lines]
        assert ends == sorted(ends)
        if place.set != "50-torn":
            assert not ends or ends[-1] <= edges(log.read_bytes())[-1]


def test_only_one_set_has_an_unfinished_segment_that_holds_others_back(sets_root: Path) -> None:
    found = set()
    for place in folders():
        if expected(sets_root / place.set, place.folder(sets_root)).exit_code == 9:
            found.add(str(place))
    assert found == {f"50-crash-gap/{number:02d}" for number in range(3, 11)}


def test_the_torn_log_ends_where_its_recorder_said(sets_root: Path) -> None:
    folder = sets_root / "50-torn" / "cdc_raw"
    last = 1795258981170
    reached = {reach.segment: reach.limit for reach in expected(folder.parent, folder).plan.reaches}
    assert reached[last] == 416146
    stopped = expected(folder.parent, folder, stopped=True)
    assert {reach.segment: reach.limit for reach in stopped.plan.reaches}[last] == 419981


@pytest.mark.parametrize("name", ["50-cases", "40-cases"])
def test_row_identities_are_unique_and_ascend(name: str, sets_root: Path) -> None:
    rows = [row.data for row in expected(sets_root / name, sets_root / name / "cdc_raw").rows]
    places = [(row["segment"], row["offset"], row["row"]) for row in rows]
    assert places == sorted(set(places))
    assert all(list(row) == list(rows[0]) for row in rows)
    assert {row["op"] for row in rows} == {"insert", "update", "delete_row", "delete_range", "delete_partition"}


def test_texts_are_the_rows(sets_root: Path) -> None:
    for row in expected(sets_root / "50-cases", sets_root / "50-cases" / "cdc_raw").rows:
        assert equal(row.data, ordered(row.text))
        assert json.loads(row.text)["event_id"] == row.data["event_id"]
