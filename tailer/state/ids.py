"""Ids of segments as sorted ranges: looked up by bisection, changed by making others. Values only.

There may be a hundred thousand ranges after years, of which a start needs the newest. So they are kept in blocks: text,
as they stand in the state's files, until somebody looks into one. What changes is made of the blocks that stay.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, compress, count, pairwise
from operator import is_not
from typing import Final

from tailer.errors import RefusedError
from tailer.state.ranges import BEYOND, Range, Ranges

BLOCK_RANGES: Final = 512
_DIGITS: Final = b"0123456789 "


class _Block:
    """Some hundred ranges, as numbers or as text: their deltas with blanks between them."""

    __slots__ = ("_ranges", "_text", "head")

    def __init__(self, head: int, held: Ranges | str) -> None:
        self.head = head
        self._ranges = None if isinstance(held, str) else held
        self._text = held if isinstance(held, str) else ""

    @property
    def ranges(self) -> Ranges:
        if self._ranges is None:
            try:
                self._ranges = Ranges.from_deltas(list(map(int, self._text.split(" "))))
            except ValueError as error:
                raise _damaged(self._text) from error
            self._text = ""
        return self._ranges

    @property
    def text(self) -> str:
        return self._text or " ".join(map(str, self.ranges.deltas()))

    @property
    def size(self) -> int:
        return len(self.ranges) if self._ranges is not None else self._text.count(" ") // 2 + 1


class Ids(Collection[int]):
    """Ids kept as ranges, ascending and apart: neighbours share one, and an id that was never there is never in one."""

    __slots__ = ("_blocks", "_heads")

    def __init__(self, ranges: Iterable[Range] = ()) -> None:
        """Of ranges that are ascending and apart already; of others see `with_ranges`."""
        pairs = list(ranges)
        self._keep(_blocks(Ranges((first for first, _ in pairs), (last for _, last in pairs))))

    @classmethod
    def of(cls, ids: Iterable[int]) -> Ids:
        return NO_IDS.with_ids(ids)

    @classmethod
    def from_deltas(cls, deltas: Sequence[int]) -> Ids:
        """Of numbers as in a text. ValueError or TypeError for what are none."""
        return _of(_blocks(Ranges.from_deltas(deltas)))

    @classmethod
    def from_texts(cls, texts: Iterable[str]) -> Ids:
        """What `texts` gives. ValueError for what it never gives; what is seen only later is RefusedError then."""
        blocks = [_Block(_head(text), text) for text in texts]
        if any(low.head >= high.head for low, high in pairwise(blocks)):
            raise ValueError("these are no ranges of ids, ascending and apart")
        return _of(blocks)

    def texts(self) -> list[str]:
        """Some bytes a range: in turn how far its first id is from the last one before, and its last from its first.

        There are some hundred ranges in each; the first number of each is an id.
        """
        return [block.text for block in self._blocks]

    @property
    def size(self) -> int:
        """How many ranges there are."""
        return sum(block.size for block in self._blocks)

    @property
    def ranges(self) -> tuple[Range, ...]:
        """All of them, made when asked for."""
        return tuple(self._joined().pairs())

    @property
    def firsts(self) -> Sequence[int]:
        """Where the ranges begin."""
        return self._joined().firsts

    @property
    def lasts(self) -> Sequence[int]:
        """Where they end."""
        return self._joined().lasts

    def __contains__(self, segment: object) -> bool:
        assert isinstance(segment, int)
        return self.has_all(segment, segment)

    def __iter__(self) -> Iterator[int]:
        pairs = chain.from_iterable(self._ranges(at).pairs() for at in range(len(self._blocks)))
        return (segment for first, last in pairs for segment in range(first, last + 1))

    def __len__(self) -> int:
        held = self._joined()
        return sum(held.lasts) - sum(held.firsts) + len(held)

    def __bool__(self) -> bool:
        return bool(self._blocks)

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Ids):
            return self is other
        begin, end = _shared(self._blocks, other._blocks)
        return self._joined(begin, len(self._blocks) - end) == other._joined(begin, len(other._blocks) - end)

    def __hash__(self) -> int:
        return hash((self._heads[0], self._ranges(len(self._blocks) - 1).lasts[-1]) if self else ())

    def __repr__(self) -> str:
        return f"Ids({self.ranges!r})"

    def above(self, segment: int) -> Iterator[int]:
        """The ids beyond one, ascending."""
        return iter(self.from_id(segment + 1))

    def from_id(self, segment: int) -> Ids:
        """Those that are not below one."""
        at = bisect_left(self._heads, segment)
        if at == 0:
            return self
        return _of([*_blocks(self._ranges(at - 1).within(segment)), *self._blocks[at:]])

    def below(self, segment: int) -> Ids:
        """Those that are below one."""
        at = bisect_left(self._heads, segment)
        if at == 0:
            return NO_IDS
        held = self._ranges(at - 1)
        if held.lasts[-1] < segment:
            return self if at == len(self._blocks) else _of(self._blocks[:at])
        return _of([*self._blocks[: at - 1], *_blocks(held.within(behind=segment))])

    def has_all(self, first: int, last: int) -> bool:
        """Whether every id from `first` to `last` is among these."""
        at = bisect_right(self._heads, first) - 1
        return at >= 0 and self._ranges(at).has_all(first, last)

    def first_not_in(self, segment: int) -> int:
        """The lowest id from `segment` on that is not among these."""
        at = bisect_right(self._heads, segment) - 1
        return self._ranges(at).first_not_in(segment) if at >= 0 else segment

    def with_ids(self, more: Iterable[int]) -> Ids:
        """These and more."""
        added = sorted(more)
        return self._with(added, added)

    def with_ranges(self, more: Iterable[Range]) -> Ids:
        """These and those of other ranges, in any order."""
        added = list(more)
        return self._with(sorted(first for first, _ in added), sorted(last for _, last in added))

    def plus(self, other: Ids) -> Ids:
        """These and the other ones."""
        if not self or self is other:
            return other
        added = other._joined()
        return self._with(added.firsts, added.lasts)

    def without(self, gone: Iterable[Range]) -> Ids:
        """These but for those of other ranges, in any order."""
        return self.minus(NO_IDS.with_ranges(gone))

    def minus(self, other: Ids) -> Ids:
        """These but for the other ones."""
        begin, end = _shared(self._blocks, other._blocks)
        mine = _of(self._blocks[begin : len(self._blocks) - end]) if begin or end else self
        gone = other._joined(begin, len(other._blocks) - end)
        if not mine or not gone:
            return mine
        begin = max(bisect_right(mine._heads, gone.firsts[0]) - 1, 0)
        end = bisect_right(mine._heads, gone.lasts[-1])
        held = mine._joined(begin, end)
        left = held.minus(gone)
        return mine if left == held else mine._with_instead(begin, end, left)

    def _with(self, firsts: Sequence[int], lasts: Sequence[int]) -> Ids:
        """These and those of ranges whose first and whose last ids are given, each ascending."""
        if not firsts:
            return self
        begin = max(bisect_left(self._heads, firsts[0]) - 1, 0)
        end = bisect_right(self._heads, lasts[-1] + 1)
        return self._with_instead(begin, end, self._joined(begin, end).plus(firsts, lasts))

    def _with_instead(self, begin: int, end: int, ranges: Ranges) -> Ids:
        """With other ranges in place of some blocks."""
        return _of([*self._blocks[:begin], *_blocks(ranges), *self._blocks[end:]])

    def _ranges(self, at: int) -> Ranges:
        """Those of one block. RefusedError where a file says what is impossible."""
        held = self._blocks[at].ranges
        if at + 1 < len(self._blocks) and held.lasts[-1] + 1 >= self._heads[at + 1]:
            raise _damaged(self._blocks[at].text)
        return held

    def _joined(self, begin: int = 0, end: int | None = None) -> Ranges:
        """Those of some blocks."""
        made = Ranges()
        for at in range(len(self._blocks))[begin:end]:
            held = self._ranges(at)
            made.firsts += held.firsts
            made.lasts += held.lasts
        return made

    def _keep(self, blocks: Iterable[_Block]) -> None:
        self._blocks = tuple(blocks)
        self._heads = [block.head for block in self._blocks]


def _of(blocks: Collection[_Block]) -> Ids:
    """None at all are always the same object, which records leave out."""
    if not blocks:
        return NO_IDS
    made = Ids.__new__(Ids)
    made._keep(blocks)
    return made


def _blocks(ranges: Ranges) -> list[_Block]:
    """In blocks of one size, half of the most they may have at least."""
    pieces = -(-len(ranges) // BLOCK_RANGES)
    edges = [len(ranges) * piece // pieces for piece in range(pieces + 1)] if pieces else []
    parts = (ranges.slice(begin, end) for begin, end in pairwise(edges))
    return [_Block(part.firsts[0], part) for part in parts]


def _shared(one: Sequence[_Block], two: Sequence[_Block]) -> tuple[int, int]:
    """How many blocks are the same ones at the beginning, and behind these at the end."""
    most = min(len(one), len(two))
    begin = next(compress(count(), map(is_not, one, two)), most)
    end = next(compress(count(), map(is_not, reversed(one), reversed(two))), most)
    return begin, min(end, most - begin)


def _head(text: str) -> int:
    """The first id of a block's text. ValueError where it is none, as far as is seen without taking it apart."""
    if text.encode().translate(None, _DIGITS) or text.count(" ") % 2 == 0:
        raise ValueError("these are no ranges of ids")
    head = int(text.partition(" ")[0])
    if head >= BEYOND:
        raise ValueError("an id is beyond 64 bits")
    return head


def _damaged(text: str) -> RefusedError:
    return RefusedError(
        "what the state says of segments is damaged",
        file="cleaned.json, or records of kind memory in the journal",
        expected="ranges of ids, ascending and apart",
        found=text[:60],
        remedy="Restore the state folder from a backup.",
    )


NO_IDS: Final = Ids()
