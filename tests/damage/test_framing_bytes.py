"""Every damage of one small segment per codec through the framing alone: what it sees, held against the healthy file.

Many sections at once, by both twins, are looked at for the first damage of each look and at every byte of the header,
markers, lengths and CRCs; with `CDC_TAIL_TESTS=all` for every damage.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.damage.framing_rules import sights
from tests.helpers.log_writer import FORMATS

pytestmark = [pytest.mark.damage, pytest.mark.slow]

EVERYWHERE = {
    "CorruptError: header CRC does not check",
    "none, begun",
    "end of file",
    "zero marker",
    "sync marker CRC does not check",
    "section reaches beyond the file",
}
READABLE = {"entry CRC does not check", "entry size CRC does not check", "entry of size zero"}
LENGTH = "plain length of the section"
OWN = {
    "plain": {*READABLE, "entry reaches beyond its section"},
    "noop": {*READABLE, LENGTH, "SectionLengthError: plain section"},
    "lz4": {LENGTH, "CorruptError: LZ4Compressor section that does not decompress"},
    "snappy": {LENGTH, "SectionLengthError: SnappyCompressor section's length"},
    "deflate": {LENGTH, "CorruptError: DeflateCompressor section that does not decompress"},
    "zstd": {LENGTH, "SectionLengthError: ZstdCompressor section's length"},
    "aes": {
        LENGTH,
        "CorruptError: lengths of an encrypted chunk",
        "CorruptError: encrypted chunk that does not decrypt",
    },
}


@pytest.mark.parametrize("form", FORMATS)
def test_every_damage_keeps_the_rules(form: str, samples: Path) -> None:
    """And each kind of fault turns up, so that its rules were tried."""
    kinds = set()
    for seen, _ in sights(form, samples).values():
        kinds |= {seen.header, seen.stop, *(bad.kind for part in seen.parts for bad in part.bad)}
    assert kinds >= {*EVERYWHERE, *OWN[form]}
