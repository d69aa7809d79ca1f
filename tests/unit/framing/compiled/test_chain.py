"""Compiled and plain chains: the same sections and the same entries, whatever the bytes, the cut and the limits."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from tailer.framing.chain import Limits, Parts
from tailer.framing.chain import read_chain as plain_chain
from tailer.framing.chain import scan_parts as plain_parts
from tailer.framing.header import Header, decode_header
from tailer.limits import OFFSET_MAX
from tailer.position import Position
from tests.helpers.log_writer import FORMATS, segment_of
from tests.unit.scan.compiled.twins import compiled_only

pytestmark = compiled_only

ID = 1_700_000_000_001


class Segment(NamedTuple):
    """The file's bytes, its header, and the edge where the chain is entered."""

    data: bytes
    header: Header
    at: int
    start: int


@st.composite
def segments(draw: st.DrawFn) -> Segment:
    form = FORMATS[draw(st.sampled_from(["plain", "plain", "noop", "lz4"]))]
    payload = st.binary(min_size=10, max_size=40)
    made = segment_of(ID, draw(st.lists(st.lists(payload, max_size=3), max_size=8)), form=form)
    made.pad(len(made.data) + draw(st.sampled_from([0, 1, 8, 11, 12, 30])))
    data = bytearray(made.data)
    for at, byte in draw(st.lists(st.tuples(st.integers(0, 2**20), st.integers(1, 255)), max_size=2)):
        begin = made.header_length
        if len(data) > begin:
            data[begin + at % (len(data) - begin)] ^= byte
    header = decode_header(bytes(data), made.name, Position(ID, 0))
    assert header is not None
    edges = [(made.header_length, made.header_length), *((place.next_at, place.end) for place in made.sections)]
    return Segment(bytes(data), header, *draw(st.sampled_from(edges)))


@given(segments(), st.data())
def test_chains_are_the_same(segment: Segment, draw: st.DataObject) -> None:
    from tailer.framing.compiled.chain import read_chain as compiled_chain

    block = segment.data[segment.at :][: draw.draw(st.sampled_from([2**20, 0, 7, 8, 12, 60, 100, 200]))]
    limits = Limits(
        len(segment.data) - draw.draw(st.sampled_from([0, 0, 0, 1, 9])),
        draw.draw(st.sampled_from([OFFSET_MAX, segment.start, segment.start + 8, 150, 200])),
        draw.draw(st.sampled_from([OFFSET_MAX, 0, 1, 8, 9, 100])),
    )
    plain = plain_chain(block, segment.header, segment.at, segment.start, limits)
    compiled = compiled_chain(block, segment.header, segment.at, segment.start, limits)
    assert [list(numbers) for numbers in compiled] == [list(numbers) for numbers in plain]


@given(segments(), st.data())
def test_parts_are_the_same(segment: Segment, draw: st.DataObject) -> None:
    """Those of a chain, and any others."""
    from tailer.framing.compiled.chain import scan_parts as compiled_parts

    limits = Limits(len(segment.data), OFFSET_MAX, OFFSET_MAX)
    block = segment.data[segment.at :]
    chain = plain_chain(block, segment.header, segment.at, segment.start, limits)
    begins, ends = [at - segment.at + 8 for at in chain.ats], [at - segment.at for at in chain.nexts]
    if draw.draw(st.booleans()):
        size = st.integers(0, len(block))
        bounds = [sorted((draw.draw(size), draw.draw(size))) for _ in range(draw.draw(st.integers(0, 3)))]
        begins, ends = [begin for begin, _ in bounds], [end for _, end in bounds]
    assert _listed(compiled_parts(block, begins, ends)) == _listed(plain_parts(block, begins, ends))


def test_more_entries_than_there_was_room_for() -> None:
    from tailer.framing.compiled.chain import scan_parts as compiled_parts

    payloads = [[b"ten bytes!"] * 300, [b"ten bytes!"] * 500]
    made = segment_of(ID, payloads)
    data = bytes(made.data)
    begins, ends = [place.at + 8 for place in made.sections], [place.next_at for place in made.sections]
    found = compiled_parts(data, begins, ends)
    assert list(found.counts) == [300, 500]
    read = [data[start : start + size] for start, size in zip(found.starts, found.sizes, strict=True)]
    assert read == [b"ten bytes!"] * 800


def _listed(parts: Parts) -> list[object]:
    return [parts.good, *map(list, parts[1:])]
