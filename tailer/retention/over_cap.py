"""What consumers hold back though there is no room for it: how much is over the cap, and who holds it.

A server at its cap stops writes to CDC tables, or deletes what nobody has read. Pure; decides nothing about what goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tailer.errors import HeldBackError
from tailer.retention.needed import Decision, HeldSegment
from tailer.sinks.text import size_text


def held_over_cap(made: Decision, folder: str) -> HeldBackError | None:
    """The error of a run that left more than there is room for, because consumers have not read it; else None."""
    waiting = set(made.waiting)
    over = [held for held in made.over if held.segment in waiting]
    if over:
        what = f"{_amount(over)} over the limit are still needed and stay"
        return HeldBackError(what, file=folder, found=_who(made, over), remedy=_remedy(made, over))
    if made.cap is None or made.left <= made.cap or not waiting:
        return None
    held = [each for each in made.kept if each.segment in waiting]
    return HeldBackError(
        f"the log is {size_text(made.left - made.cap)} over its cap: what is not read stays",
        file=folder,
        expected=f"at most {size_text(made.cap)} (--cap says another)",
        found=f"{size_text(made.left)}: {_who(made, held)}",
        remedy=_remedy(made, held),
    )


def _who(made: Decision, segments: Sequence[HeldSegment]) -> str:
    names = sorted({name for held in segments for name in made.waiting[held.segment]})
    return ", ".join(f"consumer {name} holds {_amount(_of(made, segments, name))}" for name in names)


def _remedy(made: Decision, segments: Sequence[HeldSegment]) -> str:
    names = sorted({name for held in segments for name in made.waiting[held.segment]})
    return (
        f"At its cap a server stops writes, or deletes. Run {' and '.join(names)}; forget what never comes back with "
        f"`cdc-tail consumers DIR drop {names[0]}`; or let the oldest go with --max-bytes SIZE --force."
    )


def _of(made: Decision, segments: Iterable[HeldSegment], name: str) -> list[HeldSegment]:
    return [held for held in segments if name in made.waiting[held.segment]]


def _amount(segments: Sequence[HeldSegment]) -> str:
    size = size_text(sum(held.bytes for held in segments))
    return f"{len(segments)} segment{'s' if len(segments) != 1 else ''} ({size})"
