"""An outlet into a table of a database: change rows or images, and in the same transaction the position behind them.

A row that comes again (a consumer that was sought back) is there already, by its key. Knows no kind of database.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import pyarrow

from tailer.errors import CdcError, UsageError
from tailer.sinks.base import Rows
from tailer.sinks.database.columns import TargetForm, columns_text, form_of
from tailer.sinks.database.held import HeldBatch
from tailer.sinks.database.in_hand import InHand
from tailer.sinks.database.names import beside, check_table, one_of
from tailer.sinks.database.shape import check_key, fit_table, make_table
from tailer.sinks.database.store import RowsRefusedError, Store
from tailer.sinks.database.tables_kept import OURS
from tailer.sinks.image_ids import IdentifiedImages
from tailer.sinks.outlet import OutletContext, Place

CHANGES: Final = "changes"
TABLE: Final = "table"


class Target(NamedTuple):
    """Which table, and what it holds."""

    table: str
    form: TargetForm


def target_of(values: Mapping[str, Any], context: OutletContext) -> Target:
    """What `--into` and `--mode` say. UsageError."""
    table = values["into"]
    if table is None:
        raise UsageError("--to a database needs a table", remedy="Say which: --into TABLE. It is made if need be.")
    mode = values["mode"]
    check_table(table if mode == CHANGES else one_of(table, "k", "t"))
    if table.lower() in (beside(table, name) for name in OURS):
        raise UsageError("--into", expected=f"another table than {', '.join(OURS)}, which are ours", found=table)
    return Target(table, form_of_mode(mode, context))


def file_of(to: str) -> str:
    """The path in `sqlite:FILE` and the like. UsageError."""
    kind, _, file = to.partition(":")
    file = file.removeprefix("//")
    if not file or ":memory:" in file:
        raise UsageError("--to", expected=f"{kind}:FILE; memory is gone when the run ends", found=repr(to))
    return file


def form_of_mode(mode: str, context: OutletContext) -> TargetForm:
    """What a target holds in this mode. UsageError for one that needs what rows do not have."""
    if mode == TABLE and context.images is not None:
        # Tables have the columns of those of the source.
        return TargetForm((), ())
    if mode != CHANGES:
        raise UsageError(
            f"--mode {mode} needs whole rows, and change rows have only what each change set",
            remedy=f"Ask for images (--image after); or use --mode {CHANGES}, and put rows together "
            "where you read them: docs/tables.md says how.",
        )
    return form_of(context)


class DatabaseOutlet(InHand[HeldBatch]):
    """Of one node, into one table. What was written stays in hand until it is committed."""

    def __init__(self, store: Store, target: Target, values: Mapping[str, Any], context: OutletContext) -> None:
        super().__init__(store, target.table, values, context)
        self._form = target.form

    def open(self) -> Place | None:
        self._store.connect()
        added: list[str] = []
        with self._store.transaction():
            self._store.alone(self._context.key)
            kept = self._positions.read()
            self._positions.make()
            there = self._store.columns(self._table)
            self._check_same(kept, [self._table])
            if self._context.images is not None:
                self._positions.check_one_state()
            if there:
                added = fit_table(self._store, self._table, self._form, there)
            else:
                make_table(self._store, self._table, self._form)
            check_key(self._store, self._table, self._form)
        if added:
            self._context.say(f"{self.name}: {columns_text(added)} new")
        return None if kept is None else kept.place

    def write(self, batch: Rows) -> int:
        rows = batch if self._context.images is None else IdentifiedImages(batch)
        held = HeldBatch(batch, self._store.shaped(rows))
        self._held.append(held)
        self._bytes += held.nbytes
        return self._bytes

    def commit(self, before: Place | None, behind: Place) -> None:
        while True:
            try:
                self._transact(before, behind)
                break
            except RowsRefusedError as error:
                if not sum(self._leave_out(held) for held in self._held):
                    # None of them alone: it is something between rows, or is found at the end of a transaction only.
                    raise error
        self.settled()

    def _transact(self, before: Place | None, behind: Place) -> None:
        with self._store.transaction():
            self._move(before, behind)
            rows = [held.shaped for held in self._held if held.shaped.num_rows]
            if rows:
                self._store.insert(self._table, self._form, rows)

    def _leave_out(self, held: HeldBatch) -> int:
        return held.leave_out(self._trial, self._form, self._store.name, self._context.refused)

    def _trial(self, rows: pyarrow.RecordBatch) -> CdcError | None:
        try:
            with self._store.transaction():
                self._store.insert(self._table, self._form, [rows])
                raise _TriedError
        except _TriedError:
            return None
        except RowsRefusedError as error:
            return error


class _TriedError(Exception):
    """Not an error for anybody: the rows were taken, and are to be undone."""
