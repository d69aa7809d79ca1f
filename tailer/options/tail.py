"""What a user can ask of a tail, as one value: the same for the terminal, for Python and for Spark. Knows no door."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from tailer.errors import UsageError
from tailer.limits import SETTLE_ONCE_SECONDS
from tailer.options.declared import TAIL, OnError
from tailer.schema.selection import Selection
from tailer.schema.typed import OnSchemaChange, TypedOptions
from tailer.segments.keystore import key_source
from tailer.segments.segment import KeySource
from tailer.types.cql import Decimals

_TABLE: Final = re.compile(r"\w+\.\w+", re.ASCII)
_DEFAULTS: Final[dict[str, Any]] = {option.name: option.default_for(spark=False) for option in TAIL}


@dataclass(frozen=True, slots=True)
class TailOptions:
    """Options of a tail: those of `declared.TAIL`, where each is told of, with their defaults; doors check values.

    `settle_seconds`: None takes the default of the kind of run. `program`: who the state folder says is running.
    `outlet`: rows go to an outlet, which keeps a position too.
    """

    node: str = _DEFAULTS["node"]
    tables: tuple[str, ...] = _DEFAULTS["tables"]
    tables_may_come: bool = _DEFAULTS["tables_may_come"]
    schema_file: Path | None = _DEFAULTS["schema_file"]
    server: str | None = _DEFAULTS["server"]
    server_ca: Path | None = _DEFAULTS["server_ca"]
    server_cert: Path | None = _DEFAULTS["server_cert"]
    server_key: Path | None = _DEFAULTS["server_key"]
    state: Path | None = _DEFAULTS["state"]
    consumer: str | None = _DEFAULTS["consumer"]
    keystore: Path | None = _DEFAULTS["keystore"]
    keystore_password_file: Path | None = _DEFAULTS["keystore_password_file"]
    start: str = _DEFAULTS["start"]
    until: str | None = _DEFAULTS["until"]
    hold_seconds: float = _DEFAULTS["hold_seconds"]
    stopped: bool = _DEFAULTS["stopped"]
    assume_finished_after: float | None = _DEFAULTS["assume_finished_after"]
    settle_seconds: float | None = _DEFAULTS["settle_seconds"]
    on_error: OnError = _DEFAULTS["on_error"]
    accept_loss: bool = _DEFAULTS["accept_loss"]
    schema_changes: bool = _DEFAULTS["schema_changes"]
    table: str | None = _DEFAULTS["table"]
    on_schema_change: OnSchemaChange = _DEFAULTS["on_schema_change"]
    decimals: Decimals = _DEFAULTS["decimals"]
    meta_prefix: str = _DEFAULTS["meta_prefix"]
    case_sensitive: bool = _DEFAULTS["case_sensitive"]
    program: str = "cdc-tail"
    outlet: bool = False

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

    def keys(self) -> KeySource:
        """Where keys of encrypted segments come from. Reads the keystore; UsageError."""
        return key_source(self.keystore, self.keystore_password_file)

    def for_run(self, *, once: bool) -> TailOptions:
        """The same for one kind of run: one that does not wait settles sooner, unless the user said when."""
        return replace(self, settle_seconds=SETTLE_ONCE_SECONDS) if once and self.settle_seconds is None else self


_FIELDS: Final = frozenset(field.name for field in fields(TailOptions))


def tail_options(values: Mapping[str, Any], **more: Any) -> TailOptions:
    """The tail's options among others, by name. `more` is stronger."""
    return TailOptions(**({name: value for name, value in values.items() if name in _FIELDS} | more))


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
