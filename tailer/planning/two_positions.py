"""Two positions of one consumer: the state's own, and that which its outlet's target keeps. Which one counts. Pure.

The target is written first, the state after it: so the target may be ahead by one commit after a kill. Anything else
was done by hand: a target that was restored or failed over, a state that was, a consumer that was moved or dropped.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from tailer.errors import RefusedError
from tailer.planning.batch_tasks import place
from tailer.planning.marks import Marks
from tailer.state.consumers import Mark, NodeState
from tailer.state.offset import VERSION, WITHOUT_ID, Memory, NodeOffset, decode_node_offset
from tailer.typed_decode import decode_json
from tailer.versions import UNDECODABLE, Versioned, check_version


class Target(NamedTuple):
    """What a target keeps of a consumer: its offset, and the generation that it is of."""

    offset: NodeOffset
    generation: int


def offset_text(offset: NodeOffset) -> str:
    """An offset as a target keeps it: compact JSON, always in the same form, with its version in front."""
    version = VERSION if offset.id else WITHOUT_ID
    return msgspec.json.encode({"v": version, **offset.as_json()}).decode()


def offset_of_text(text: str, where: str) -> NodeOffset:
    """The offset that a target kept. RefusedError for a text that is none, and for one of a later version.

    Earlier programs left the version out.
    """
    try:
        check_version(decode_json(text, Versioned).v, VERSION, "the position", file=where)
        return decode_node_offset(msgspec.json.decode(text))
    except UNDECODABLE as error:
        raise no_position(where, "none", text, error) from None


def no_position(where: str, what: str, text: str, error: Exception) -> RefusedError:
    """The error of a text that a target kept, and that is not understood. `what`: of which kind it is none."""
    return RefusedError(
        f"{where} keeps a position that is {what}",
        expected="one that cdc-tail wrote",
        found=f"{text[:200]!r}: {error}",
        remedy="Was it edited, or written by a newer version? Restore it, or begin anew with another consumer.",
    )


def begin_at(held: NodeState, target: Target | None, where: str) -> NodeOffset:
    """Where reading goes on. `where`: the target in words. RefusedError where neither position can be right."""
    if target is None:
        if held.initial == held.offset:
            return held.offset
        raise RefusedError(
            f"{where} keeps no position of this consumer, which has moved on already",
            expected=f"the position {held.offset.position} or an earlier one",
            found="none",
            remedy="Was it emptied, or is it another target? Give another consumer, or begin anew: drop this one.",
        )
    if target.generation < held.generation:
        return held.offset
    if target.generation > held.generation:
        raise RefusedError(
            f"{where} keeps a position of a later time than the state folder has: was that restored from a backup?",
            expected=f"generation {held.generation}",
            found=f"{target.generation}",
            remedy="Give another consumer, or restore state and target of one time.",
        )
    return target.offset


def memory_there(held: NodeState, offset: NodeOffset) -> Memory | None:
    """What the planner remembered at an offset that is not behind the state's; None for one that is."""
    if place(offset) < place(held.offset):
        return None
    return Marks([Mark(held.offset, held.memory, held.restart), *held.ahead]).memory_at(offset)
