"""Every damage that a small segment is tried with: every prefix, every flipped bit, every zeroed byte and block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple


class Damage(NamedTuple):
    """`wrong` in place of the bytes at file offset `at`; None: the file is cut to `at` bytes."""

    kind: str
    at: int
    wrong: bytes | None

    def of(self, healthy: bytes) -> bytes:
        if self.wrong is None:
            return healthy[: self.at]
        return healthy[: self.at] + self.wrong + healthy[self.at + len(self.wrong) :]

    def __str__(self) -> str:
        return f"cut to {self.at}" if self.wrong is None else f"{self.kind}: {self.wrong.hex()[:8]} at {self.at}"


def every_bit(healthy: bytes) -> Iterator[Damage]:
    for at, byte in enumerate(healthy):
        for bit in range(8):
            yield Damage("bit", at, bytes([byte ^ 1 << bit]))


def every_byte_zero(healthy: bytes) -> Iterator[Damage]:
    for at, byte in enumerate(healthy):
        if byte:
            yield Damage("zero byte", at, b"\0")


def every_byte_wrong(healthy: bytes) -> Iterator[Damage]:
    for at, byte in enumerate(healthy):
        yield Damage("wrong byte", at, bytes([byte ^ 0xFF]))


def zeroed_blocks(healthy: bytes) -> Iterator[Damage]:
    """Blocks of zeros at every place, as a page that never reached the disk."""
    for size, step in ((8, 1), (64, 16), (512, 64)):
        for at in range(0, len(healthy) - size + 1, step):
            yield Damage("block", at, bytes(size))


def every_prefix(healthy: bytes) -> Iterator[Damage]:
    for length in range(len(healthy)):
        yield Damage("prefix", length, None)


KINDS: Final[Mapping[str, Callable[[bytes], Iterator[Damage]]]] = {
    "bit": every_bit,
    "zero byte": every_byte_zero,
    "wrong byte": every_byte_wrong,
    "block": zeroed_blocks,
    "prefix": every_prefix,
}


def every_damage(healthy: bytes) -> Iterator[Damage]:
    """All kinds, one behind the other."""
    for kind in KINDS.values():
        yield from kind(healthy)
