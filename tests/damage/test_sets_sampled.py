"""Damage anywhere in the genuine sets, sampled: every promised row, or those before it and one documented error.

Three readings of each set, others in each run; ten with `CDC_TAIL_TESTS=all` (the soak).
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tailer.segments.segment import KeySource, no_keys
from tests.damage import counts
from tests.damage.damages import Damage
from tests.damage.deliver import Outcome, check_sentence, deliver
from tests.damage.sample import Patient
from tests.helpers.amount import examples
from tests.helpers.sets import Place, copy_folder

pytestmark = [pytest.mark.damage, pytest.mark.slow]

SETS = ("50-cases-v8", "41-lz4", "50-snappy", "50-deflate", "50-zstd", "50-aes", "50-direct", "50-batch-sync")
EXAMPLES = examples(10)
"""Readings of each set: one takes about half a second."""

FIRST = 0.4
"""Which part of a file the first example is aimed at."""


def keys_of(set_dir: Path) -> KeySource:
    """The key as the recording gives it in hex."""
    told = set_dir / "encryption.json"
    if not told.exists():
        return no_keys
    key = bytes.fromhex(json.loads(told.read_text())["key_hex"])
    return lambda alias: key


@cache
def truth(folder: Path, set_dir: Path) -> tuple[str, ...]:
    outcome = deliver(folder, keys=keys_of(set_dir))
    assert outcome.error is None, outcome.error
    assert len(outcome.rows) > 500
    return tuple(outcome.rows)


DAMAGE = st.one_of(
    st.tuples(st.just("bit"), st.integers(0, 7)),
    st.tuples(st.just("zeros"), st.integers(1, 4096)),
    st.tuples(st.just("junk"), st.binary(min_size=1, max_size=64)),
    st.tuples(st.just("cut"), st.just(0)),
)


@pytest.mark.parametrize("name", SETS)
def test_a_damaged_log(name: str, sets_root: Path, tmp_path: Path) -> None:
    set_dir = sets_root / name
    folder = tmp_path / "cdc_raw"
    copy_folder(Place(name).folder(sets_root), folder)
    rows = truth(Place(name).folder(sets_root), set_dir)
    logs = sorted(folder.glob("*.log"))
    patients = {log: Patient(log, log.read_bytes()) for log in logs}

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(logs), st.floats(0, 1, exclude_max=True), DAMAGE)
    def damaged(log: Path, part: float, how: tuple[str, int | bytes]) -> None:
        patient = patients[log]
        # Behind the last entry a preallocated file has zeros only: aim at what counts. The first example is always 0.
        at = int((part + FIRST) % 1 * len(patient.healthy.rstrip(b"\0")))
        damage = damage_at(patient.healthy, at, *how)
        with patient.hurt(damage):
            outcome = deliver(folder, keys=keys_of(set_dir))
        counts.note(f"set {name}", damage.kind, judge(outcome, rows, log))

    damaged()


def damage_at(healthy: bytes, at: int, kind: str, detail: int | bytes) -> Damage:
    if kind == "cut":
        return Damage(kind, at, None)
    if kind == "bit":
        assert isinstance(detail, int)
        return Damage(kind, at, bytes([healthy[at] ^ 1 << detail]))
    return Damage(kind, at, bytes(detail)[: len(healthy) - at])


def judge(outcome: Outcome, rows: tuple[str, ...], log: Path) -> str:
    assert outcome.rows == list(rows[: len(outcome.rows)]), "rows that the log does not hold"
    if outcome.error is None:
        assert len(outcome.rows) == len(rows), f"{len(outcome.rows)} of {len(rows)} rows with exit 0: {outcome.said}"
        return "0"
    check_sentence(outcome.error)
    if outcome.code == 4:
        assert log.name.split("-")[2].removesuffix(".log") in outcome.error.sentence()
    return str(outcome.code)
