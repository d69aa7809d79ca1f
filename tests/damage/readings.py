"""Readings of damages by the whole follower, and that those which look alike to the framing do not differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.damage.choice import chosen
from tests.damage.damages import Damage
from tests.damage.deliver import Outcome
from tests.damage.framing_rules import Sight
from tests.damage.sample import Patient, Sample, read
from tests.damage.seen import Seen
from tests.helpers.log_writer import LogFolder


class Known(NamedTuple):
    """All that a reader can know of a damaged file: what the framing sees, and whether its sidecar tells its length."""

    seen: Seen
    length_told: bool


class Reading(NamedTuple):
    """One damage, read. `told`: its outcome but for what is the damaged bytes' own."""

    damage: Damage
    known: Known
    outcome: Outcome
    told: object


Turns = Mapping[str, Sequence[str]]
"""The modes that try a kind of damage."""


def read_chosen(
    it: Sample,
    sights: Mapping[Damage, Sight],
    mode: str,
    turns: Turns,
    folder: Path,
    sidecar: str | None,
    **options: Any,
) -> list[Reading]:
    """The readings of one form in one mode, in the order of the damages. `options`: of the run."""
    made = LogFolder(folder)
    patient = Patient(made.put(it.writer, sidecar), bytes(it.writer.data))
    length = None if sidecar is None else int(sidecar.partition("\n")[0])
    known = {
        damage: Known(sight.seen, len(damage.of(patient.healthy)) == length)
        for damage, sight in sights.items()
        if mode in turns[damage.kind]
    }
    readings = []
    for damage in chosen(it, mode, known, turns):
        with patient.hurt(damage):
            try:
                outcome = read(made.path, **options)
            except BaseException as error:
                error.add_note(f"{it.writer.form.name}, {mode}, {damage}")
                raise
        readings.append(Reading(damage, known[damage], outcome, _told(outcome, sights[damage])))
    return readings


def _told(outcome: Outcome, sight: Sight) -> object:
    """What two damages must have in common: where the framing told the values of a fault, there stands one sign.

    The bytes in quarantine are damaged ones: only their number is the same.
    """
    sentence = "" if outcome.error is None else outcome.error.sentence()
    for expected, found in sight.values:
        sentence = sentence.replace(f": expected {expected}, found {found}. ", ": …. ")
    kept = [(at, len(data)) for at, data in outcome.kept]
    # The notice of an entry has its bytes.
    said = [line for line in outcome.said if not line.endswith("The entry was put into quarantine.")]
    return outcome.rows, outcome.code, sentence, said, kept


def check_each(readings: Sequence[Reading], judge: Callable[[Reading], None]) -> None:
    for reading in readings:
        try:
            judge(reading)
        except AssertionError as error:
            error.add_note(f"{reading.damage}: {reading.outcome}")
            raise


def check_alike(readings: Sequence[Reading]) -> None:
    """Same rows, same error, same sentences wherever the same is known; and there are such readings."""
    first: dict[Known, Reading] = {}
    for reading in readings:
        other = first.setdefault(reading.known, reading)
        assert reading.told == other.told, f"{reading.damage} and {other.damage} look alike: {reading.known}"
    assert len(readings) > 1.1 * len(first)
