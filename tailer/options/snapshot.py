"""What a user can ask of a snapshot, as one value. Opens nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from tailer.errors import UsageError
from tailer.options.declared_snapshot import SNAPSHOT
from tailer.options.tail import TailOptions
from tailer.schema.server_rows import Consistency

FROM: Final = "snapshot"
"""Where a run begins that reads the tables first."""

_DEFAULTS: Final = {option.name: option.default_for(spark=False) for option in SNAPSHOT}


@dataclass(frozen=True, slots=True)
class SnapshotOptions:
    """Those of `declared_snapshot.SNAPSHOT`."""

    consistency: Consistency = _DEFAULTS["consistency"]
    rows_per_second: float | None = _DEFAULTS["rows_per_second"]
    parallel: float = _DEFAULTS["parallel"]
    snapshot_settle: float = _DEFAULTS["snapshot_settle"]
    older: str = _DEFAULTS["older"]
    partial: bool = _DEFAULTS["partial"]
    incomplete: bool = _DEFAULTS["incomplete"]

    @property
    def rereads(self) -> bool:
        """Whether what comes late is asked of the server."""
        return self.older == "reread"


NO_WISHES: Final = SnapshotOptions()
"""All by their defaults."""


def snapshot_options(values: Mapping[str, Any]) -> SnapshotOptions:
    """Those among other options."""
    names = {field.name for field in fields(SnapshotOptions)}
    return SnapshotOptions(**{name: values[name] for name in names & values.keys()})


def check_change_rows(options: TailOptions) -> None:
    """UsageError for a form that change rows of a snapshot do not have."""
    if options.table is not None:
        raise UsageError(
            "change rows of a snapshot are of the generic form",
            remedy="Leave out --typed (in Spark `table`); images of them have the table's own columns.",
        )
    if options.extra_columns or options.replicas != "all":
        raise UsageError(
            "change rows of a snapshot come from no node's log",
            remedy="Leave out --with-origin, --with-primary and --replicas.",
        )
