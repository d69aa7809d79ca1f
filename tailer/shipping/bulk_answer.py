"""What a search engine answers to a bulk request, item by item: done, to be sent again, or refused. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from tailer.errors import SinkError
from tailer.shipping.bulk_actions import Action
from tailer.typed_decode import decode_json

_LATE: Final = 409
"""A version conflict: what stands there is newer."""
_NOT_THERE: Final = 404
_LATER: Final = 429


class _Item(msgspec.Struct):
    status: int
    error: Any = None


class _Answer(msgspec.Struct):
    items: list[dict[str, _Item]]


class Outcome(NamedTuple):
    """`again`: what was not taken for now, in order, and `why`; `late`: how many were older than what is there."""

    again: list[Action]
    why: str
    late: int


def outcome_of(body: bytes, sent: Sequence[Action], name: str) -> Outcome:
    """What became of each action. SinkError for one that is refused, and for what is no answer of a bulk API."""
    try:
        items = decode_json(body, _Answer).items
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise SinkError(f"{name} does not answer as a bulk API", found=str(error)) from None
    if len(items) != len(sent):
        raise SinkError(f"{name} answered {len(items)} items to {len(sent)} actions")
    again: list[Action] = []
    why, late = "", 0
    for action, answered in zip(sent, items, strict=True):
        (item,) = answered.values()
        if item.status == _LATE:
            late += 1
        elif item.status == _LATER or item.status >= 500:
            again.append(action)
            why = why or _said(item)
        elif not _done(item, action):
            raise SinkError(f"{name} refused row {action.event_id}", found=_said(item), remedy=_MEND)
    return Outcome(again, why, late)


_MEND: Final = "Mend the index's mapping, or the row's documents; nothing behind this file is sent until it is taken."


def _done(item: _Item, action: Action) -> bool:
    # To delete what is not there is to have deleted it.
    return 200 <= item.status < 300 or (item.status == _NOT_THERE and action.document is None)


def _said(item: _Item) -> str:
    error = item.error
    if isinstance(error, dict):
        error = f"{error.get('type')}: {error.get('reason')}"
    return f"{item.status} {error or ''}".strip()
