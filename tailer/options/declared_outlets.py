"""The options of `follow --to`: where rows go, and how often they are committed there. Part of the table."""

from __future__ import annotations

from typing import Final

from tailer.options import kinds
from tailer.options.declared import Option

_TO: Final = "Where rows go"
_TABLE: Final = "Databases"
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
    Option("retry_for", kinds.TIME, "With --to: how long a target may be away before the run ends (exit 8).", _TO,
           "10min", "retry-for", _FOLLOW),
    Option("into", kinds.TEXT, "With --to sqlite, postgresql, duckdb: the table; made if it is not there.", _TABLE,
           None, "into", _FOLLOW, alone=True),
    Option("mode", kinds.word("changes", "table"), "With --to a database: rows are appended as changes. (table: the "
           "table itself, which needs whole rows.)", _TABLE, "changes", "mode", _FOLLOW),
)  # fmt: skip
