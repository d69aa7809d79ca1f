"""Every prefix, every flipped bit, every zeroed byte and block of one small segment per codec, read as a follower does.

In two layers. `test_framing_bytes.py` gives every damage to the framing alone. Here the whole follower reads, in each
mode that tries a kind of damage, one of each that looks different to the framing. In one of these modes it reads one of
each kind at every byte of the header, markers, lengths and CRCs, and a sixteenth of all others. By all that is read it
is also stated that damages which look alike to the framing are alike to the follower.

`CDC_TAIL_TESTS=all` (the soak) reads every damage in all its modes: 174,160 readings.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.damage import counts
from tests.damage.deliver import Outcome
from tests.damage.framing_rules import sights
from tests.damage.readings import Reading, check_alike, check_each, read_chosen
from tests.damage.rules import crashed, promised, told_end
from tests.damage.sample import Sample, sample
from tests.helpers.log_writer import FORMATS, completed, restarted

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


TURNS = {
    "bit": ("unfinished", "finished"),
    "zero byte": ("unfinished", "finished"),
    "wrong byte": ("stopped", "restarted", "no sidecar, stopped"),
    "block": ("unfinished", "finished", "restarted"),
    "prefix": tuple(MODES),
}
"""The modes in which each kind of damage is read."""


class Case(NamedTuple):
    """The readings of one form in one mode."""

    form: str
    mode: str
    it: Sample
    readings: list[Reading]


@pytest.fixture(scope="module", params=[(form, mode) for form in FORMATS for mode in MODES], ids="-".join)
def case(request: pytest.FixtureRequest, samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Case:
    form, mode = request.param
    it, how = sample(form, samples), MODES[mode]
    seen = {damage: sight.to_first_fault() for damage, sight in sights(form, samples).items()}
    folder = tmp_path_factory.mktemp("log") / "cdc_raw"
    return Case(form, mode, it, read_chosen(it, seen, mode, TURNS, folder, how.sidecar(it), stopped=how.stopped))


def test_what_comes_out(case: Case) -> None:
    def judge(reading: Reading) -> None:
        ended = MODES[case.mode].judge(reading.outcome, case.it, reading.damage.of(bytes(case.it.writer.data)))
        counts.note(f"{reading.damage.kind}, {case.mode}", case.form, ended)

    check_each(case.readings, judge)


def test_the_follower_sees_no_more_than_the_framing(case: Case) -> None:
    """Damages that look alike to the framing read alike, in every row and sentence."""
    check_alike(case.readings)
