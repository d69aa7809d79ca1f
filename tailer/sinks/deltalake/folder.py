"""A Delta table in a folder of this machine: opened or made, and commits to it that are on the disk when they are
answered. Knows no row and no position.

delta-rs syncs nothing. So we write the data file ourselves and sync it, then commit it, then sync the commit.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import AddAction, RemoveAction

from tailer.errors import CdcError, RefusedError, SinkError, SystemFailedError, UsageError
from tailer.sinks.database.columns import TargetForm
from tailer.sinks.deltalake.place_text import FIELD
from tailer.sinks.deltalake.shape import check_names, missing
from tailer.sinks.outlet import TargetAwayError
from tailer.system_errors import system_error

_LOG: Final = "_delta_log"
_SAME: Final = "Concurrent transaction"
_NO_SPACE: Final = "No space left"


class DeltaFolder:
    """One table, as it was at the last look."""

    def __init__(self, folder: Path, form: TargetForm) -> None:
        self.name = f"the Delta table {folder}"
        self._folder = folder
        self._form = form
        self._table: DeltaTable | None = None

    @property
    def table(self) -> DeltaTable:
        assert self._table is not None, "the outlet is open"
        return self._table

    def open(self) -> list[str]:
        """The table as it is now, made if it is not there; which columns were added. Raises documented errors."""
        check_names(self._form, self.name)
        try:
            if self._is_there():
                self._table = self._loaded()
                return self._fit()
            self._table = DeltaTable.create(self._folder, self._form.schema)
            self._sync(0)
        except (DeltaError, OSError) as error:
            raise self.documented(error) from error
        return []

    def append(self, rows: pa.Table | None, app: str, number: int, text: str) -> None:
        """One commit: these rows (None: none), the application's number, and a text that stands in the commit.

        Durable when it returns. RefusedError where somebody else committed under this application since the last look.
        """
        before = self.table.version()
        try:
            self._check_there(before)
            added: list[AddAction | RemoveAction] = [] if rows is None else [self._data_file(rows, number)]
            self.table.create_write_transaction(
                added,
                "append",
                self.table.schema(),
                commit_properties=CommitProperties({FIELD: text}, app_transactions=[Transaction(app, number)]),
            )
            # The commit stands behind the one before it, not where the disk was that was taken away meanwhile.
            self._check_there(before)
            self.table.update_incremental()
            self._sync(before + 1)
        except (DeltaError, OSError) as error:
            raise self.documented(error) from error

    def documented(self, error: Exception) -> CdcError:
        """What delta-rs or the disk says, as a documented error."""
        if self._table is not None and not (self._folder / _LOG).is_dir():
            return self._gone()
        sentence = " ".join(str(error).split()).removesuffix(".")
        if isinstance(error, OSError) and error.errno is not None:
            return system_error(f"{self.name} cannot be written", error, self._folder, writes=True)
        if _NO_SPACE in sentence:
            return SystemFailedError(f"{self.name}: {sentence}", remedy="Free space, and start again.")
        if _SAME in sentence:
            return RefusedError(
                f"{self.name}: somebody else writes under this consumer and node",
                remedy="Is another run feeding it? Let one go on.",
            )
        if isinstance(error, CommitFailedError | OSError):
            return TargetAwayError(f"{self.name}: {sentence}")
        return SinkError(f"{self.name}: {sentence}", remedy="Restore it, or give --to another folder.")

    def _is_there(self) -> bool:
        if (self._folder / _LOG).is_dir():
            return True
        if self._table is not None:
            raise self._gone()
        if self._folder.is_dir() and any(self._folder.iterdir()):
            raise UsageError("--to delta", expected="a Delta table, or an empty folder", found=str(self._folder))
        return False

    def _loaded(self) -> DeltaTable:
        """The table; where there was one before, the same."""
        if self._table is None:
            return DeltaTable(self._folder)
        try:
            found = DeltaTable(self._folder)
        except DeltaError as error:
            raise self._gone() from error
        if found.metadata().id != self._table.metadata().id:
            raise self._gone()
        return found

    def _check_there(self, version: int) -> None:
        """What is below a mount point is another folder: the table's own has the version that was seen last."""
        if not any((self._folder / _LOG).glob(f"{version:020d}.*")):
            raise self._gone()

    def _gone(self) -> TargetAwayError:
        return TargetAwayError(f"{self.name} is gone", remedy="Is it on a disk that was taken away?")

    def _fit(self) -> list[str]:
        fields = missing(self.table, self._form, self.name)
        if fields:
            before = self.table.version()
            self.table.alter.add_columns(fields)
            self.table.update_incremental()
            self._sync(before + 1)
        return [field.name for field in fields]

    def _data_file(self, rows: pa.Table, number: int) -> AddAction:
        name = f"cdc-tail-{number:010d}-{uuid4()}.parquet"
        path = self._folder / name
        pq.write_table(rows, path, compression="zstd")
        _sync(path)
        _sync(self._folder)
        stats = json.dumps({"numRecords": rows.num_rows})
        return AddAction(name, path.stat().st_size, {}, time.time_ns() // 1_000_000, True, stats)

    def _sync(self, first: int) -> None:
        """Commits from that version on, and checkpoints that were written with them."""
        log = self._folder / _LOG
        for version in range(first, self.table.version() + 1):
            for path in log.glob(f"{version:020d}.*"):
                _sync(path)
        if (log / "_last_checkpoint").exists():
            _sync(log / "_last_checkpoint")
        _sync(log)
        _sync(self._folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
