"""Payloads that are not what a server writes, under checksums that are right: rows or one documented error, no more.

In two layers. Every flipped bit and every prefix is decoded by itself (`decoding.py`). The whole follower reads those
of which decoding says something new (an error of another kind, other definitions), and a sixteenth of the others; it
must give what decoding gave, word by word. `CDC_TAIL_TESTS=all` (the soak): it reads every one.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tailer.errors import CdcError
from tests.damage import counts
from tests.damage.choice import ALL, SHARE
from tests.damage.decoding import Decoding, definitions
from tests.damage.deliver import Outcome, check_sentence
from tests.damage.sample import SEGMENT, TABLE, Sample, read, sample
from tests.helpers.log_writer import (
    TS,
    Bound,
    Cell,
    Column,
    Complex,
    Deletion,
    Liveness,
    LogFolder,
    Marker,
    Mutation,
    Row,
    Table,
    Update,
    completed,
    create_payload,
    encode_entry,
    encode_mutation,
    i32,
    insert_payload,
    segment_of,
    system_id,
)

pytestmark = pytest.mark.damage

WIDE = Table(
    TABLE.id,
    "ks",
    "t",
    (
        *TABLE.columns,
        Column("s", "static", "text"),
        Column("l", "regular", "list<text>"),
        Column("m", "regular", "map<text, int>"),
        Column("f", "regular", "frozen<map<text, int>>"),
        Column("d", "regular", "decimal"),
        Column("x", "regular", "duration"),
        Column("i", "regular", "inet"),
    ),
)
GONE = Deletion(TS, TS // 1_000_000)
FULL: Mutation = (
    Update(
        WIDE,
        i32(1),
        (
            Row(
                (b"a",),
                Liveness(TS, 3600, TS // 1_000_000 + 3600),
                None,
                (
                    ("v", Cell(i32(1), like_row=2)),
                    ("l", Complex((Cell(b"e", TS, path=bytes(range(16))),), Deletion(TS - 1, TS // 1_000_000))),
                    ("m", Complex((Cell(i32(2), TS, path=b"k"), Cell(ts=TS, deleted=TS // 1_000_000, path=b"q")))),
                    ("f", Cell(i32(1) + i32(1) + b"k" + i32(4) + i32(7), TS)),
                    ("d", Cell(i32(2) + b"\x01\x02", TS)),
                    ("x", Cell(b"\x02\x04\x06", TS)),
                    ("i", Cell(b"\x7f\0\0\1", TS)),
                ),
            ),
            Row((b"b",), deletion=GONE),
            Marker(Bound.EXCL_START, (b"c",), (GONE,)),
            Marker(Bound.INCL_END_EXCL_START, (b"d",), (GONE, GONE)),
            Marker(Bound.INCL_END, (b"e",), (GONE,)),
        ),
        static=Row(cells=(("s", Cell(b"hi", TS)),)),
        deletion=Deletion(TS - 5, TS // 1_000_000),
    ),
)
PAYLOADS = {"rows": encode_mutation(FULL), "definition": create_payload(WIDE)}
BEFORE, AFTER = insert_payload(WIDE, 2, "x", 2), insert_payload(WIDE, 3, "y", 3)


class Bed:
    """A folder where one payload changes from reading to reading."""

    def __init__(self, path: Path) -> None:
        self.folder = LogFolder(path)
        self.base = create_payload(WIDE, TS - 1)

    def read(self, payload: bytes, **options: object) -> tuple[Outcome, int]:
        """The outcome, and the offset of the entry with this payload."""
        writer = segment_of(SEGMENT, [[self.base, BEFORE, payload, AFTER]])
        self.folder.put(writer, completed(writer))
        return read(self.folder.path, **options), writer.entries[2].start


@pytest.fixture
def bed(tmp_path: Path) -> Bed:
    return Bed(tmp_path / "cdc_raw")


def flips(payload: bytes, bits: int = 8) -> Iterator[bytes]:
    """Each bit flipped, or so many of each byte, not the same ones in neighbouring bytes."""
    for at in range(len(payload)):
        for bit in range(bits):
            yield payload[:at] + bytes([payload[at] ^ 1 << (at + bit) % 8]) + payload[at + 1 :]


def values(outcome: Outcome) -> list[object]:
    """What the rows set in `v`; the entry in question sets other columns, or 1."""
    found = [json.loads(row)["columns"] for row in outcome.rows]
    return [columns and columns.get("v") for columns in found]


def two_flips(payload: bytes) -> Iterator[bytes]:
    return flips(payload, 2)


def prefixes(payload: bytes) -> Iterator[bytes]:
    return (payload[:length] for length in range(10, len(payload)))


def judge(test: str, bed: Bed, payload: bytes) -> Outcome:
    """Rows, or error 3 at the entry; the entries around it are whole either way. What came out."""
    outcome, at = bed.read(payload)
    if outcome.error is None:
        assert values(outcome)[:1] == [2]
        counts.note(test, "plain", "0")
        return outcome
    check_sentence(outcome.error)
    assert outcome.code == 3, outcome.error
    counts.note(test, "plain", "3")
    assert values(outcome) in ([2], [])
    kept, _ = bed.read(payload, on_error="quarantine")
    if kept.error is not None:
        # A wanted table's type that means nothing leaves no entry to go on with.
        check_sentence(kept.error)
        assert (kept.code, payload[1:17] != TABLE.id.bytes) == (3, True), kept.error
        return outcome
    told = f"{SEGMENT}:{at}" in outcome.error.sentence()
    # A change of definitions that can be read counts, right or wrong: then it is the next entry that does not fit.
    assert told or payload[1:17] != TABLE.id.bytes
    if kept.kept and told:
        assert [(place.offset, data[8:-4]) for place, data in kept.kept] == [(at, payload)]
        assert values(kept) == [2, 3]
    return outcome


def chosen(met: Collection[object], key: object, payload: bytes) -> bool:
    """Whether the follower reads it: decoding said something new, or it is one of the others' share."""
    return ALL or key not in met or zlib.crc32(payload) % SHARE == 0


def kind(error: CdcError) -> str:
    """What an error says, without the names and numbers that it found."""
    return re.sub(r'".*"|[0-9a-f-]{16,}', "…", error.what, flags=re.DOTALL)


@contextmanager
def telling(payload: bytes) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        error.add_note(payload.hex())
        raise


@pytest.mark.slow
@pytest.mark.parametrize("how", [flips, prefixes])
def test_wrong_rows(how: Callable[[bytes], Iterator[bytes]], bed: Bed, tmp_path: Path) -> None:
    """Alone or read by the follower: all rows of the entry or none, and those around it."""
    assert bed.read(PAYLOADS["rows"])[0].error is None
    met: set[object] = set()
    with Decoding(tmp_path / "alone", bed.base) as alone:
        for payload in how(PAYLOADS["rows"]):
            with telling(payload):
                rows, fault = check_rows(alone, bed.base, payload)
                assert len(rows) > 2 or fault is not None
                key = len(rows), fault and kind(fault)
                if not chosen(met, key, payload):
                    continue
                met.add(key)
                outcome = judge(f"payload {how.__name__}, rows", bed, payload)
                assert outcome.rows == (rows if fault is None else rows[:1])
                assert str(outcome.error) == str(fault)
    assert len(met) > 2


def check_rows(alone: Decoding, base: bytes, payload: bytes) -> tuple[list[str], CdcError | None]:
    rows, faults = alone.rows(1, base, BEFORE, payload, AFTER)
    assert [json.loads(row)["columns"] for row in (rows[0], rows[-1])] == [{"v": 2}, {"v": 3}]
    if not faults:
        return rows, None
    ((at, error, data),) = faults
    check_sentence(error)
    assert error.code == 3
    assert str(at) in error.sentence()
    assert (len(rows), data) == (2, encode_entry(payload))
    return rows, error


@pytest.mark.slow
@pytest.mark.parametrize("how", [two_flips, prefixes])
def test_a_wrong_definition(how: Callable[[bytes], Iterator[bytes]], bed: Bed, tmp_path: Path) -> None:
    """Alone or read by the follower: an error, or definitions, and these decide all that comes."""
    assert bed.read(PAYLOADS["definition"])[0].error is None
    before = definitions(tmp_path, bed.base)
    met: dict[object, object] = {}
    with Decoding(tmp_path / "alone", bed.base) as alone:
        for payload in how(PAYLOADS["definition"]):
            with telling(payload):
                found = definitions(tmp_path, bed.base, BEFORE, payload, AFTER)
                # What changes no definition may be none: then it is rows, or no mutation at all.
                rows, fault = check_rows(alone, bed.base, payload) if found == before else ([], None)
                error = found if isinstance(found, CdcError) else fault
                key = repr(found) if error is None else kind(error)
                if not chosen(met, key, payload):
                    continue
                outcome = judge(f"payload {how.__name__}, definition", bed, payload)
                told = outcome.rows, str(outcome.error), outcome.said
                assert error is None or str(error) == str(outcome.error)
                assert found != before or outcome.rows == (rows if fault is None else rows[:1])
                assert met.setdefault(key, told) == told or error is not None
    assert len(met) > 2


IDS = st.sampled_from(
    [TABLE.id.bytes, *(system_id("system_schema", name).bytes for name in ("tables", "columns", "types"))]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.builds(lambda table, rest: b"\1" + table + rest, IDS, st.binary(max_size=80)))
def test_any_bytes_behind_a_known_id(bed: Bed, payload: bytes) -> None:
    judge("payload any bytes", bed, payload)


def test_the_samples_are_alike(samples: Path) -> None:
    """All codecs hold the same rows but for where they lie."""
    found: list[Sample] = [sample(form, samples) for form in ("plain", "lz4", "aes")]
    values = [[row.partition('"columns":')[2][:8] for row in it.rows] for it in found]
    assert values[0] == values[1] == values[2]
