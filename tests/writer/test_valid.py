"""What no reader would take is refused at the append, by name; what was taken, every reader takes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tailer
from tailer.errors import UsageError
from tailer.limits import ATTRS_BYTES_MAX, KEY_PART_BYTES_MAX, RECORD_DEPTH_MAX
from tailer.scan.index import NO_DELETION, Status
from tailer.scan.record.record import CHANGE, decode_record
from tailer.scan.record.scan import scan_records
from tailer.scan.record.valid import TIME_MIN, TTL_MAX, check_attrs
from tailer.scan.tables import ScanTables
from writer_hooks import Change, Column, SegmentLog, Table

ROWS = Table(
    "ks.rows",
    [
        Column("a", "bigint", "partition_key"),
        Column("b", "text", "partition_key"),
        Column("c", "int", "clustering"),
        Column("tags", "set<text>"),
        Column("price", "decimal"),
        Column("at", "timestamp"),
        Column("day", "date"),
        Column("hour", "time"),
        Column("long", "duration"),
        Column("whole", "varint"),
    ],
)
KEY = {"a": 1, "b": "x", "c": 1}


def row(**values: Any) -> dict[str, Any]:
    return {**KEY, **values}


def nested(depth: int) -> Any:
    """So many arrays in one another, the innermost holding a number."""
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


REFUSED: list[tuple[str, str, Any]] = [
    ("write_ts", "a float", lambda: ROWS.insert(row(), write_ts=1.5)),  # type: ignore[arg-type]
    ("write_ts", "a truth", lambda: ROWS.delete(row(), write_ts=True)),
    ("write_ts", "a text", lambda: ROWS.delete_partition(row(), write_ts="1")),  # type: ignore[arg-type]
    ("write_ts", "too large", lambda: ROWS.insert(row(), write_ts=2**63)),
    ("write_ts", "none", lambda: ROWS.insert(row(), write_ts=NO_DELETION)),
    ("write_ts", "no room below", lambda: ROWS.replace(row(), write_ts=TIME_MIN)),
    ("write_ts", "ends before 1970", lambda: ROWS.insert(row(), write_ts=-10_000_000, ttl=5)),
    ("ttl", "negative", lambda: ROWS.insert(row(), ttl=-1)),
    ("ttl", "not whole", lambda: ROWS.update(row(whole=1), ttl=1.5)),  # type: ignore[arg-type]
    ("ttl", "a truth", lambda: ROWS.insert(row(), ttl=True)),
    ("ttl", "too large", lambda: ROWS.replace(row(), ttl=TTL_MAX + 1)),
    ("attrs", "a list", lambda: ROWS.insert(row(), attrs=["web"])),  # type: ignore[arg-type]
    ("attrs", "a text", lambda: ROWS.insert(row(), attrs="web")),  # type: ignore[arg-type]
    ("attrs", "keys that are no text", lambda: ROWS.insert(row(), attrs={1: "web"})),  # type: ignore[dict-item]
    ("attrs", "a number beyond 64 bits", lambda: ROWS.insert(row(), attrs={"n": 2**64})),
    ("attrs", "an object", lambda: ROWS.insert(row(), attrs={"n": object()})),
    ("attrs", "half a character", lambda: ROWS.insert(row(), attrs={"n": "\ud800"})),
    ("attrs", "too deep", lambda: ROWS.insert(row(), attrs={"n": nested(RECORD_DEPTH_MAX)})),
    ("attrs", "too large", lambda: ROWS.insert(row(), attrs={"n": "x" * ATTRS_BYTES_MAX})),
    ("price", "a float", lambda: ROWS.insert(row(price=0.1))),
    ("price", "a text", lambda: ROWS.insert(row(price="1.5"))),
    ("price", "a truth", lambda: ROWS.insert(row(price=True))),
    ("price", "no number", lambda: ROWS.insert(row(price=Decimal("Infinity")))),
    ("price", "beyond 32 bits", lambda: ROWS.insert(row(price=Decimal("1E+2147483649")))),
    ("price", "below 32 bits", lambda: ROWS.insert(row(price=Decimal("1E-2147483648")))),
    ("at", "microseconds", lambda: ROWS.insert(row(at=datetime(2026, 1, 1, 0, 0, 0, 1001, tzinfo=UTC)))),
    ("at", "beyond microseconds of 64 bits", lambda: ROWS.insert(row(at=2**60))),
    ("day", "a time of a day too", lambda: ROWS.insert(row(day=datetime(2026, 1, 1, 12, tzinfo=UTC)))),
    ("hour", "a zone", lambda: ROWS.insert(row(hour=datetime(2026, 1, 1, 12, tzinfo=UTC).timetz()))),
    ("long", "months beyond 32 bits", lambda: ROWS.insert(row(long=(2**31, 0, 0)))),
    ("long", "nanoseconds beyond 64 bits", lambda: ROWS.insert(row(long=(0, 0, 2**64)))),
    ("column b", "too long", lambda: ROWS.insert(row(b="x" * (KEY_PART_BYTES_MAX + 1)))),
    ("start_inclusive", "a text", lambda: ROWS.delete_range(row(), start=[1], start_inclusive="no")),  # type: ignore[arg-type]
    ("end_inclusive", "a number", lambda: ROWS.delete_range(row(), end=[1], end_inclusive=1)),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(
    ("name", "make"), [(name, make) for name, _, make in REFUSED], ids=[f"{name}: {what}" for name, what, _ in REFUSED]
)
def test_what_a_reader_would_refuse_is_refused_by_name(tmp_path: Path, name: str, make: Any) -> None:
    with SegmentLog.open(tmp_path, [ROWS], segment_bytes=1 << 20, threads=False) as log:
        log.append(ROWS.insert(row(whole=1)))
        with pytest.raises(UsageError, match=name) as caught:
            log.append(make())
        assert "ks.rows" in str(caught.value)
        with log.begin() as transaction, pytest.raises(UsageError, match=name):
            transaction.append(make())
        log.append(ROWS.insert(row(c=2)))
        log.sync()
        assert len(list(log.replay())) == 2
    assert [json.loads(each["clustering"])["c"] for each in read(tmp_path)] == [1, 2]


def read(folder: Path) -> list[dict[str, Any]]:
    return [each for batch in tailer.open(folder / "cdc_raw").read() for each in batch.to_pylist()]


@pytest.mark.parametrize(
    ("columns", "cdc"),
    [
        ([Column("a", "int", "partition_key"), Column("b", "int", "clustering", desc=1)], True),  # type: ignore[arg-type]
        ([Column("a", "int", "partition_key")], 1),
    ],
    ids=["an order that is no truth", "a flag that is no truth"],
)
def test_a_definition_that_no_reader_would_take_is_refused(columns: list[Column], cdc: Any) -> None:
    with pytest.raises(UsageError, match="does not decode"):
        Table("ks.rows", columns, cdc=cdc)


def test_the_bounds_of_attributes_are_those_of_the_scan() -> None:
    """One definition, two programs that hold to it: what the check lets pass the scan takes, and nothing more."""
    for attrs in (
        {"n": nested(RECORD_DEPTH_MAX - 1)},
        {"n": nested(RECORD_DEPTH_MAX)},
        {"n": [{}, nested(RECORD_DEPTH_MAX - 2)]},
        {"n": "x" * (ATTRS_BYTES_MAX - 6)},
        {"n": "x" * (ATTRS_BYTES_MAX - 5)},
        {},
    ):
        packed = msgspec.msgpack.encode(attrs)
        record = msgspec.msgpack.encode((CHANGE, ROWS.id, ROWS.fp, None, 5, [], msgspec.Raw(packed)))
        scanned = scan_records(record, [0], [len(record)], _everything(), number_from=0)
        assert (scanned.index.stopped.status == Status.OK) == _passes(packed), str(attrs)[:60]
        assert decode_record(record) is not None


def _everything() -> ScanTables:
    """No table is kept, and none is unknown: rows are counted alone."""
    return ScanTables((), skip_unknown=True)


def _passes(packed: bytes) -> bool:
    try:
        check_attrs(packed)
    except ValueError:
        return False
    return True


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=5),
    st.binary(max_size=5),
    st.decimals(),
    st.datetimes(),
    st.dates(),
    st.times(),
    st.timedeltas(),
    st.lists(st.text(max_size=2), max_size=3),
    st.dictionaries(st.one_of(st.text(max_size=2), st.integers()), st.integers(), max_size=2),
)


@settings(max_examples=40)
@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "write_ts": st.one_of(st.integers(-(2**64), 2**64), ANYTHING),
                "ttl": st.one_of(st.integers(-5, 2**31), ANYTHING),
                "attrs": ANYTHING,
                **dict.fromkeys(("tags", "price", "at", "day", "hour", "long", "whole"), ANYTHING),
            },
        ),
        min_size=1,
        max_size=6,
    )
)
def test_what_an_append_takes_every_reader_takes(tmp_path_factory: pytest.TempPathFactory, tried: Any) -> None:
    folder = tmp_path_factory.mktemp("log")
    with SegmentLog.open(folder, [ROWS], segment_bytes=1 << 18, threads=False) as log:
        # A table must have been met for its typed form.
        log.append(ROWS.insert(row(c=-1)))
        taken = 1
        for number, values in enumerate(tried):
            options = {name: values.pop(name) for name in ("write_ts", "ttl", "attrs") if name in values}
            try:
                log.append(ROWS.insert(row(c=number, **values), **options))
            except UsageError:
                continue
            taken += 1
        log.sync()
        assert sum(len(list(each.rows())) for each in log.replay()) == taken
    assert len(read(folder)) == taken
    options = {"table": "ks.rows", "decimals": "string"}
    typed = [each for batch in tailer.open(folder / "cdc_raw", **options).read() for each in batch.to_pylist()]
    assert len(typed) == taken


def test_a_change_made_by_hand_is_held_to_the_same(tmp_path: Path) -> None:
    made = ROWS.insert(row())
    with SegmentLog.open(tmp_path, [ROWS], segment_bytes=1 << 20, threads=False) as log:
        with pytest.raises(UsageError, match="write_ts"):
            log.append(Change(ROWS, made.rows, (), 2.5))  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="attrs"):
            log.append(Change(ROWS, made.rows, (), None, [1]))  # type: ignore[arg-type]
