"""Runs against sections looked at one by one: the same entries, in the same places."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tailer.limits import OFFSET_MAX
from tailer.segments.run import Run
from tailer.segments.run_cache import RunCache
from tailer.segments.runs import RUN_BYTES, read_run
from tailer.segments.segment import SegmentFile
from tests.helpers.log_writer import FORMATS, KEY, SegmentWriter, segment_of

ID = 1_700_000_000_001


@contextmanager
def written(folder: Path, made: SegmentWriter) -> Iterator[SegmentFile]:
    path = folder / made.name
    path.write_bytes(made.data)
    with SegmentFile(path, ID, lambda alias: KEY) as file:
        yield file


def writer(form: str = "plain", sections: int = 6) -> SegmentWriter:
    payloads = [[f"payload of entry {n} {m}!".encode() for m in range(n % 4)] for n in range(sections)]
    return segment_of(ID, payloads, form=FORMATS[form])


def found(run: Run) -> list[tuple[int, bytes]]:
    """Logical offset of the head, and payload."""
    where = zip(run.offsets.tolist(), run.starts.tolist(), run.sizes.tolist(), strict=True)
    return [(offset, run.data[start : start + size]) for offset, start, size in where]


def first_edge(made: SegmentWriter) -> tuple[int, int]:
    return made.header_length, made.header_length


@pytest.mark.parametrize("form", FORMATS)
def test_one_run_has_all_sections(form: str, tmp_path: Path) -> None:
    made = writer(form)
    made.pad(len(made.data) + 100)
    with written(tmp_path, made) as file:
        run = read_run(file, *first_edge(made))
    assert run is not None
    assert run.sections.tolist() == [place.start for place in made.sections]
    assert (run.edge, run.at) == (made.end, made.sections[-1].next_at)
    assert found(run) == [(entry.start, entry.payload) for entry in made.entries]


@pytest.mark.parametrize("form", FORMATS)
def test_a_run_ends_with_the_section_that_reaches_most_and_before_one_that_ends_behind_the_end(
    form: str, tmp_path: Path
) -> None:
    made = writer(form)
    start, at = first_edge(made)
    with written(tmp_path, made) as file:
        for count, place in enumerate(made.sections, 1):
            limits = (OFFSET_MAX, place.start - start + 1), (OFFSET_MAX, place.end - start), (place.end, OFFSET_MAX)
            for end, most in limits:
                file.kept.clear()
                run = read_run(file, start, at, end, most)
                assert run is not None
                assert len(run.sections) == count
                assert run.edge == place.end
        assert read_run(file, start, at, made.sections[0].end - 1) is None


@pytest.mark.parametrize("form", FORMATS)
def test_a_run_ends_before_damage(form: str, tmp_path: Path) -> None:
    """Every byte of the sections, one at a time."""
    made = writer(form)
    whole = bytes(made.data)
    path = tmp_path / made.name
    for at in range(made.header_length, len(whole)):
        hit = next(number for number, place in enumerate(made.sections) if at < place.next_at)
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :])
        with SegmentFile(path, ID, lambda alias: KEY) as file:
            run = read_run(file, *first_edge(made))
        sections = [] if run is None else run.sections.tolist()
        clean = [place.start for place in made.sections]
        # The body of an empty section means nothing: the byte may be one of those.
        assert sections == clean[:hit] or (sections == clean and not made.sections[hit].entries)


def test_a_section_longer_than_what_is_read_at_once_is_a_run_by_itself(tmp_path: Path) -> None:
    large = b"x" * (RUN_BYTES + 1000)
    made = segment_of(ID, [[large], [b"small and last"]])
    with written(tmp_path, made) as file:
        run = read_run(file, *first_edge(made))
        assert run is not None
        assert found(run) == [(made.entries[0].start, large)]
        behind = read_run(file, run.edge, run.at)
    assert behind is not None
    assert found(behind) == [(made.entries[1].start, b"small and last")]


def test_what_is_to_be_kept_is_kept_until_the_file_is_opened_again(tmp_path: Path) -> None:
    made = writer()
    with written(tmp_path, made) as file:
        assert read_run(file, *first_edge(made)) is not read_run(file, *first_edge(made))
        run = read_run(file, *first_edge(made), keep=True)
        assert run is not None
        assert read_run(file, *first_edge(made)) is run
        assert read_run(file, *first_edge(made), run.edge - 1) is not run
        file.reopen()
        assert read_run(file, *first_edge(made)) is not run


@pytest.mark.parametrize("form", FORMATS)
def test_a_part_of_a_run_is_the_run_that_begins_there(form: str, tmp_path: Path) -> None:
    made = writer(form)
    with written(tmp_path, made) as file:
        whole = read_run(file, *first_edge(made))
        assert whole is not None
        for place in made.sections:
            for behind in made.sections:
                for end, most in ((behind.end, OFFSET_MAX), (behind.end - 1, OFFSET_MAX), (OFFSET_MAX, behind.end)):
                    fresh = read_run(file, place.start, place.at, end, most)
                    part = whole.part(place.start, end, most)
                    assert (fresh is None) == (part is None)
                    if fresh is not None and part is not None:
                        assert found(part) == found(fresh)
                        assert part.sections.tolist() == fresh.sections.tolist()
                        assert (part.edge, part.at) == (fresh.edge, fresh.at)
        assert whole.part(made.sections[0].start + 1, OFFSET_MAX, OFFSET_MAX) is None


def test_the_oldest_runs_are_given_up(tmp_path: Path) -> None:
    made = writer()
    with written(tmp_path, made) as file:
        run = read_run(file, *first_edge(made))
    assert run is not None
    cache = RunCache()
    heavy = [
        Run(bytes(6 * 1024 * 1024), run.starts, run.sizes, run.offsets, run.sections, run.nexts, 0) for _ in range(4)
    ]
    for number, each in enumerate(heavy):
        cache.keep((1, number), each)
    assert [cache.get((1, number)) is each for number, each in enumerate(heavy)] == [False, False, True, True]
    cache.keep((1, 3), heavy[0])
    assert cache.get((1, 3)) is heavy[0]
    assert cache.get((1, 2)) is heavy[2]
