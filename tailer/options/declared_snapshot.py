"""The options of a snapshot: a table as its server has it, before what its log brings. Part of the table."""

from __future__ import annotations

from typing import Final

from tailer.options import kinds
from tailer.options.declared import Option

_PANEL: Final = "The snapshot"
_PROCESS: Final = ("follow", "snapshot")
_READERS: Final = (*_PROCESS, "stream")

SNAPSHOT: Final = (
    Option("consistency", kinds.word("ONE", "LOCAL_ONE", "TWO", "THREE", "QUORUM", "LOCAL_QUORUM", "EACH_QUORUM",
           "ALL"), "How many replicas answer.", _PANEL, "LOCAL_QUORUM", "consistency", ("compare", *_READERS),
           "consistency"),
    Option("rows_per_second", kinds.number("ROWS", least=1), "So many rows a second are read at most.", _PANEL, None,
           "rows-per-second", _READERS, "rowsPerSecond"),
    Option("parallel", kinds.number("N", least=1), "So many ranges are read at once.", _PANEL, 2.0, "parallel",
           _READERS, "parallel"),
    Option("snapshot_settle", kinds.SECONDS, "How long after the positions were taken reading begins: longer than a "
           "write takes, and clocks differ.", _PANEL, 30.0, "snapshot-settle", _READERS, "snapshotSettle"),
    Option("older", kinds.word("void", "reread"), "What comes later, is older than the snapshot and was not in it is "
           "void, or its row is read again from the server.", _PANEL, "void", "older", _PROCESS),
    Option("partial", kinds.FLAG, "Read ranges of which not all replicas are followed too; their rows are not known "
           "whole.", _PANEL, False, "partial", _READERS, "partial"),
    Option("incomplete", kinds.FLAG, "Without a server or images, and in Spark: go on although there are lists or "
           "counters of which only that could tell what a change made of them; such rows are marked.", _PANEL, False,
           "incomplete", _READERS, "incomplete"),
    Option("spool", kinds.FOLDER, "Where rows that were read wait until the query has them; for the driver alone. "
           "Default: the state folder of the first node whose log is a folder here.", _PANEL, None, "snapshot-spool",
           ("stream",), "snapshotSpool"),
)  # fmt: skip
