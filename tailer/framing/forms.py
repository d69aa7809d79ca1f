"""The forms of the checks, plain or compiled, whichever works now (`jit.ready` chooses). Knows no file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from tailer.jit.ready import form_now
from tailer.limits import KIB

if TYPE_CHECKING:
    from tailer.framing.chain import Chain, Limits, Parts
    from tailer.framing.entry import Entries, Numbers
    from tailer.framing.header import Header

SMALL_BYTES: Final = 2 * KIB
"""The plain form is done with the entries of a smaller section before the compiled one has begun."""

FEW_BLOCKS: Final = 8
SMALL_BLOCK_BYTES: Final = 2 * KIB
"""Longer LZ4 sections the library unpacks sooner, for all that each of its calls costs (1.2 µs); shorter ones not."""

CHECK_SHARE: Final = 8
"""Entries are checked about so many times faster than they are scanned: to be counted in `jit.ready.expect`."""

ENTRIES: Final = ("scan_entries", "tailer.framing.compiled.entries", "tailer.framing.entry")
CHAIN: Final = ("read_chain", "tailer.framing.compiled.chain", "tailer.framing.chain")
BLOCKS: Final = ("unpack_blocks", "tailer.framing.compiled.lz4", "tailer.framing.blocks")
PARTS: Final = ("scan_parts", "tailer.framing.compiled.chain", "tailer.framing.chain")


class ScanEntries(Protocol):
    """`entry.scan_entries`."""

    def __call__(self, data: bytes | memoryview) -> Entries: ...


class ReadChain(Protocol):
    """`chain.read_chain`."""

    def __call__(self, block: bytes, header: Header, at: int, start: int, limits: Limits) -> Chain: ...


class UnpackBlocks(Protocol):
    """`blocks.unpack_blocks`."""

    def __call__(self, block: bytes, begins: Numbers, ends: Numbers, lengths: Numbers) -> tuple[bytes, int]: ...


class ScanParts(Protocol):
    """`chain.scan_parts`."""

    def __call__(self, data: bytes, begins: Numbers, ends: Numbers) -> Parts: ...


def scan_entries_now(size: int) -> ScanEntries:
    """The check of entries for a section of that many bytes."""
    found: ScanEntries = form_now(*ENTRIES, size >= SMALL_BYTES)
    return found


def read_chain_now(size: int) -> ReadChain:
    """What follows the chain of sections in a block of that many bytes."""
    found: ReadChain = form_now(*CHAIN, size >= SMALL_BYTES)
    return found


def unpack_blocks_now(count: int, size: int) -> UnpackBlocks:
    """What unpacks so many LZ4 sections that have so many plain bytes together."""
    found: UnpackBlocks = form_now(*BLOCKS, count >= FEW_BLOCKS and size <= count * SMALL_BLOCK_BYTES)
    return found


def scan_parts_now(size: int) -> ScanParts:
    """The check of the entries of several sections that have so many bytes together."""
    found: ScanParts = form_now(*PARTS, size >= SMALL_BYTES)
    return found
