"""A change of definitions at a position of a log. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from tailer.position import Position
from tailer.schema.model import TableDefinition


class DefinitionEvent(NamedTuple):
    """Definitions that changed at a position, and which record said so (0: not journalled).

    By table id; those of a native log by their keys (`schema.record_definitions`), under which nothing ever changes.
    `start`: where the entry of this log begins that made the change; None where no entry did, or it is not known.
    `learnt`: when the journal first had it (µs); 0 where that is not known. `again`: tables that are created again with
    the same id where the log lacks the DROP, each with the time (µs) up to which rows are of the earlier one.
    """

    at: Position
    changed: Mapping[str, TableDefinition]
    source: str
    n: int
    start: Position | None = None
    learnt: int = 0
    again: Mapping[str, int] = MappingProxyType({})
