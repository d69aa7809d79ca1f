"""What claims to be large is looked at before it gets room: bombs, and sections that really are large."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.framing import cipher, codec, compressors
from tailer.framing.beginning import begin_lz4, begin_snappy
from tailer.framing.entry import EntryError, scan_entries
from tailer.limits import LOOKED_AT_BYTES
from tests.helpers.logs.frame import encode_entry
from tests.unit.framing.bombs import BOMBS
from tests.unit.framing.test_codec import AT, COMPRESS, PACKED
from tests.unit.framing.test_codec import codec as codec_of

ROOT = Path(__file__).parents[3]
BEGIN = {
    "LZ4Compressor": compressors.LZ4,
    "SnappyCompressor": compressors.SNAPPY,
    "DeflateCompressor": compressors.DEFLATE,
    "ZstdCompressor": compressors.ZSTD,
}
ENTRIES = b"".join(encode_entry(b"payload %d " % number + b"x" * (number % 50)) for number in range(10_000))
REPEATED = st.builds(lambda byte, count: bytes([byte]) * count, st.integers(0, 255), st.integers(1, 3000))
PLAIN_BYTES = st.lists(st.one_of(st.binary(max_size=300), REPEATED), max_size=12).map(b"".join)


@pytest.mark.parametrize("begin", [b"", encode_entry(b"a good entry, then nothing")], ids=["zeros", "an entry first"])
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_takes_no_room(name: str, begin: bytes) -> None:
    """Half a gigabyte of zeros in a process that may not have as much. Before, they took three times as much."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.unit.framing.bombs", name, begin.hex()],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == [str(LOOKED_AT_BYTES), str(int(bool(begin))), "ZERO"], done.stderr


@pytest.fixture
def all_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sections of more bytes than a chunk of an encrypted one has here count as large."""
    for module in (codec, cipher):
        monkeypatch.setattr(module, "LARGE_SECTION_BYTES", 5000)
        monkeypatch.setattr(module, "LOOKED_AT_BYTES", 3000)


@pytest.mark.usefixtures("all_large")
@pytest.mark.parametrize("name", PACKED)
class TestLarge:
    def test_entries_come_out_whole(self, name: str) -> None:
        assert codec_of(name).decode(COMPRESS[name](ENTRIES), len(ENTRIES), AT) == ENTRIES

    def test_one_entry_that_is_larger_than_what_is_looked_at(self, name: str) -> None:
        plain = encode_entry(random.Random(3).randbytes(100_000))
        assert codec_of(name).decode(COMPRESS[name](plain), len(plain), AT) == plain

    def test_a_fault_further_behind_changes_nothing(self, name: str) -> None:
        plain = ENTRIES[:50_000] + bytes(10_000)
        assert codec_of(name).decode(COMPRESS[name](plain), len(plain), AT) == plain

    @pytest.mark.parametrize(
        ("fault", "error"),
        [
            (bytes(60_000), EntryError.ZERO),
            (b"\1" * 60_000, EntryError.SIZE_CRC),
            (encode_entry(b"small"), EntryError.SIZE),
            (encode_entry(bytes(1_000_000))[:60_000], EntryError.CUT),
        ],
    )
    def test_a_fault_is_found_where_it_is(self, name: str, fault: bytes, error: EntryError) -> None:
        """The entries before it too."""
        begin = b"".join(map(encode_entry, (b"the first entry", b"and a second one")))
        plain = (begin + fault).ljust(60_000, b"\0")
        found = scan_entries(codec_of(name).decode(COMPRESS[name](plain), len(plain), AT))
        whole = scan_entries(plain)
        assert (found.starts, found.sizes) == (whole.starts, whole.sizes)
        assert len(found.starts) == 2
        assert [(each.error, each.offset) for each in found.faults] == [(error, len(begin))]
        assert [(each.error, each.offset) for each in whole.faults] == [(error, len(begin))]


@given(plain=PLAIN_BYTES, most=st.integers(1, 5000), name=st.sampled_from(sorted(BEGIN)))
def test_the_first_bytes_are_those_of_all(plain: bytes, most: int, name: str) -> None:
    assert BEGIN[name].begin(COMPRESS[name](plain), most) == plain[:most]
    assert BEGIN[name].begin(memoryview(COMPRESS[name](plain)), most) == plain[:most]


@given(plain=PLAIN_BYTES, most=st.integers(1, 5000), name=st.sampled_from(sorted(BEGIN)), cut=st.integers(0, 4000))
def test_a_body_that_ends_early_gives_what_is_there(plain: bytes, most: int, name: str, cut: int) -> None:
    assert plain.startswith(BEGIN[name].begin(COMPRESS[name](plain)[:cut], most))


@given(body=st.binary(max_size=300), most=st.integers(1, 2000), name=st.sampled_from(sorted(BEGIN)))
def test_any_bytes_have_a_beginning(body: bytes, most: int, name: str) -> None:
    assert len(BEGIN[name].begin(body, most)) <= most


@pytest.mark.parametrize("seed", range(4))
def test_long_blocks(seed: int) -> None:
    chance = random.Random(seed)
    words = [chance.randbytes(chance.randrange(1, 90)) for _ in range(300)]
    plain = b"".join(chance.choice(words) for _ in range(20_000))
    packed = bytes(cramjam.lz4.compress_block(plain, store_size=False))
    assert begin_lz4(packed, len(plain)) == plain
    assert begin_snappy(bytes(cramjam.snappy.compress_raw(plain)), len(plain)) == plain
