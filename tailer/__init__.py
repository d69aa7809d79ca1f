"""Near-real-time change data capture from live commit-log segments.

    import tailer

    with tailer.open("/var/lib/cassandra/cdc_raw") as log:
        for batch in log.follow():          # pyarrow.RecordBatch
            ...

Importing this is cheap: what reads bytes and builds Arrow is loaded when a log is opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from tailer.errors import (
    CdcError,
    CorruptError,
    DefinitionError,
    HeldBackError,
    LossError,
    RefusedError,
    SinkError,
    SystemFailedError,
    UsageError,
)
from tailer.position import Position

if TYPE_CHECKING:
    from tailer.api import Log
    from tailer.sinks.files.series import DataFile
    from tailer.tail.run import ChangeConsumer, Running

__all__ = [
    "CdcError",
    "CorruptError",
    "DefinitionError",
    "HeldBackError",
    "LossError",
    "Position",
    "RefusedError",
    "SinkError",
    "SystemFailedError",
    "UsageError",
    "data_files",
    "open",
    "run",
    "run_in_process",
    "run_in_thread",
]


def open(folder: str | PathLike[str] | None = None, *, tables: Sequence[str] = (), **options: Any) -> Log:
    """A node's log folder (`cdc_raw`), ready to `read` or `follow`; None: the one that `cassandra_yaml=FILE` names.

    `tables`: names and globs of `keyspace.table`, globs for those with `cdc = true`; empty = every table with that.
    `table="keyspace.table"` gives that one table in the typed form. All options: docs/python.md, or
    `tailer.options.declared.TAIL`. Raises UsageError for a folder in which no log is kept, an option that does not
    exist, and a value that it does not take.
    """
    from tailer.api import open_log

    return open_log(folder, tables, options)


def data_files(folder: str | PathLike[str], after: Mapping[str, int] | None = None) -> Iterator[DataFile]:
    """The data files of `cdc-tail follow --to files:FOLDER`, node by node, each node's by number.

    `after`: by node the number behind which to begin. Each file has its `index` and `node`, `check()`, and its rows:
    `lines()` of JSON, or `batches()` of an Arrow file. A `cdc-tail ship` beside it removes what it has sent.
    """
    from pathlib import Path

    from tailer.sinks.files.series import files_in

    return files_in(Path(folder), after or {})


def run(folder: str | PathLike[str], consumer: ChangeConsumer, **options: Any) -> None:
    """Hand a folder's changes to `consumer`, an object with `start`, `on_definitions`, `on_changes` and `stop`.

    See `tailer.tail.run.run`, and `run_in_thread`, `run_in_process` for consumers beside the caller.
    """
    from tailer.tail import run as runner

    runner.run(folder, consumer, **options)


def run_in_thread(folder: str | PathLike[str], consumer: ChangeConsumer, **options: Any) -> Running:
    """`run`, in a thread of its own."""
    from tailer.tail import run as runner

    return runner.run_in_thread(folder, consumer, **options)


def run_in_process(folder: str | PathLike[str], consumer: ChangeConsumer, **options: Any) -> Running:
    """`run`, in a process of its own, to which the consumer is pickled."""
    from tailer.tail import run as runner

    return runner.run_in_process(folder, consumer, **options)
