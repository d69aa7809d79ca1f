"""How far a segment can be read, in every odd state of architecture section 3: not yet, the log's end, corruption."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tailer.errors import CorruptError, DefinitionError
from tailer.planning.plan import Reach
from tailer.planning.reach import Reacher
from tailer.planning.sighting import Closed
from tailer.planning.survey import FEW_SIGHTINGS, Survey
from tailer.position import Position, Span
from tailer.segments.run import Run
from tailer.segments.source import FolderSource
from tailer.state.offset import NodeOffset
from tests.helpers.log_writer import (
    FORMATS,
    KEY,
    Format,
    LogFolder,
    SegmentWriter,
    completed,
    encode_header,
    encode_marker,
    live,
    restarted,
    segment_of,
)

ID = 1_700_000_000_001
BUDGET = 1_000_000
SETTLE = 60.0
PLACE = f"{ID}:"


def writer(sections: int = 3, form: str = "plain", padded: int = 0, version: int = 7) -> SegmentWriter:
    """Sections of two entries each: in a plain segment 20..94, 94..168, ..."""
    payloads = [[f"payload of entry {n} {m}!".encode() for m in range(2)] for n in range(sections)]
    made = segment_of(ID, payloads, form=FORMATS[form], version=version)
    made.pad(len(made.data) + padded)
    return made


@dataclass
class Bench:
    """One segment in a folder, and a reacher over it with a clock of its own."""

    path: Path
    settle: float = SETTLE
    quarantine: bool = False
    accept_loss: bool = False
    stopped: bool = False
    now: float = 1000.0
    collected: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder = LogFolder(self.path)
        self.survey = Survey(FolderSource(self.path), keys=lambda alias: KEY, stopped=self.stopped)
        self.reacher = Reacher(
            self.survey,
            self.collect,
            visible_within=self.settle,
            quarantine=self.quarantine,
            accept_loss=self.accept_loss,
            clock=lambda: self.now,
        )

    def collect(self, segment: int, run: Run) -> None:
        self.collected += run.sections.tolist()

    def reach(self, offset: int = 0, budget: int = BUDGET) -> Reach:
        self.survey.look(NodeOffset(0, ID, offset, False))
        return self.reacher(ID, offset, budget)

    def put(self, made: SegmentWriter, sidecar: str | None = None) -> SegmentWriter:
        self.folder.put(made, sidecar)
        return made


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "cdc_raw")
    yield made
    made.survey.close()


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[Bench]:
    """Nothing is waited for."""
    made = Bench(tmp_path / "cdc_raw", settle=0)
    yield made
    made.survey.close()


def damage(made: SegmentWriter, at: int, data: bytes) -> SegmentWriter:
    made.data[at : at + len(data)] = data
    return made


def corrupt(found: Reach) -> Position:
    """Where a documented corruption stands."""
    assert isinstance(found.error, CorruptError), found
    assert found.error.at is not None
    sentence = found.error.sentence()
    assert str(found.error.at) in sentence
    assert "expected" in sentence
    assert found.error.remedy
    return found.error.at


def ruins(found: Reach) -> str:
    """The notice about where the log ends."""
    assert found.done
    (notice,) = found.notices
    return notice


class TestUnfinished:
    def test_all_sections_up_to_the_sidecars_end(self, bench: Bench) -> None:
        made = bench.put(writer())
        bench.folder.sidecar(made, live(made))
        assert bench.reach() == Reach(made.end, Span(ID, 20, made.end, 20, 20, made.end))
        assert bench.collected == [20, 94, 168]

    def test_a_whole_section_beyond_the_end_is_not_durable(self, bench: Bench) -> None:
        made = bench.put(writer(), "168")
        assert bench.reach().end == 168
        assert bench.collected == [20, 94]
        bench.folder.sidecar(made, live(made))
        assert bench.reach(168) == Reach(made.end, Span(ID, 168, made.end, 168, 168, made.end))

    @pytest.mark.parametrize("number", ["0", "7", "20", "21", "93"])
    def test_a_number_inside_a_section_is_only_an_upper_limit(self, number: str, strict: Bench) -> None:
        strict.put(writer(), number)
        assert strict.reach() == Reach(0)

    def test_nothing_new(self, bench: Bench) -> None:
        made = writer()
        bench.put(made, live(made))
        assert bench.reach(made.end) == Reach(made.end)

    def test_unmarked_entries_and_a_torn_marker_behind_the_end_are_nothing(self, bench: Bench) -> None:
        made = writer()
        end = made.end
        made.data += b"\0\0\1\0" + bytes(4) + made.entries[0].bytes
        bench.put(made, str(end))
        assert bench.reach().end == end

    def test_from_a_position_inside_a_section_the_earlier_entries_do_not_count(self, bench: Bench) -> None:
        made = bench.put(writer(), "242")
        second = made.sections[1]
        found = bench.reach(second.entries[1].start)
        assert found.span == Span(ID, 94, 242, 94, second.entries[1].start, 242)

    def test_the_budget_cuts_between_sections(self, bench: Bench) -> None:
        made = writer()
        bench.put(made, live(made))
        assert [bench.reach(0, 1).end, bench.reach(94, 75).end, bench.reach(168, 1).end] == [94, 242, 242]

    def test_an_empty_section_still_moves_the_position(self, bench: Bench) -> None:
        made = segment_of(ID, [[]])
        bench.put(made, live(made))
        assert bench.reach() == Reach(28, Span(ID, 20, 28, 20, 20, 28))

    @pytest.mark.parametrize("form", FORMATS)
    def test_logical_offsets_of_every_codec(self, form: str, bench: Bench) -> None:
        made = writer(4, form)
        lag = made.sections[3].start
        bench.put(made, str(lag))
        found = bench.reach()
        assert (found.end, found.span) == (lag, Span(ID, *_places(made, 0, lag)))
        bench.folder.sidecar(made, live(made))
        assert bench.reach(lag).span == Span(ID, *_places(made, 3, made.end))


def _places(made: SegmentWriter, number: int, end: int) -> tuple[int, int, int, int, int]:
    section = made.sections[number]
    return section.start, end, section.at, section.start, end


class TestNotVisibleYet:
    """Promised bytes of an unfinished segment that cannot be seen: waited for, corruption in the end."""

    CASES: ClassVar[dict[str, Any]] = {
        "short file": lambda made: made.data.__delitem__(slice(150, None)),
        "zeros": lambda made: damage(made, 94, bytes(74)),
        "bad marker": lambda made: damage(made, 98, b"\xff"),
        "bad pointer": lambda made: damage(made, 94, b"\xff"),
        "bad entry": lambda made: damage(made, 120, b"\xff"),
        "pointer over the end": lambda made: damage(made, 97, b"\xf8"),
    }

    @pytest.mark.parametrize("damaged", CASES.values(), ids=CASES)
    def test_waits_then_corruption(self, damaged: object, bench: Bench) -> None:
        made = writer(padded=100)
        damaged(made)  # type: ignore[operator]
        bench.put(made, "242")
        first = bench.reach()
        assert (first.end, first.waiting, first.error) == (94, True, None)
        bench.now += SETTLE - 1
        assert (bench.reach(94).waiting, bench.reach(94).error) == (True, None)
        bench.now += 1
        assert corrupt(bench.reach(94)).offset >= 94

    @pytest.mark.parametrize("damaged", CASES.values(), ids=CASES)
    def test_what_comes_into_sight_is_read(self, damaged: object, bench: Bench) -> None:
        hidden = writer(padded=100)
        damaged(hidden)  # type: ignore[operator]
        bench.put(hidden, "242")
        assert bench.reach().waiting
        # As a copy does: another file takes the name.
        (bench.path / hidden.name).unlink()
        made = bench.put(writer(padded=100))
        assert bench.reach(94) == Reach(242, Span(ID, 94, 242, 94, 94, 242))
        assert made.end == 242

    def test_progress_begins_the_wait_anew(self, bench: Bench) -> None:
        made = writer()
        whole = bytes(made.data)
        del made.data[130:]
        bench.put(made, "242")
        bench.reach()
        bench.now += SETTLE - 1
        made.data += whole[130:200]
        bench.put(made)
        assert bench.reach(94).end == 168
        bench.now += SETTLE - 1
        assert bench.reach(168).waiting
        bench.now += 1
        assert corrupt(bench.reach(168)) == Position(ID, 168)

    def test_no_header_yet(self, bench: Bench) -> None:
        made = writer()
        whole = bytes(made.data)
        made.data[:] = bytes(4096)
        bench.put(made, "242")
        assert bench.reach() == Reach(0, waiting=True)
        bench.now += SETTLE
        assert corrupt(bench.reach()) == Position(ID, 0)
        made.data[:] = whole
        bench.put(made)
        assert bench.reach().end == 242

    def test_nothing_promised_nothing_waited_for(self, bench: Bench) -> None:
        for data in (b"", bytes(4096), b"\0\0\0\7\xff", bytes(writer().data[:19]), b"\xff" * 100):
            made = writer()
            made.data[:] = data
            bench.put(made, "")
            assert bench.reach() == Reach(0)

    def test_gone_between_the_look_and_now(self, bench: Bench) -> None:
        made = bench.put(writer(), "242")
        bench.survey.look(NodeOffset())
        bench.folder.remove(made)
        assert bench.reacher(ID, 0, BUDGET) == Reach(0, waiting=True), "a run that does not wait must look again"
        bench.survey.freeze()
        assert bench.reacher(ID, 0, BUDGET) == Reach(0)


class TestFinishedInOrder:
    """P is known: before it everything must check, from it on the log ends at the first thing that does not."""

    ENDS: ClassVar[dict[str, Any]] = {
        "end of file": (0, b""),
        "zeros": (100, b""),
        "a few zeros": (5, b""),
    }

    @pytest.mark.parametrize(("padded", "junk"), ENDS.values(), ids=ENDS)
    def test_ends_quietly(self, padded: int, junk: bytes, strict: Bench) -> None:
        made = writer(padded=padded)
        strict.put(made, completed(made) if padded else f"{made.end}\nCOMPLETED")
        assert strict.reach() == Reach(242, Span(ID, 20, 242, 20, 20, 242), done=True)
        assert strict.survey.closed[ID].end == 242

    RUINS: ClassVar[dict[str, Any]] = {
        "torn marker": b"\0\6\x75\xcb" + bytes(4) + b"sound entries",
        "junk": b"\xff" * 40,
        "pointer beyond the file": encode_marker(ID, 242, 9999) + bytes(20),
        "section with a bad entry": encode_marker(ID, 242, 272) + b"\xee" * 22,
    }

    @pytest.mark.parametrize("junk", RUINS.values(), ids=RUINS)
    def test_what_a_crash_left_is_told(self, junk: bytes, strict: Bench) -> None:
        made = writer()
        made.data += junk
        strict.put(made, "242\nCOMPLETED")
        found = strict.reach()
        assert (found.end, found.error) == (242, None)
        assert f"{PLACE}242" in ruins(found)

    def test_sections_beyond_a_number_that_lagged(self, strict: Bench) -> None:
        made = writer(padded=100)
        strict.put(made, "168\nCOMPLETED")
        assert strict.reach().end == 242

    def test_entries_before_the_ruins_of_their_section_count(self, strict: Bench) -> None:
        made = writer(padded=100)
        last = made.sections[2].entries[1]
        damage(made, last.start + 10, b"\xff")
        strict.put(made, "168\nCOMPLETED")
        found = strict.reach()
        assert (found.end, found.done) == (last.start, True)
        assert found.span == Span(ID, 20, 242, 20, 20, last.start)
        assert f"{PLACE}{last.start}" in ruins(found)

    BEFORE: ClassVar[dict[str, Any]] = {
        "zero marker": (94, bytes(8), 94),
        "bad marker": (98, b"\xff", 94),
        "bad pointer": (94, b"\xff", 94),
        "size": (102, b"\xff", 102),
        "body": (115, b"\xff", 102),
    }

    @pytest.mark.parametrize(("where", "data", "told"), BEFORE.values(), ids=BEFORE)
    def test_damage_before_the_published_end_is_corruption(
        self, where: int, data: bytes, told: int, strict: Bench
    ) -> None:
        made = damage(writer(padded=100), where, data)
        strict.put(made, completed(made))
        found = strict.reach()
        assert (found.end, found.done) == (94, False)
        assert corrupt(found) == Position(ID, told)

    def test_a_short_file_is_corruption(self, strict: Bench) -> None:
        made = writer()
        del made.data[200:]
        strict.put(made, "242\nCOMPLETED")
        assert corrupt(strict.reach()) == Position(ID, 168)

    def test_nothing_is_waited_for(self, bench: Bench) -> None:
        made = damage(writer(padded=100), 98, b"\xff")
        bench.put(made, completed(made))
        assert not bench.reach().waiting

    def test_damage_behind_the_position_of_a_resumed_reader(self, strict: Bench) -> None:
        made = damage(writer(padded=100), 98, b"\xff")
        strict.put(made, completed(made))
        assert corrupt(strict.reach(168)).segment == ID


class TestRestarted:
    """The only number is the file's length: P is unknown, the reader is blind."""

    def test_the_log_ends_where_it_ends(self, strict: Bench) -> None:
        made = writer(padded=100)
        strict.put(made, restarted(made))
        assert strict.reach() == Reach(242, Span(ID, 20, 242, 20, 20, 242), done=True)

    @pytest.mark.parametrize("form", ["lz4", "aes"])
    def test_a_compressed_files_length_is_no_logical_end(self, form: str, strict: Bench) -> None:
        made = writer(6, form)
        strict.put(made, restarted(made))
        assert strict.reach().end == made.end

    def test_damage_with_a_good_marker_behind_it_is_corruption(self, strict: Bench) -> None:
        made = damage(writer(padded=100), 98, b"\xff")
        strict.put(made, restarted(made))
        assert corrupt(strict.reach()) == Position(ID, 94)

    def test_a_pointer_that_swallows_the_later_markers_is_corruption(self, strict: Bench) -> None:
        made = damage(writer(padded=100), 94, (300).to_bytes(4, "big"))
        strict.put(made, restarted(made))
        corrupt(strict.reach())

    def test_damage_in_the_last_section_is_a_crash(self, strict: Bench) -> None:
        made = damage(writer(padded=100), 172, b"\xff")
        strict.put(made, restarted(made))
        found = strict.reach()
        assert (found.end, found.error) == (168, None)
        assert f"{PLACE}168" in ruins(found)

    def test_a_zero_marker_ends_the_log(self, strict: Bench) -> None:
        made = damage(writer(padded=100), 94, bytes(8))
        strict.put(made, restarted(made))
        assert strict.reach() == Reach(94, Span(ID, 20, 94, 20, 20, 94), done=True)

    def test_an_end_read_before_the_restart_holds(self, strict: Bench) -> None:
        made = damage(writer(padded=100), 172, b"\xff")
        strict.put(made, "242")
        strict.survey.look(NodeOffset())
        strict.folder.sidecar(made, restarted(made))
        assert corrupt(strict.reach()) == Position(ID, 168)

    def test_what_was_delivered_counts_as_published(self, strict: Bench) -> None:
        made = damage(writer(padded=100), 98, bytes(4))
        strict.put(made, restarted(made))
        corrupt(strict.reach(168))

    def test_damage_in_a_large_file_is_found_quickly(self, strict: Bench) -> None:
        made = damage(writer(padded=20_000_000), 172, b"\xff")
        strict.put(made, restarted(made))
        assert strict.reach().done


class TestStopped:
    @pytest.fixture
    def stopped(self, tmp_path: Path) -> Iterator[Bench]:
        made = Bench(tmp_path / "cdc_raw", settle=0, stopped=True)
        yield made
        made.survey.close()

    def test_reads_beyond_the_sidecar_to_the_logs_end(self, stopped: Bench) -> None:
        stopped.put(writer(padded=50), "94")
        assert stopped.reach() == Reach(242, Span(ID, 20, 242, 20, 20, 242), done=True)

    def test_without_any_sidecar(self, stopped: Bench) -> None:
        stopped.put(writer(padded=50))
        assert stopped.reach().end == 242

    def test_a_torn_tail_is_told(self, stopped: Bench) -> None:
        made = damage(writer(padded=50), 172, bytes(4))
        stopped.put(made, "168")
        assert f"{PLACE}168" in ruins(stopped.reach())

    @pytest.mark.parametrize("data", [b"", bytes(10), bytes(4096)], ids=["empty", "short", "zeros"])
    def test_a_file_that_was_never_begun_ends_at_once(self, data: bytes, stopped: Bench) -> None:
        made = writer()
        made.data[:] = data
        stopped.put(made)
        assert stopped.reach() == Reach(0, done=True)

    def test_a_header_that_was_cut_is_corruption(self, stopped: Bench) -> None:
        made = writer()
        del made.data[15:]
        stopped.put(made)
        assert corrupt(stopped.reach()) == Position(ID, 0)


class TestHeader:
    @pytest.mark.parametrize("at", range(20))
    def test_any_damage_is_corruption_at_offset_zero(self, at: int, strict: Bench) -> None:
        made = writer()
        made.data[at] ^= 0x40
        strict.put(made, "242\nCOMPLETED")
        assert corrupt(strict.reach()) == Position(ID, 0)

    def test_another_segments_file_under_this_name(self, strict: Bench) -> None:
        made = writer()
        made.data[:20] = encode_header(7, ID + 1, {})
        strict.put(made, "242\nCOMPLETED")
        assert corrupt(strict.reach()) == Position(ID, 0)

    @pytest.mark.parametrize("version", [5, 6, 9, 10])
    @pytest.mark.parametrize("crc", ["good", "bad", "cut"])
    def test_other_versions_are_refused_clearly(self, version: int, crc: str, strict: Bench) -> None:
        """Name and header agree on the version; later ones may frame all the rest in another way."""
        made = writer(version=version)
        if crc == "bad":
            made.data[16] ^= 0xFF
        if crc == "cut":
            del made.data[16:]
        strict.put(made, "242\nCOMPLETED")
        found = strict.reach()
        assert isinstance(found.error, DefinitionError)
        assert found.error.at == Position(ID, 0)
        assert str(version) in found.error.sentence()

    def test_a_version_that_the_name_does_not_share_is_damage(self, strict: Bench) -> None:
        made = writer()
        made.data[3] = 9
        strict.put(made, "242\nCOMPLETED")
        assert corrupt(strict.reach()) == Position(ID, 0)

    def test_an_unknown_compressor_is_named(self, strict: Bench) -> None:
        odd = Format("odd", {"compressionClass": "BrotliCompressor"})
        strict.put(segment_of(ID, [[b"an entry's payload"]], form=odd), "242\nCOMPLETED")
        error = strict.reach().error
        assert isinstance(error, DefinitionError)
        assert "BrotliCompressor" in error.sentence()


class TestSectionLength:
    """The i32 plain length has no checksum; all logical offsets behind it hang on it."""

    @pytest.mark.parametrize("form", [form for form in FORMATS if form != "plain"])
    @pytest.mark.parametrize("length", [0, 1, 65, 67, 132, 2**31 - 1, -1])
    @pytest.mark.parametrize("quarantine", [False, True])
    def test_a_wrong_length_is_never_passed_over(
        self, form: str, length: int, quarantine: bool, tmp_path: Path
    ) -> None:
        bench = Bench(tmp_path / "cdc_raw", settle=0, quarantine=quarantine)
        made = writer(form=form)
        assert made.sections[1].end - made.sections[1].start - 8 == 66
        damage(made, made.sections[1].at + 8, length.to_bytes(4, "big", signed=True))
        bench.put(made, live(made))
        found = bench.reach()
        assert found.end == made.sections[0].end
        assert corrupt(found) == Position(ID, made.sections[1].start)
        assert bench.collected == [made.sections[0].start]
        bench.survey.close()


class TestQuarantine:
    @pytest.fixture
    def keeper(self, tmp_path: Path) -> Iterator[Bench]:
        made = Bench(tmp_path / "cdc_raw", quarantine=True)
        yield made
        made.survey.close()

    def test_a_bad_entry_of_a_finished_segment_is_passed_over(self, keeper: Bench) -> None:
        made = damage(writer(padded=50), 120, b"\xff")
        keeper.put(made, completed(made))
        assert keeper.reach() == Reach(242, Span(ID, 20, 242, 20, 20, 242), done=True)

    def test_of_an_unfinished_one_only_when_it_did_not_come_into_sight(self, keeper: Bench) -> None:
        keeper.put(damage(writer(padded=50), 120, b"\xff"), "242")
        assert (keeper.reach().end, keeper.reach(94).waiting) == (94, True)
        keeper.now += SETTLE
        assert keeper.reach(94) == Reach(242, Span(ID, 94, 242, 94, 94, 242))

    def test_a_bad_marker_stops(self, keeper: Bench) -> None:
        made = damage(writer(padded=50), 98, b"\xff")
        keeper.put(made, completed(made))
        assert corrupt(keeper.reach()) == Position(ID, 94)

    def test_a_pointer_over_the_published_end_stops(self, keeper: Bench) -> None:
        made = damage(writer(padded=50), 168, (270).to_bytes(4, "big"))
        damage(made, 180, b"\xff")
        keeper.put(made, completed(made))
        assert corrupt(keeper.reach()).offset >= 168

    def test_behind_the_published_end_the_log_ends_all_the_same(self, keeper: Bench) -> None:
        made = damage(writer(padded=50), 212, b"\xff")
        keeper.put(made, "168\nCOMPLETED")
        found = keeper.reach()
        assert found.done
        assert ruins(found)


class TestAcceptLoss:
    @pytest.fixture
    def bold(self, tmp_path: Path) -> Iterator[Bench]:
        made = Bench(tmp_path / "cdc_raw", settle=0, accept_loss=True)
        yield made
        made.survey.close()

    def test_a_bad_marker_ends_a_finished_segment(self, bold: Bench) -> None:
        made = damage(writer(padded=50), 98, b"\xff")
        bold.put(made, completed(made))
        found = bold.reach()
        assert (found.end, found.done, found.error) == (94, True, None)
        assert f"{PLACE}94" in found.notices[0]
        assert bold.reacher.losses == [Position(ID, 94)]
        assert bold.survey.closed[ID] == Closed(94, 242), "P stays: nothing has grown"

    def test_a_bad_header_ends_it_at_once(self, bold: Bench) -> None:
        made = damage(writer(padded=50), 16, b"\xff\xff")
        bold.put(made, completed(made))
        assert (bold.reach().end, bold.reach().done) == (0, True)

    def test_an_unfinished_one_is_not_given_up(self, bold: Bench) -> None:
        bold.put(damage(writer(padded=50), 98, b"\xff"), "242")
        assert corrupt(bold.reach()) == Position(ID, 94)

    def test_a_bad_entry_is_not_given_up(self, bold: Bench) -> None:
        made = damage(writer(padded=50), 120, b"\xff")
        bold.put(made, completed(made))
        assert "--on-error quarantine" in str(bold.reach().error)


class TestRecorded:
    """A log end on record stands, whatever the file shows behind it."""

    @pytest.mark.parametrize("recorded", [94, 168, 242, 139])
    def test_reads_to_it_and_no_further(self, recorded: int, strict: Bench) -> None:
        strict.put(writer(padded=50), "242\nCOMPLETED")
        strict.survey.closed[ID] = Closed(recorded, recorded)
        found = strict.reach()
        assert (found.end, found.done) == (recorded, True)
        assert found.span is not None
        assert found.span.upper == recorded

    def test_nothing_left(self, strict: Bench) -> None:
        strict.put(writer(), "242\nCOMPLETED")
        strict.survey.closed[ID] = Closed(168, 168)
        assert strict.reach(168) == Reach(168, done=True)

    def test_damage_before_it_is_corruption(self, strict: Bench) -> None:
        strict.put(damage(writer(), 98, b"\xff"), "242\nCOMPLETED")
        strict.survey.closed[ID] = Closed(168, 168)
        assert corrupt(strict.reach()) == Position(ID, 94)

    def test_in_steps(self, strict: Bench) -> None:
        strict.put(writer(), "242\nCOMPLETED")
        strict.survey.closed[ID] = Closed(242, 242)
        assert [
            (found.end, found.done) for found in (strict.reach(0, 1), strict.reach(94, 1), strict.reach(168, 1))
        ] == [
            (94, False),
            (168, False),
            (242, True),
        ]


class TestLearn:
    def test_to_the_last_good_marker_from_where_the_last_call_ended(self, bench: Bench) -> None:
        made = writer(2)
        bench.put(made)
        bench.survey.look(NodeOffset())
        bench.reacher.learn(ID)
        made.section([b"payload of a third"])
        bench.put(made)
        bench.reacher.learn(ID)
        assert bench.collected == [20, 94, 168]

    @pytest.mark.parametrize("data", [b"", bytes(50), b"\xff" * 50], ids=["empty", "zeros", "junk"])
    def test_what_cannot_be_read_is_left(self, data: bytes, bench: Bench) -> None:
        made = writer()
        made.data[:] = data
        bench.put(made)
        bench.survey.look(NodeOffset())
        bench.reacher.learn(ID)
        bench.reacher.learn(ID + 1)
        assert bench.collected == []

    def test_what_is_remembered_of_it_is_of_segments_that_are_there(self, bench: Bench) -> None:
        """Segments without a sidecar are learnt from as they are passed, and go: for years."""
        for number in range(10 * FEW_SIGHTINGS):
            made = segment_of(ID + number, [[b"payload of one entry"]])
            bench.put(made)
            bench.survey.look(NodeOffset(0, ID + number, 0, False))
            bench.reacher.learn(ID + number)
            bench.folder.remove(made)
        assert len(bench.collected) == 10 * FEW_SIGHTINGS
        assert len(bench.reacher._learnt) <= 2 * FEW_SIGHTINGS


def test_what_was_walked_for_its_rows_is_not_walked_again_to_learn(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "cdc_raw")
    made = bench.put(writer(), completed(writer()))
    bench.reach()
    bench.reacher.learn(ID)
    assert bench.collected == [place.start for place in made.sections]
