"""`--on-error quarantine` over damage at every byte: the damaged entries are kept with their bytes, the rest comes.

In two layers, as in `test_log_bytes.py`: the framing meets a wrong byte at every place there, and here the follower
reads one of each that looks different, every byte of the markers, lengths and CRCs in one mode, a sixteenth of the
others in one. `CDC_TAIL_TESTS=all` (the soak): every byte in both modes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from tailer.position import Position
from tests.damage import counts
from tests.damage.deliver import Outcome, check_sentence
from tests.damage.framing_rules import sights
from tests.damage.readings import Reading, check_alike, check_each, read_chosen
from tests.damage.rules import PLACE
from tests.damage.sample import SECTIONS, SEGMENT, TABLE, Sample, make, sample
from tests.helpers.cli import run_cli
from tests.helpers.log_writer import FORMATS, LogFolder, SectionPlace, completed, insert_payload, live, segment_of

pytestmark = pytest.mark.damage


SIDECARS = {"unfinished": live, "finished": completed}
TURNS = {"wrong byte": tuple(SIDECARS)}


class Case(NamedTuple):
    """The readings of one form in one mode."""

    mode: str
    it: Sample
    readings: list[Reading]


@pytest.fixture(scope="module", params=[(form, mode) for form in FORMATS for mode in SIDECARS], ids="-".join)
def case(request: pytest.FixtureRequest, samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Case:
    form, mode = request.param
    it = sample(form, samples)
    # The definition is not damaged here: without it every row would be kept.
    places = range(it.writer.sections[1].at, it.last.next_at)
    found = {damage: sight for damage, sight in sights(form, samples).items() if damage.kind in TURNS}
    hurt = {damage: sight for damage, sight in found.items() if damage.at in places}
    folder = tmp_path_factory.mktemp("log") / "cdc_raw"
    return Case(mode, it, read_chosen(it, hurt, mode, TURNS, folder, SIDECARS[mode](it.writer), on_error="quarantine"))


@pytest.mark.slow
def test_damage_at_every_byte(case: Case) -> None:
    """Outside of markers, header and lengths exactly what is damaged is missing, and kept; there the reading stops."""

    def judge_one(reading: Reading) -> None:
        how = judge(case.it, reading.outcome, reading.damage.at, reading.damage.of(bytes(case.it.writer.data)))
        counts.note(f"quarantine, {case.mode}", case.it.writer.form.name, how)

    check_each(case.readings, judge_one)


@pytest.mark.slow
def test_the_follower_sees_no_more_than_the_framing(case: Case) -> None:
    """Damages that look alike to the framing are kept alike."""
    check_alike(case.readings)


def judge(it: Sample, outcome: Outcome, at: int, data: bytes) -> str:
    section = next(place for place in it.writer.sections if place.at <= at < place.next_at)
    if outcome.error is not None:
        check_sentence(outcome.error)
        assert PLACE.search(outcome.error.sentence())
        arrived = [row for row in it.rows if row in outcome.rows]
        assert outcome.rows == arrived
        assert at < it.body_at(section) + unknowable(it), "stopped at what could have been kept"
        return "4"
    if not outcome.kept:
        assert outcome.rows == list(it.rows)
        assert not section.entries, "damaged bytes were taken for good"
        return "0, nothing damaged"
    assert at >= it.body_at(section), "a damaged marker was passed over"
    covered = [spread(it, section, place, kept, data) for place, kept in outcome.kept]
    missing = [start for start in it.starts if any(first <= start < end for first, end in covered)]
    assert outcome.rows == [row for row, start in zip(it.rows, it.starts, strict=True) if start not in missing]
    if it.readable:
        assert covered == [exactly(it, section, at)]
    assert outcome.said[-1] == f"warning: {len(outcome.kept)} entries were put into quarantine"
    return "0, kept"


def unknowable(it: Sample) -> int:
    """Bytes at a body's start that say its length once more: damage there leaves in doubt which one is right."""
    return {"lz4": 4, "snappy": 2, "zstd": 7, "deflate": 1000}.get(it.writer.form.name, 0)


def spread(it: Sample, section: SectionPlace, place: Position, kept: bytes, data: bytes) -> tuple[int, int]:
    """The logical range that one kept record stands for; its bytes are the damaged file's own."""
    assert place.segment == SEGMENT
    if place.offset == section.start:
        assert kept == data[section.at : section.next_at], "the section whole, as it does not decompress"
        return section.start, section.end
    assert section.start + 8 <= place.offset < place.offset + len(kept) <= section.end
    if it.readable:
        begin = it.file_offset(section, place.offset)
        assert kept == data[begin : begin + len(kept)]
    return place.offset, place.offset + len(kept)


def exactly(it: Sample, section: SectionPlace, at: int) -> tuple[int, int]:
    """The entry that holds a byte; from its start to the section's end where the byte is of its size or size CRC."""
    logical = section.start + 8 + at - it.body_at(section)
    entry = next(entry for entry in section.entries if entry.start <= logical < entry.end)
    return entry.start, section.end if logical < entry.start + 8 else entry.end


def two_segments(tmp_path: Path, damaged_at: int) -> LogFolder:
    """The plain sample with one wrong byte, and a second segment with one row."""
    folder = LogFolder(tmp_path / "cdc_raw")
    first = make("plain")
    first.data[damaged_at] ^= 0xFF
    second = segment_of(SEGMENT + 1, [[insert_payload(TABLE, 100, "later", 100)]])
    folder.put(first, completed(first))
    folder.put(second, completed(second))
    return folder


def values(lines: list[str]) -> list[int]:
    return [json.loads(line)["columns"]["v"] for line in lines]


ALL = [value for section in SECTIONS for value in section] + [100]


def test_the_command_keeps_the_entry_in_the_state_folder(tmp_path: Path) -> None:
    writer = make("plain")
    entry = writer.entries[5]
    folder = two_segments(tmp_path, entry.start + 20)
    command: list[str | Path] = ["follow", folder.path, "--once", "--output", "json"]
    stopped = run_cli(command)
    assert stopped.code == 4
    assert f"{SEGMENT}:{entry.start}" in stopped.err
    assert values(stopped.lines) == [0, 1, 2], "the sections before it"
    result = run_cli([*command, "--on-error", "quarantine", "--settle", "0"])
    assert result.code == 0, result.err
    assert values(result.lines) == [value for value in ALL if value != 4]
    assert "1 entries were put into quarantine" in result.err
    (line,) = (tmp_path / "cdc_raw.cdc_tail" / "quarantine" / "none.jsonl").read_text().splitlines()
    kept = json.loads(line)
    healthy = entry.bytes
    assert bytes.fromhex(kept["bytes"]) == healthy[:20] + bytes([healthy[20] ^ 0xFF]) + healthy[21:]
    assert (kept["node"], kept["segment"], kept["offset"], kept["code"]) == ("local", SEGMENT, entry.start, 4)
    assert f"{SEGMENT}:{entry.start}" in kept["reason"]


@pytest.mark.parametrize("more", [[], ["--on-error", "quarantine"]], ids=["stop", "quarantine"])
def test_a_bad_marker_stops_and_accept_loss_goes_on_at_the_next_segment(more: list[str], tmp_path: Path) -> None:
    marker = make("plain").sections[3]
    folder = two_segments(tmp_path, marker.at + 5)
    command: list[str | Path] = ["follow", folder.path, "--once", "--output", "json", "--consumer", "c", *more]
    stopped = run_cli(command)
    assert stopped.code == 4
    assert f"{SEGMENT}:{marker.start}" in stopped.err
    assert "--accept-loss" in stopped.err
    assert values(stopped.lines) == [0, 1, 2]
    result = run_cli([*command, "--accept-loss"])
    assert result.code == 0, result.err
    assert values(result.lines) == [100]
    assert f"{SEGMENT}:{marker.start}" in result.err
    assert '"kind":"loss"' in (tmp_path / "cdc_raw.cdc_tail" / "journal").read_text()
    assert run_cli(command).lines == [], "accepted once, it stays accepted"


def test_a_bad_marker_of_an_unfinished_segment_is_never_accepted(tmp_path: Path) -> None:
    marker = make("plain").sections[3]
    folder = two_segments(tmp_path, marker.at + 5)
    folder.sidecar(make("plain"), str(make("plain").end))
    result = run_cli(["follow", folder.path, "--once", "--output", "json", "--settle", "0", "--accept-loss"])
    assert result.code == 4
    assert values(result.lines) == [0, 1, 2]
