"""Records of a native log that are not what a writer makes, under checksums that are right; and segments cut short."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.damage.deliver import Outcome, check_sentence, deliver
from tests.helpers.logs.folder import LogFolder
from tests.helpers.logs.native import (
    NativeTable,
    NativeWriter,
    begin,
    cell,
    commit,
    rollback_to,
    row,
    savepoint,
    state,
)
from tests.native.logs import ORDERS, number, put

pytestmark = pytest.mark.damage

TYPED = NativeTable(
    bytes(range(16)),
    "shop",
    "orders",
    (("id", 0, "int", False), ("s", 2, "text", False), ("l", 3, "list<text>", False), ("u", 3, "frozen<pair>", False)),
    types=(("pair", (("a", "int"), ("b", "text"))),),
)
ELEMENTS = [999, [[bytes(range(16)), b"x", None, None, None], [bytes(range(1, 17)), None, 7, None, None]]]
PAIR = number(4) + number(1) + number(1) + b"b"
FULL = TYPED.change(
    [
        row(1, [number(1)], None, [cell(2, None, elements=ELEMENTS), cell(3, PAIR, ts=5)]),
        [1, [number(1)], None, True, 7, 60, 70, [cell(1, b"static")], None],
        row(4, [number(2)], None),
    ],
    attrs={"primary": True, "nested": {"a": [1, 2.5, None, b"x"]}},
)
FIRST = (7, NativeWriter(7).frame.end)
RECORDS = {
    "change": FULL,
    "definition": TYPED.definition,
    "begin": begin(1),
    "change of a transaction": put(1, "a", txn=2),
    "savepoint": savepoint(1, "s"),
    "rollback_to": rollback_to(1, FIRST),
    "commit": commit(1, FIRST, 1),
    "state": state(FIRST),
}


def flips(payload: bytes) -> Iterator[bytes]:
    """Three bits of each byte, not the same ones in neighbours."""
    for at in range(len(payload)):
        for bit in range(3):
            changed = bytearray(payload)
            changed[at] ^= 1 << (at + 3 * bit) % 8
            yield bytes(changed)


def cuts(payload: bytes) -> Iterator[bytes]:
    """Every length that an entry can have."""
    for length in range(10, len(payload)):
        yield payload[:length]


def log_with(payload: bytes) -> NativeWriter:
    """The payload among good records, before the commit of a transaction that has one change."""
    log = NativeWriter(7)
    log.section([TYPED.definition, ORDERS.definition, put(8, "before"), put(1, "a", txn=1)], restart=FIRST)
    log.frame.section([payload, put(9, "after"), commit(1, FIRST, 1), state((7, 10_000))])
    return log


def read(folder: Path, payload: bytes, **options: object) -> Outcome:
    log = log_with(payload)
    LogFolder(folder).put(log.frame, log.sidecar())
    found = deliver(folder, **options)
    if found.error is not None and found.code != 5:
        check_sentence(found.error)
    return found


def has(found: Outcome, value: str) -> bool:
    return any(f'"{value}"' in line for line in found.rows)


@pytest.mark.parametrize("kind", RECORDS)
def test_records_with_wrong_bytes(tmp_path: Path, kind: str) -> None:
    """Rows or one documented error; put aside, it takes no other change with it."""
    wrong = [*flips(RECORDS[kind]), *cuts(RECORDS[kind])]
    for payload in random.Random(kind).sample(wrong, min(len(wrong), 40)):
        found = read(tmp_path, payload)
        assert found.code in (0, 3, 4, 5), found.error
        # A definition is met when it is planned for, before the rows of that step.
        assert has(found, "before") or found.code in (3, 4), payload.hex()
        if found.code == 0:
            assert has(found, "after"), payload.hex()
        kept = read(tmp_path, payload, on_error="quarantine")
        # A transaction may be lost by it, which quarantine does not hide.
        assert kept.code in (0, 5), kept.error
        assert has(kept, "after") or kept.code == 5, payload.hex()


@settings(max_examples=60)
@given(
    payload=st.binary(min_size=10, max_size=60) | st.binary(min_size=9, max_size=40).map(lambda rest: b"\x97" + rest)
)
def test_any_bytes_at_all(tmp_path_factory: pytest.TempPathFactory, payload: bytes) -> None:
    found = read(tmp_path_factory.mktemp("cdc"), payload)
    assert found.code in (0, 3, 4, 5), found.error
    assert has(found, "before") or found.code in (3, 4)


def test_positions_far_away_are_not_walked_to(tmp_path: Path) -> None:
    """A commit, and a restart, that name other segments, whatever their numbers."""
    for at in ((0, 0), (1, 2**63), (6, 65), (2**64 - 1, 2**64 - 1), (7, 2**64 - 1)):
        found = read(tmp_path, commit(2, at, 1))
        assert found.code in (0, 5), at
        assert read(tmp_path, state(at), writes=True, consumer="c", state=tmp_path.with_name("state")).code == 0


def test_a_segment_cut_anywhere_is_waited_for_or_damaged(tmp_path: Path) -> None:
    log = log_with(FULL)
    whole, text = bytes(log.frame.data), log.sidecar()
    folder = LogFolder(tmp_path)
    for length in range(0, len(whole), 23):
        for sidecar, codes in ((text, (0, 4)), (text.partition("\n")[0], (0, 4)), ("", (0,))):
            log.frame.data[:] = whole[:length]
            folder.put(log.frame, sidecar)
            found = deliver(tmp_path)
            assert found.code in codes, (length, sidecar, found.error)
            assert len(found.rows) < 6


def test_a_sidecar_with_wrong_bytes_is_never_ahead(tmp_path: Path) -> None:
    log = log_with(FULL)
    good = log.sidecar().encode()
    path = LogFolder(tmp_path).put(log.frame, log.sidecar()).with_name(log.frame.sidecar_name)
    whole = len(deliver(tmp_path).rows)
    for text in (*flips(good), *(good[:length] for length in range(len(good)))):
        path.write_bytes(text)
        found = deliver(tmp_path)
        assert found.code in (0, 4), (text, found.error)
        assert len(found.rows) <= whole
