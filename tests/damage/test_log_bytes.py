"""Every prefix, every flipped bit, every zeroed byte and block of one small segment per codec."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.damage import counts
from tests.damage.deliver import Outcome
from tests.damage.rules import crashed, promised, told_end
from tests.damage.sample import Patient, Sample, read, sample
from tests.helpers.log_writer import FORMATS, LogFolder, completed, restarted

pytestmark = [pytest.mark.damage, pytest.mark.slow]

Judge = Callable[[Outcome, Sample, bytes], str]
"""From what came out, the sample and the damaged file's bytes to how the reading ended."""


class Mode:
    """A sidecar, the options of the run, and what may come out of it."""

    def __init__(self, sidecar: Callable[[Sample], str | None], judge: Judge, *, stopped: bool = False) -> None:
        self.sidecar = sidecar
        self.judge = judge
        self.stopped = stopped


def judge_unfinished(outcome: Outcome, it: Sample, data: bytes) -> str:
    return promised(outcome, it.vouched(it.before_last))


def judge_finished(outcome: Outcome, it: Sample, data: bytes) -> str:
    if len(data) == it.writer.end != len(it.writer.data):
        # Cut to just the length that the sidecar names, the number could as well be a restart's.
        return crashed(outcome, it, (), data)
    return promised(outcome, it.rows)


def judge_stopped(outcome: Outcome, it: Sample, data: bytes) -> str:
    return crashed(outcome, it, it.vouched(it.before_last), data)


def judge_blind(outcome: Outcome, it: Sample, data: bytes) -> str:
    return crashed(outcome, it, (), data)


def judge_restarted(outcome: Outcome, it: Sample, data: bytes) -> str:
    """Where the log ends in ruins, no later marker of the segment checks: else it would be corruption."""
    end = told_end(outcome)
    if outcome.error is None and end is not None:
        healthy = it.writer.data
        intact = [
            place for place in it.writer.sections if data[place.at : place.at + 8] == healthy[place.at : place.at + 8]
        ]
        assert all(place.start <= max(end, it.writer.header_length) for place in intact), (
            f"the log goes on behind {end}: {outcome.said}"
        )
    return crashed(outcome, it, (), data)


MODES = {
    "unfinished": Mode(lambda it: str(it.before_last), judge_unfinished),
    "finished": Mode(lambda it: completed(it.writer), judge_finished),
    "stopped": Mode(lambda it: str(it.before_last), judge_stopped, stopped=True),
    "restarted": Mode(lambda it: restarted(it.writer), judge_restarted),
    "no sidecar, stopped": Mode(lambda it: None, judge_blind, stopped=True),
}


@pytest.fixture(params=FORMATS)
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


Damage = Iterator[tuple[int, bytes]]


def every_bit(healthy: bytes) -> Damage:
    for at, byte in enumerate(healthy):
        for bit in range(8):
            yield at, bytes([byte ^ 1 << bit])


def every_byte_zero(healthy: bytes) -> Damage:
    for at, byte in enumerate(healthy):
        if byte:
            yield at, b"\0"


def every_byte_wrong(healthy: bytes) -> Damage:
    for at, byte in enumerate(healthy):
        yield at, bytes([byte ^ 0xFF])


def zeroed_blocks(healthy: bytes) -> Damage:
    """Blocks of zeros at every place, as a page that never reached the disk."""
    for size, step in ((8, 1), (64, 16), (512, 64)):
        for at in range(0, len(healthy) - size + 1, step):
            yield at, bytes(size)


DAMAGES: dict[str, tuple[Callable[[bytes], Damage], tuple[str, ...]]] = {
    "bit": (every_bit, ("unfinished", "finished")),
    "zero byte": (every_byte_zero, ("unfinished", "finished")),
    "wrong byte": (every_byte_wrong, ("stopped", "restarted", "no sidecar, stopped")),
    "block": (zeroed_blocks, ("unfinished", "finished", "restarted")),
}


@pytest.mark.parametrize(("damage", "mode"), [(name, mode) for name in DAMAGES for mode in DAMAGES[name][1]])
def test_wrong_bytes(damage: str, mode: str, form: str, samples: Path, tmp_path: Path) -> None:
    it, how, folder, patient = _begin(form, mode, samples, tmp_path)
    for at, wrong in DAMAGES[damage][0](patient.healthy):
        with patient.with_bytes(at, wrong) as data:
            _judge(f"{damage}, {mode}", form, it, how, folder, data, f"{wrong.hex()[:8]} at {at}")


@pytest.mark.parametrize("mode", MODES)
def test_every_prefix(mode: str, form: str, samples: Path, tmp_path: Path) -> None:
    it, how, folder, patient = _begin(form, mode, samples, tmp_path)
    for length in range(len(patient.healthy)):
        with patient.cut_to(length) as data:
            _judge(f"prefix, {mode}", form, it, how, folder, data, f"cut to {length}")


def _begin(form: str, mode: str, samples: Path, tmp_path: Path) -> tuple[Sample, Mode, LogFolder, Patient]:
    it, how = sample(form, samples), MODES[mode]
    folder = LogFolder(tmp_path / "cdc_raw")
    path = folder.put(it.writer, how.sidecar(it))
    return it, how, folder, Patient(path, bytes(it.writer.data))


def _judge(test: str, form: str, it: Sample, how: Mode, folder: LogFolder, data: bytes, what: str) -> None:
    try:
        outcome = read(folder.path, stopped=how.stopped)
        ended = how.judge(outcome, it, data)
    except BaseException as error:
        error.add_note(f"{test}: {form}, {what}")
        raise
    counts.note(test, form, ended)
