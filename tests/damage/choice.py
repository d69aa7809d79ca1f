"""Which damages the whole follower reads by default; with `CDC_TAIL_TESTS=all` (the soak) it reads every one."""

from __future__ import annotations

import zlib
from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from typing import Final

from tests.damage.damages import Damage
from tests.damage.sample import Sample
from tests.helpers.amount import ALL
from tests.helpers.log_writer import SectionPlace

SHARE: Final = 16
"""One in so many is read of the damages that look like another one and are not wanted for the place they are at."""

_BODY_HEAD: Final = {"lz4": 4, "snappy": 2, "deflate": 2, "zstd": 10}
"""Bytes at the beginning of a body that are its codec's own marks and lengths."""

_BODY_CRC: Final = {"deflate": 4}
"""Bytes at the end of a body that are its codec's own checksum."""


def frame_bytes(it: Sample) -> frozenset[int]:
    """File offsets of the header, and of every marker, length and CRC: where things are, and that they check."""
    found = {*range(it.writer.header_length), *range(it.last.next_at, it.last.next_at + 8)}
    for place in it.writer.sections:
        found |= {*range(place.at, it.body_at(place)), *_of_body(it, place)}
    return frozenset(found)


def _of_body(it: Sample, place: SectionPlace) -> Iterator[int]:
    name, at = it.writer.form.name, it.body_at(place)
    yield from range(at, min(at + _BODY_HEAD.get(name, 0), place.next_at))
    yield from range(place.next_at - _BODY_CRC.get(name, 0), place.next_at)
    while name == "aes" and at < place.next_at:
        yield from range(at, at + 8)
        at += 8 + int.from_bytes(it.writer.data[at : at + 4], "big")
    for entry in place.entries if it.readable else ():
        begin = it.file_offset(place, entry.start)
        yield from range(begin, begin + 8)
        end = it.file_offset(place, entry.end)
        yield from range(end - 4, end)


def chosen(it: Sample, mode: str, looks: Mapping[Damage, Hashable], turns: Mapping[str, Sequence[str]]) -> list[Damage]:
    """The damages that are read in one mode, of those that it is tried with, each with what it looks like.

    The first of each look, and of the others those whose turn it is. `turns`: the modes that try a kind of damage.
    """
    frame = frame_bytes(it)
    met: set[Hashable] = set()
    read = []
    for damage, looks_like in looks.items():
        modes = turns[damage.kind]
        number = _turn(it, frame, damage)
        if ALL or looks_like not in met or (number is not None and modes[number % len(modes)] == mode):
            read.append(damage)
        met.add(looks_like)
    return read


def _turn(it: Sample, frame: Container[int], damage: Damage) -> int | None:
    """The number that tells which of its modes reads a damage, None: none of them.

    At a byte of the frame one of each kind is read, of the others one in SHARE.
    """
    if damage.at in frame:
        bit = bytes([it.writer.data[damage.at] ^ 1 << damage.at // 2 % 8])
        if damage.wrong == {"bit": bit, "block": bytes(8)}.get(damage.kind, damage.wrong):
            return damage.at
    number, rest = divmod(zlib.crc32(repr(damage).encode()), SHARE)
    return None if rest else number
