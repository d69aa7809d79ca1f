"""`--on-error quarantine` over damage at every byte: the damaged entries are kept with their bytes, the rest comes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tailer.position import Position
from tests.damage import counts
from tests.damage.deliver import Outcome, check_sentence
from tests.damage.rules import PLACE
from tests.damage.sample import SECTIONS, SEGMENT, TABLE, Patient, Sample, make, read, sample
from tests.helpers.cli import run_cli
from tests.helpers.log_writer import (
    FORMATS,
    LogFolder,
    SectionPlace,
    completed,
    encode_mutation,
    insert,
    live,
    segment_of,
)

pytestmark = pytest.mark.damage


@pytest.fixture(params=FORMATS)
def it(request: pytest.FixtureRequest, samples: Path) -> Sample:
    return sample(request.param, samples)


@pytest.mark.slow
@pytest.mark.parametrize("sidecar", [live, completed], ids=["unfinished", "finished"])
def test_damage_at_every_byte(sidecar: object, it: Sample, tmp_path: Path) -> None:
    """Outside of markers, header and lengths exactly what is damaged is missing, and kept; there the reading stops."""
    folder = LogFolder(tmp_path / "cdc_raw")
    text = live(it.writer) if sidecar is live else completed(it.writer)
    patient = Patient(folder.put(it.writer, text), bytes(it.writer.data))
    # The definition is not damaged here: without it every row would be kept.
    for at in range(it.writer.sections[1].at, it.last.next_at):
        wrong = bytes([patient.healthy[at] ^ 0xFF])
        with patient.with_bytes(at, wrong) as data:
            outcome = read(folder.path, on_error="quarantine")
            try:
                how = judge(it, outcome, at, data)
            except AssertionError as error:
                error.add_note(f"{it.writer.form.name}, byte {at}: {outcome}")
                raise
        counts.note(f"quarantine, {sidecar.__name__}", it.writer.form.name, how)  # type: ignore[attr-defined]


def judge(it: Sample, outcome: Outcome, at: int, data: bytes) -> str:
    section = next(place for place in it.writer.sections if place.at <= at < place.next_at)
    if outcome.error is not None:
        check_sentence(outcome.error)
        assert PLACE.search(outcome.error.sentence())
        arrived = [row for row in it.rows if row in outcome.rows]
        assert outcome.rows == arrived
        assert at < body(it, section) + unknowable(it), "stopped at what could have been kept"
        return "4"
    if not outcome.kept:
        assert outcome.rows == list(it.rows)
        assert not section.entries, "damaged bytes were taken for good"
        return "0, nothing damaged"
    assert at >= body(it, section), "a damaged marker was passed over"
    covered = [spread(it, section, place, kept, data) for place, kept in outcome.kept]
    missing = [start for start in it.starts if any(first <= start < end for first, end in covered)]
    assert outcome.rows == [row for row, start in zip(it.rows, it.starts, strict=True) if start not in missing]
    if it.writer.form.name in ("plain", "noop"):
        assert covered == [exactly(it, section, at)]
    assert outcome.said[-1] == f"{len(outcome.kept)} entries were put into quarantine"
    return "0, kept"


def body(it: Sample, section: SectionPlace) -> int:
    """File offset of a section's body."""
    return section.at + (12 if it.writer.form.framed else 8)


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
    if it.writer.form.name in ("plain", "noop"):
        begin = body(it, section) + place.offset - section.start - 8
        assert kept == data[begin : begin + len(kept)]
    return place.offset, place.offset + len(kept)


def exactly(it: Sample, section: SectionPlace, at: int) -> tuple[int, int]:
    """The entry that holds a byte; from its start to the section's end where the byte is of its size or size CRC."""
    logical = section.start + 8 + at - body(it, section)
    entry = next(entry for entry in section.entries if entry.start <= logical < entry.end)
    return entry.start, section.end if logical < entry.start + 8 else entry.end


def two_segments(tmp_path: Path, damaged_at: int) -> LogFolder:
    """The plain sample with one wrong byte, and a second segment with one row."""
    folder = LogFolder(tmp_path / "cdc_raw")
    first = make("plain")
    first.data[damaged_at] ^= 0xFF
    second = segment_of(SEGMENT + 1, [[encode_mutation(insert(TABLE, 100, "later", 100))]])
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
