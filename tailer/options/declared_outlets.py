"""The options of `follow --to`: where rows go, and how often they are committed there. Part of the table."""

from __future__ import annotations

from typing import Final

from tailer.options import kinds
from tailer.options.declared import Option

_TO: Final = "Where rows go"
_FILES: Final = "Data files"
_FOLLOW: Final = ("follow",)

OUTLETS: Final = (
    Option(
        "to", kinds.TEXT, "Where rows go, with the position behind them, instead of standard output. Needs --consumer.",
        _TO, None, "to", _FOLLOW, alone=True,
    ),
    Option("commit_rows", kinds.whole(1, 10_000_000, "N"), "With --to: commit at so many rows.", _TO, 50_000,
           "commit-rows", _FOLLOW),
    Option("commit_bytes", kinds.SIZE, "With --to: commit at so many bytes of rows.", _TO, "16m", "commit-bytes",
           _FOLLOW),
    Option(
        "commit_seconds", kinds.SECONDS, "With --to: how long rows wait for more before they are committed, once "
        "nothing more is at hand.", _TO, 0.0, "commit-seconds", _FOLLOW,
    ),
    Option("retry_for", kinds.TIME, "How long a target may be away before the run ends (exit 8).", _TO,
           "10min", "retry-for", (*_FOLLOW, "ship")),
    Option("format", kinds.word("rows", "arrow"), "With --to files: lines of JSON (zstd), or Arrow IPC. Default: "
           "rows.", _FILES, None, "format", _FOLLOW, alone=True),
    Option("roll_bytes", kinds.BYTES, "With --to files: how large a data file grows.", _FILES, "128m", "roll-bytes",
           _FOLLOW),
    Option("roll_seconds", kinds.SECONDS, "With --to files: how long rows wait at most for their data file to be "
           "finished.", _FILES, 60.0, "roll-seconds", _FOLLOW),
)  # fmt: skip
