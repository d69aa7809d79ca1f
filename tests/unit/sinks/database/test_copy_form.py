"""The bytes that PostgreSQL is sent, against such that were written by hand from its page of the format."""

from __future__ import annotations

import pyarrow as pa

from tailer.sinks.database.copy_form import copy_rows
from tailer.sinks.database.sqlstates import documented, no_connection


def field(data: bytes | None) -> bytes:
    return b"\xff\xff\xff\xff" if data is None else len(data).to_bytes(4, "big") + data


def row(*fields: bytes | None) -> bytes:
    return len(fields).to_bytes(2, "big") + b"".join(map(field, fields))


def test_each_kind_and_null() -> None:
    batch = pa.record_batch(
        {
            "text": pa.array(["é", None, ""]),
            "long": pa.array([1, -2, None], pa.int64()),
            "bool": pa.array([True, None, False]),
            "tiny": pa.array([None, -1, 2], pa.int8()),
            "date": pa.array([10_957, None, 10_956], pa.int32()).cast(pa.date32()),
            "at": pa.array([946_684_800_000_001, 0, None], pa.int64()).cast(pa.timestamp("us", "UTC")),
            "float": pa.array([1.5, None, -2.0], pa.float32()),
        }
    )
    kinds = ["text", "int64", "bool", "int8", "date", "timestamp", "float"]
    long = (-946_684_800_000_000).to_bytes(8, "big", signed=True)
    assert copy_rows(batch, kinds) == (  # type: ignore[arg-type]
        row("é".encode(), bytes(7) + b"\1", b"\1", None, bytes(4), bytes(7) + b"\1", b"\x3f\xc0\0\0")
        + row(None, b"\xff" * 7 + b"\xfe", None, b"\xff\xff", None, long, None)
        + row(b"", None, b"\0", b"\0\2", b"\xff" * 4, None, b"\xc0\0\0\0")
    )


def test_a_part_of_a_batch_and_none() -> None:
    batch = pa.record_batch({"text": pa.array(["a", "b", "c"])})
    assert copy_rows(batch.slice(1, 1), ["text"]) == row(b"b")
    assert copy_rows(batch.slice(3), ["text"]) == b""


def test_what_is_before_all_time_is_refused_and_not_taken_for_it() -> None:
    """The least number of each is PostgreSQL's word for -infinity; numbers below it must not wrap around."""
    batch = pa.record_batch({"date": pa.array([-(2**31)], pa.int32()).cast(pa.date32())})
    assert copy_rows(batch, ["date"]) == row(b"\x80\0\0\1")
    times = pa.record_batch({"at": pa.array([-(2**63)], pa.int64()).cast(pa.timestamp("us", "UTC"))})
    assert copy_rows(times, ["timestamp"]) == row(b"\x80" + bytes(6) + b"\1")


def test_states() -> None:
    """The longest part of a state that is known counts."""
    codes = {state: documented("db", "it says", state).code for state in ("53300", "53100", "42601", "42501", "40001")}
    assert codes == {"53300": 8, "53100": 8, "42601": 7, "42501": 2, "40001": 8}
    assert [type(documented("db", "x", state)).__name__ for state in ("53300", None, "22021", "99999")] == [
        "TargetAwayError", "TargetAwayError", "RowsRefusedError", "SinkError",
    ]  # fmt: skip


def test_a_connection_that_does_not_come_up() -> None:
    for_good = ('password authentication failed for user "x"', 'database "x" does not exist')
    assert [no_connection("db", said, needs_password=False).code for said in for_good] == [2, 2]
    worth = ("Connection refused", "the database system is starting up", "SSL SYSCALL error: EOF detected",
             'too many connections for role "x"')  # fmt: skip
    assert [no_connection("db", said, needs_password=False).code for said in worth] == [8] * 4
