"""The options of a snapshot: a table as its server has it, before what its log brings. Part of the table."""

from __future__ import annotations

from typing import Final

from tailer.options import kinds
from tailer.options.declared import Option

_PANEL: Final = "The snapshot"
_READERS: Final = ("follow", "snapshot")

SNAPSHOT: Final = (
    Option("consistency", kinds.word("ONE", "LOCAL_ONE", "TWO", "THREE", "QUORUM", "LOCAL_QUORUM", "EACH_QUORUM",
           "ALL"), "How many replicas answer.", _PANEL, "LOCAL_QUORUM", "consistency", ("compare", *_READERS)),
    Option("rows_per_second", kinds.number("ROWS", least=1), "So many rows a second are read at most.", _PANEL, None,
           "rows-per-second", _READERS),
    Option("parallel", kinds.number("N", least=1), "So many ranges are read at once.", _PANEL, 2.0, "parallel",
           _READERS),
    Option("snapshot_settle", kinds.SECONDS, "How long after the positions were taken reading begins: longer than a "
           "write takes, and clocks differ.", _PANEL, 30.0, "snapshot-settle", _READERS),
    Option("older", kinds.word("void", "reread"), "What comes later, is older than the snapshot and was not in it is "
           "void, or its row is read again from the server.", _PANEL, "void", "older", _READERS),
    Option("partial", kinds.FLAG, "Read ranges of which not all replicas are followed too; their rows are not known "
           "whole.", _PANEL, False, "partial", _READERS),
    Option("incomplete", kinds.FLAG, "Without a server: go on although there are lists or counters of which only that "
           "could tell what a change made of them; such rows are marked.", _PANEL, False, "incomplete", _READERS),
)  # fmt: skip
