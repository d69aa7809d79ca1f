"""What a user can ask of a tail, as one value: the same for the terminal, for Python and for Spark. Knows no parser."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, Literal, NamedTuple

from tailer.errors import UsageError
from tailer.schema.selection import Selection
from tailer.schema.typed import Decimals, OnSchemaChange, TypedOptions

OnError = Literal["stop", "quarantine"]

_TABLE: Final = re.compile(r"\w+\.\w+", re.ASCII)


class CommitEvery(NamedTuple):
    """When a position is saved: after each `batch` or `segment`, or after `number` `rows` or `ms`."""

    unit: Literal["batch", "segment", "rows", "ms"]
    number: int = 1


@dataclass(frozen=True, slots=True)
class TailOptions:
    """Options of a tail (architecture section 9).

    `start` and `until`: `segment:offset`, `earliest`, `latest`, or the node's JSON of an offset.
    `settle_seconds`: how long promised bytes may be invisible; None takes the default of the kind of run.
    `assume_finished_after`: seconds without change after which a segment counts as finished; None = never.
    `state`: a private state folder instead of the one beside the log folder. `keystore`: a JCEKS file.
    `server_ca`, `server_cert`: PEM files, for a server that wants TLS.
    `table`: `keyspace.table` whose rows come in the typed form; the options behind it are about that form alone.
    `on_schema_change`: a column added or re-typed since the start stops the run, or is left out. `decimals`: `decimal`
    and `varint` as numbers of 38 digits, or as text. `meta_prefix`: in front of the names of the change's own columns.
    """

    node: str = "local"
    tables: tuple[str, ...] = ()
    schema_file: Path | None = None
    server: str | None = None
    server_ca: Path | None = None
    server_cert: Path | None = None
    state: Path | None = None
    consumer: str | None = None
    keystore: Path | None = None
    keystore_password_file: Path | None = None
    start: str = "earliest"
    until: str | None = None
    stopped: bool = False
    assume_finished_after: float | None = None
    settle_seconds: float | None = None
    on_error: OnError = "stop"
    accept_loss: bool = False
    schema_changes: bool = False
    table: str | None = None
    on_schema_change: OnSchemaChange = "fail"
    decimals: Decimals = "decimal"
    meta_prefix: str = "_"
    case_sensitive: bool = False
    program: str = "cdc-tail"

    def __post_init__(self) -> None:
        if self.table is not None:
            _check_typed(self, self.table)

    @property
    def selection(self) -> Selection:
        return Selection(self.tables if self.table is None else (self.table,))

    @property
    def typed(self) -> TypedOptions:
        return TypedOptions(self.meta_prefix, self.decimals, self.on_schema_change, self.case_sensitive)

    @property
    def quarantine(self) -> bool:
        return self.on_error == "quarantine"


def _check_typed(options: TailOptions, table: str) -> None:
    if not _TABLE.fullmatch(table):
        raise UsageError(
            "the table of the typed form", expected="one keyspace.table, without * and ?", found=repr(table)
        )
    if options.tables and not any(fnmatchcase(table, pattern) for pattern in options.tables):
        raise UsageError(
            f"{table} is not among the tables that are selected",
            expected=", ".join(options.tables),
            found=table,
            remedy="The typed form is of exactly one table: leave the selection out.",
        )
    if options.schema_changes:
        raise UsageError(
            "schema changes have no typed form", remedy="Ask for them in a run of their own, without the typed table."
        )
    for name, value, words in (
        ("on_schema_change", options.on_schema_change, ("fail", "ignore")),
        ("decimals", options.decimals, ("decimal", "string")),
    ):
        if value not in words:
            raise UsageError(name, expected=" or ".join(words), found=repr(value))
