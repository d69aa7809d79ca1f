"""The migration rules (`tailer/schema/migration.py`) for a kept table of a database.

Every call is inside a transaction. Knows no kind of database.
"""

from __future__ import annotations

from collections.abc import Sequence

from tailer.schema.migration import Step, migration_steps, rename_order
from tailer.schema.model import TableDefinition
from tailer.sinks.database import statements
from tailer.sinks.database.columns import TargetForm
from tailer.sinks.database.names import free_column, quoted, spelled
from tailer.sinks.database.shape import check_conflicts, fit_table, make_table
from tailer.sinks.database.source_table import COMPLETE, SEQ, SourceTable
from tailer.sinks.database.store import Store


class Migration:
    """`name`, `beside`: the kept table, and the one of its static rows. `source`: by the new definition."""

    def __init__(self, store: Store, name: str, beside: str, source: SourceTable) -> None:
        self._store, self._source = store, source
        self._name, self._beside = name, beside

    def run(self, old: TableDefinition | None, new: TableDefinition, *, recreated: bool = False) -> list[str]:
        """Make the tables or bring them to the new definition, and check them; the columns that were added."""
        steps = migration_steps(old, new, recreated=recreated) if old is not None else []
        if old is not None and steps and self._store.columns(self._name):
            if steps[0].rule == "new_life":
                self._reuse(old)
            else:
                self._prepare(old, new, steps)
        added = self._fit(self._name, self._source.form)
        if self._source.static:
            is_new = not self._store.columns(self._beside)
            self._fit(self._beside, self._source.static_form)
            if is_new:
                self._store.run(statements.keep_statics(self._name, self._beside, self._source))
        return added

    def _reuse(self, old: TableDefinition) -> None:
        """The table of an earlier life, which is empty: it is made again unless it fits but for columns to add."""
        there = {self._fold(column.name): column.type for column in self._store.columns(self._name)}
        form = self._source.form
        known = {column.name: there.get(self._fold(column.name)) for column in form.columns}
        fits = all(
            type_ is None or self._store.holds(c, type_) for c, type_ in zip(form.columns, known.values(), strict=True)
        )
        same_key = [c.name for c in (*old.partition_key, *old.clustering)] == list(form.keys)
        if not (fits and same_key and all(known[name] for name in form.keys)):
            for table in self._tables:
                self._store.run(f"DROP TABLE {spelled(table)}")
        elif form.loose:
            self._loosen()

    def _prepare(self, old: TableDefinition, new: TableDefinition, steps: Sequence[Step]) -> None:
        renames = [(step.before, step.column) for step in steps if step.rule == "rename_key"]
        for table in self._tables:
            self._rename(table, renames)
        unknown = f" AND {quoted(SEQ)} IS NULL"
        self._doubt(old, new, steps)
        for step in steps:
            if step.rule == "rewrite_keys":
                for table in self._tables:
                    self._store.run(f"DELETE FROM {spelled(table)} WHERE {quoted(SEQ)} IS NOT NULL")
            elif step.rule == "drop_column":
                self._everywhere(step.column, f"{quoted(step.column)} = NULL")
            elif step.rule in ("readd_column", "change_fields"):
                self._everywhere(step.column, f"{quoted(COMPLETE)} = {self._store.no}", unknown)
            elif step.rule in ("retype_column", "add_column"):
                if step.rule == "retype_column":
                    self._everywhere(step.column, f"{quoted(COMPLETE)} = {self._store.no}", unknown)
                self._set_aside(step.column)
            elif step.rule == "add_first_static":
                self._loosen()
            elif step.rule == "drop_last_static" and old.clustering:
                alone = f"{quoted(self._source.clustering[0].name)} IS NULL"
                self._store.run(f"DELETE FROM {spelled(self._name)} WHERE {alone}")
                if self._store.columns(self._beside):
                    self._store.run(f"DELETE FROM {spelled(self._beside)}")

    def _doubt(self, old: TableDefinition, new: TableDefinition, steps: Sequence[Step]) -> None:
        """Rows that no image reported are not complete once a column is added again that was dropped in `old`.

        The kept table has null since the DROP, whatever the row had. Values with a later write time than that of the
        DROP (`USING TIMESTAMP`) are alive in the source again with the ADD, and no image reports these rows.
        """
        before = {column.name: column for column in old.data_columns}
        after = {column.name: column for column in new.data_columns}
        sets = f"{quoted(COMPLETE)} = {self._store.no} WHERE {quoted(SEQ)} IS NULL"
        for step in steps:
            if step.rule not in ("add_column", "readd_column", "retype_column"):
                continue
            was = before.get(step.column)
            if after[step.column].dropped_time is not None and (was is None or was.dropped):
                for table in self._tables if step.static else [self._name]:
                    self._store.run(f"UPDATE {spelled(table)} SET {sets}")

    def _rename(self, table: str, renames: Sequence[tuple[str, str]]) -> None:
        """Rename key columns; what stayed behind under one of their new names gets another one."""
        spelling = {self._fold(column.name): column.name for column in self._store.columns(table)}
        wanted = {self._fold(after): after for _, after in renames}
        of_table = [(self._fold(before), self._fold(after)) for before, after in renames]
        of_table = [(before, after) for before, after in of_table if before in spelling]
        leaving = {before for before, _ in of_table}
        for _, after in of_table:
            if after in spelling and after not in leaving:
                aside = free_column(spelling[after], self._store.name_limit, spelling, self._fold)
                self._store.rename_column(table, spelling.pop(after), aside)
                spelling[self._fold(aside)] = aside
        for before, after in rename_order(of_table, [*spelling]):
            name = wanted.get(after, after)
            self._store.rename_column(table, spelling.pop(before), name)
            spelling[after] = name
        for folded, name in wanted.items():
            # A name that differs from the earlier one by case alone.
            if folded in leaving and spelling.get(folded, name) != name:
                self._store.rename_column(table, spelling[folded], name)

    def _set_aside(self, column: str) -> None:
        """A column that is there and cannot have the new type gets another name."""
        wanted = {each.name: each for each in (*self._source.form.columns, *self._source.static_form.columns)}
        for table in self._tables:
            there = self._store.columns(table)
            found = next((each for each in there if self._fold(each.name) == self._fold(column)), None)
            if found is not None and column in wanted and not self._store.holds(wanted[column], found.type):
                taken = {self._fold(each.name) for each in there}
                aside = free_column(found.name, self._store.name_limit, taken, self._fold)
                self._store.rename_column(table, found.name, aside)

    def _loosen(self) -> None:
        if self._source.form.loose:
            self._store.loosen(self._name, self._source.form, [column.name for column in self._source.clustering])

    def _everywhere(self, column: str, sets: str, more: str = "") -> None:
        for table in self._tables:
            if any(self._fold(each.name) == self._fold(column) for each in self._store.columns(table)):
                where = f"WHERE {quoted(column)} IS NOT NULL{more}"
                self._store.run(f"UPDATE {spelled(table)} SET {sets} {where}")

    def _fit(self, table: str, form: TargetForm) -> list[str]:
        there = self._store.columns(table)
        if not there:
            make_table(self._store, table, form)
            return []
        added = fit_table(self._store, table, form, there)
        check_conflicts(self._store, table, form)
        return added

    @property
    def _tables(self) -> list[str]:
        return [table for table in (self._name, self._beside) if self._store.columns(table)]

    def _fold(self, name: str) -> str:
        return name.casefold() if self._store.folds else name
