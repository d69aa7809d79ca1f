"""`follow --to files:DIR`: rows into rolling data files in DIR/NODE, each with the place behind it in its index.

A file is written under another name. At a commit it is synced and named, then its index: once that stands there, the
rows and the place count, and before it neither does. What a kill left of a file is taken away at the next start.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast, get_args

import msgspec

from tailer.errors import CdcError, RefusedError, UsageError
from tailer.on_disk import NEW, put_in_place
from tailer.rows.batch import TableName
from tailer.sinks.base import Rows
from tailer.sinks.envelope.options import NAME, EnvelopeOptions, options_of
from tailer.sinks.files.forms import FormWriter, form_writer, has_form
from tailer.sinks.files.held import hold_folder
from tailer.sinks.files.index import Form, Index, Key, TableRows, data_name, index_name, is_index, number_of
from tailer.sinks.files.new_file import DATA_FILES, NewFile
from tailer.sinks.files.series import Series
from tailer.sinks.outlet import Bounds, OutletContext, Place
from tailer.system_errors import system_error

SCHEME: Final = "files:"
IMAGE_FORMS: Final = ("rows", "debezium", "arrow")
_WRITING: Final = "cannot write data files"


def open_outlet(to: str, values: Mapping[str, Any], context: OutletContext) -> FilesOutlet:
    """The outlet of `files:DIR`. UsageError for options that do not fit."""
    folder = to.removeprefix(SCHEME)
    if not folder or folder.startswith("//"):
        raise UsageError("--to", expected="files:DIR", found=repr(to))
    options = options_of(values, NAME, context.key.node)
    if not has_form(options.format):
        raise UsageError("--to files", expected=f"--format {' or '.join(get_args(Form))}", found=options.format)
    if context.images is not None and options.format not in IMAGE_FORMS:
        raise UsageError(
            "--to files with --image", expected=f"--format {' or '.join(IMAGE_FORMS)}", found=options.format
        )
    bounds = Bounds(None, values["roll_bytes"], values["roll_seconds"])
    return FilesOutlet(Path(folder), options, bounds, context)


class FilesOutlet:
    """An Outlet: DIR/NODE of the context's node. Every failure ends it, and leaves what was committed before."""

    keeps_place = True

    def __init__(self, folder: Path, options: EnvelopeOptions, bounds: Bounds, context: OutletContext) -> None:
        self.name = f"{SCHEME}{folder}"
        self.bounds = bounds
        self._series = Series(folder / context.key.node)
        self._options = options
        self._context = context
        self._lock = -1
        self._newest: Index | None = None
        self._file: NewFile | None = None
        self._writer: FormWriter | None = None
        self._counts: Counter[TableName] = Counter()
        self._failed: CdcError | None = None

    def open(self) -> Place | None:
        if self._lock < 0:
            self._lock = hold_folder(self._series.folder)
            try:
                self._newest = self._stands()
                self._take_away_left_over()
            except BaseException:
                self.close()
                raise
        return None if self._newest is None else self._newest.place

    def write(self, batch: Rows) -> int:
        self._check()
        try:
            if self._file is None:
                self._file = NewFile(self._series.folder / f"{data_name(self._next, 'rows')}{NEW}")
                self._writer = form_writer(self._options, self._file, self._context)
            assert self._writer is not None
            held = self._writer.write(batch)
        except OSError as error:
            raise self._fail(error) from error
        self._counts.update(batch.rows_by_table())
        return self._file.bytes + held

    def commit(self, before: Place | None, behind: Place) -> None:
        self._check()
        stands = None if self._newest is None else self._newest.place
        if stands != before or (self._series.folder / index_name(self._next)).exists():
            raise RefusedError(
                "somebody else has written data files here",
                file=str(self._series.folder),
                expected=f"nothing behind number {self._next - 1}",
                remedy="Is the lock not held on this file system? Let one run go on.",
            )
        try:
            index = self._whole(behind) if self._counts else self._moved(behind)
            DATA_FILES.replace(self._series.folder / index_name(index.number), index.encode())
        except OSError as error:
            raise self._fail(error) from error
        self._newest = index
        if self._counts:
            self._file, self._writer = None, None
            self._counts.clear()

    def settled(self) -> None:
        """See Outlet. A folder is never away: a commit that failed ends the run."""

    def close(self) -> None:
        try:
            if self._file is not None:
                self._file.give_up()
        finally:
            self._file, self._writer = None, None
            if self._lock >= 0:
                os.close(self._lock)
                self._lock = -1

    @property
    def _next(self) -> int:
        return 1 if self._newest is None else self._newest.number + 1

    def _whole(self, behind: Place) -> Index:
        """The file in hand gets its name: its index, which nobody has written yet."""
        file = self._file
        assert file is not None
        assert self._writer is not None
        self._writer.end()
        file.finish()
        name = data_name(self._next, self._writer.suffix)
        put_in_place(file.path, file.path.with_name(name))
        tables = tuple(self._table(name, rows) for name, rows in sorted(self._counts.items()))
        return self._index(behind, number=self._next, data=name, tables=tables, length=file.bytes, sha256=file.sha256)

    def _moved(self, behind: Place) -> Index:
        """Of a place without rows: the newest index says it; one of no file where none is there yet."""
        if self._newest is not None:
            return self._newest.moved(behind)
        return self._index(behind, number=0, data="", tables=(), length=0, sha256="")

    def _index(self, behind: Place, *, tables: tuple[TableRows, ...], **more: Any) -> Index:
        typed = self._context.typed
        return Index(
            previous="" if self._newest is None else self._newest.sha256,
            rows=sum(each.rows for each in tables),
            format=cast(Form, self._options.format),
            typed=None if typed is None else typed.table,
            images=self._context.images is not None,
            tables=tables,
            offset=msgspec.Raw(behind.offset.encode()),
            generation=behind.generation,
            key=Key(*self._context.key),
            made=round(time.time(), 3),
            **more,
        )

    def _table(self, name: TableName, rows: int) -> TableRows:
        digits = name.id.replace("-", "")
        versions = self._context.versions(digits)
        kept = tuple(versions) if len(versions) > 1 else ()
        return TableRows(name.table, name.id, rows, self._context.tables(digits), kept)

    def _stands(self) -> Index | None:
        """The newest index. RefusedError for somebody else's."""
        newest = self._series.newest()
        if newest is None:
            return None
        if newest.index.of != self._context.key:
            theirs = newest.index.of
            raise RefusedError(
                "these are the data files of another log or consumer",
                file=str(self._series.folder),
                expected=f"consumer {self._context.key.consumer} of the log with the state {self._context.key.folder}",
                found=f"consumer {theirs.consumer} of {theirs.folder}",
                remedy="Name another folder; or, for several nodes in one folder, give each its own name (--node).",
            )
        return newest.index

    def _take_away_left_over(self) -> None:
        """What a kill left of the next file. RefusedError for data files behind it: no kill leaves those."""
        for name in self._series.names():
            number, unfinished = number_of(name), name.endswith(NEW)
            if number is None or is_index(name) or (number < self._next and not unfinished):
                continue
            if number > self._next and not unfinished:
                raise RefusedError(
                    "a data file without an index, behind the newest one",
                    file=str(self._series.folder / name),
                    expected=f"none behind number {self._next - 1}",
                    remedy="Were indexes deleted? Restore them, or move the data files away.",
                )
            try:
                (self._series.folder / name).unlink()
            except OSError as error:
                raise system_error(_WRITING, error, self._series.folder, writes=True) from error

    def _check(self) -> None:
        """What failed half way is never taken for whole."""
        if self._failed is not None:
            raise self._failed

    def _fail(self, error: OSError) -> CdcError:
        self._failed = system_error(_WRITING, error, self._series.folder, writes=True)
        return self._failed
