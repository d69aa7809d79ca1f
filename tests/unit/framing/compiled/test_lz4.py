"""Compiled and plain unpacking of many LZ4 blocks: the same bytes, and of hostile blocks none beyond their room."""

from __future__ import annotations

from collections.abc import Sequence

import cramjam
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.framing import blocks
from tailer.framing.codec import LZ4
from tailer.position import Position
from tailer.segments import runs
from tailer.segments.run import Run
from tailer.segments.segment import SegmentFile
from tests.helpers.log_writer import FORMATS, LogFolder, segment_of
from tests.unit.scan.compiled.twins import compiled_only

pytestmark = compiled_only

CANARY = 0xA5


def packed(plain: bytes) -> bytes:
    """As the server writes it: the plain length, little-endian, and the block."""
    return len(plain).to_bytes(4, "little") + bytes(cramjam.lz4.compress_block(plain, store_size=False))


def length(count: int, most: int) -> tuple[int, bytes]:
    """Of a sequence, where it stands: the half of the token, and the bytes that go on."""
    if count < most:
        return count, b""
    more, rest = divmod(count - most, 255)
    return most, b"\xff" * more + bytes([rest])


def sequence(literals: bytes, distance: int | None, match: int) -> bytes:
    """One sequence of a block; without a distance its last."""
    high, more = length(len(literals), 15)
    if distance is None:
        return bytes([high << 4]) + more + literals
    low, behind = length(match - 4, 15)
    return bytes([high << 4 | low]) + more + literals + distance.to_bytes(2, "little") + behind


@st.composite
def by_hand(draw: st.DrawFn) -> tuple[bytes, int]:
    """A block of any sequences, right or wrong, behind some length: of what it would give, or near that."""
    made, size = b"", 0
    for _ in range(draw(st.integers(0, 4))):
        literals = draw(st.binary(max_size=40))
        match = draw(st.sampled_from([4, 5, 8, 18, 19, 20, 300]))
        distance = draw(st.one_of(st.sampled_from([0, 1, 2, 3, 65535]), st.integers(0, 60)))
        made += sequence(literals, distance, match)
        size += len(literals) + match
    last = draw(st.binary(max_size=40))
    made += sequence(last, None, 0)
    size += len(last) + draw(st.sampled_from([0, 0, 0, 0, 1, -1, 12]))
    return made, max(size, 0)


@st.composite
def bodies(draw: st.DrawFn) -> tuple[bytes, int]:
    """The body of a section, and the plain length that its section says."""
    if draw(st.booleans()):
        made, size = draw(by_hand())
        body = bytearray(size.to_bytes(4, "little") + made)
    else:
        unit = draw(st.binary(min_size=1, max_size=30))
        plain = draw(st.binary(max_size=60)) + unit * draw(st.integers(0, 40)) + draw(st.binary(max_size=30))
        size, body = len(plain), bytearray(packed(plain))
    for at, value in draw(st.lists(st.tuples(st.integers(0, 2**16), st.integers(1, 255)), max_size=2)):
        if body and draw(st.booleans()):
            body[at % len(body)] ^= value
    cut = draw(st.sampled_from([0, 0, 0, 1, 5]))
    return bytes(body[: len(body) - cut]), size + draw(st.sampled_from([0, 0, 0, 0, 1, -1])) if size else 0


def laid_out(given: Sequence[tuple[bytes, int]], between: bytes) -> tuple[bytes, list[int], list[int], list[int]]:
    block, begins, ends = between, [], []
    for body, _ in given:
        begins.append(len(block))
        block += body
        ends.append(len(block))
        block += between
    return block, begins, ends, [size for _, size in given]


@given(st.lists(bodies(), max_size=6))
def test_what_is_unpacked_is_what_the_library_gives(given: list[tuple[bytes, int]]) -> None:
    """Up to the first that is refused here; whatever the library may make of that."""
    from tailer.framing.compiled.lz4 import unpack_blocks

    where = laid_out(given, b"between!")
    data, count = unpack_blocks(*where)
    plain, whole = blocks.unpack_blocks(*where)
    assert count <= whole
    assert data == plain[: len(data)]
    assert len(data) == sum(size for _, size in given[:count])


@given(st.lists(st.binary(max_size=300).map(lambda plain: plain + plain[:50] * 5), max_size=20))
def test_what_a_compressor_made_is_never_refused(given: list[bytes]) -> None:
    from tailer.framing.compiled.lz4 import unpack_blocks

    where = laid_out([(packed(plain), len(plain)) for plain in given], b"")
    assert unpack_blocks(*where) == (b"".join(given), len(given)) == blocks.unpack_blocks(*where)


@given(bodies(), st.binary(min_size=64, max_size=64), st.binary(min_size=64, max_size=64))
def test_nothing_is_read_or_written_beside_it(given: tuple[bytes, int], before: bytes, behind: bytes) -> None:
    from tailer.framing.compiled.lz4 import unpack_all
    from tailer.jit.addresses import address_of

    body, size = given
    found = []
    for one, other in ((before, behind), (behind, before)):
        block = np.frombuffer(one + body + other, np.uint8)
        room = np.full(size + 512, CANARY, np.uint8)
        lines = [np.array(each, np.int64) for each in ([64], [64 + len(body)], [256, 256 + size])]
        where = [address_of(block), *map(address_of, lines), address_of(room)]
        done = unpack_all(*where, 1)
        assert (room[:256] == CANARY).all()
        assert (room[256 + size :] == CANARY).all()
        found.append((done, room[256 : 256 + size].tobytes() if done else b""))
    assert found[0] == found[1]
    if found[0][0] and size:
        assert found[0][1] == bytes(LZ4.decode(body, size, Position(0, 0)))


def test_bounds_outside_of_the_block_are_refused() -> None:
    from tailer.framing.compiled.lz4 import unpack_blocks

    body = packed(b"eleven bytes")
    for begin, end, size in (
        (-1, 5, 12),
        (0, len(body) + 1, 12),
        (5, 4, 12),
        (0, len(body), -1),
        (0, len(body), 2**40),
    ):
        assert unpack_blocks(body, [begin], [end], [size]) == (b"", 0)
    assert unpack_blocks(body, [0, 0], [len(body), -1], [12, 12]) == (b"eleven bytes", 1)


@st.composite
def segments(draw: st.DrawFn) -> bytes:
    payload = st.binary(min_size=10, max_size=80)
    sections = draw(st.lists(st.lists(payload, max_size=2), min_size=8, max_size=30))
    made = segment_of(7, sections, form=FORMATS["lz4"])
    data, begin = bytearray(made.data), made.header_length
    for at, value in draw(st.lists(st.tuples(st.integers(0, 2**20), st.integers(1, 255)), max_size=3)):
        data[begin + at % (len(data) - begin)] ^= value
    return bytes(data)


@given(segments())
def test_runs_are_the_same_with_both(tmp_path_factory: pytest.TempPathFactory, given: bytes) -> None:
    from tailer.framing.compiled.lz4 import unpack_blocks

    folder = LogFolder(tmp_path_factory.mktemp("log"))
    log = folder.put(segment_of(7, [], form=FORMATS["lz4"]))
    log.write_bytes(given)
    found = []
    for form in (unpack_blocks, blocks.unpack_blocks):
        with pytest.MonkeyPatch.context() as patched, SegmentFile(log, 7) as file:
            patched.setattr(runs, "unpack_blocks_now", lambda count, size, form=form: form)
            at = file.known_header().length
            found.append(told(runs.read_run(file, at, at)))
    assert found[0] == found[1]


def told(run: Run | None) -> object:
    if run is None:
        return None
    lines = (run.starts, run.sizes, run.offsets, run.sections, run.nexts)
    return run.data, run.edge, *(line.tolist() for line in lines)
