"""Whether a table that is there can hold what is written to it, and the statements that would mend it. Pure but for
the questions that it asks a store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tailer.errors import CdcError, SinkError, UsageError
from tailer.sinks.database.columns import NOT_KEPT, TargetColumn, TargetForm
from tailer.sinks.database.names import listed, quoted, shortened, spelled
from tailer.sinks.database.store import ColumnThere, Store


def make_table(store: Store, table: str, form: TargetForm) -> None:
    """Make the table."""
    _check_names(store, form)
    columns = [f"{quoted(each.name)} {store.column_type(each)}" for each in form.columns]
    text = f"{', '.join(columns)}, {'UNIQUE' if form.loose else 'PRIMARY KEY'} ({listed(form.keys)})"
    store.run(f"CREATE TABLE {spelled(table)} ({text})")


def fit_table(store: Store, table: str, form: TargetForm, there: Iterable[ColumnThere]) -> list[str]:
    """Add what a table that is there lacks, and say which columns. SinkError where it holds something else."""
    _check_names(store, form)
    fold = _folded(store)
    known = {fold(column.name): column for column in there}
    missing = [column for column in form.columns if fold(column.name) not in known]
    keys = [column.name for column in missing if column.name in form.keys]
    if keys:
        raise _misfit(store, table, f"it has no column {keys[0]}", [store.setting_aside(table)])
    wrong = _wrong_types(store, table, form, known) + _demanded(store, table, form, known)
    if wrong:
        reasons, statements = zip(*wrong, strict=True)
        # Once the table has another name, the other statements have no table.
        aside = store.setting_aside(table)
        raise _misfit(store, table, "; ".join(reasons), [aside] if aside in statements else statements)
    for column in missing:
        store.run(f"ALTER TABLE {spelled(table)} ADD COLUMN {quoted(column.name)} {store.column_type(column)}")
    return [column.name for column in missing]


def check_key(store: Store, table: str, form: TargetForm) -> None:
    """Make `insert` ready; SinkError where the table has nothing that keeps a row from being there twice."""
    check_conflicts(store, table, form)
    store.ready(table, form)


def check_conflicts(store: Store, table: str, form: TargetForm) -> None:
    """SinkError where no unique key of the table is that of the rows. Asks the database's catalogue."""
    fold = _folded(store)
    wanted = {fold(name) for name in form.keys}
    if not any({fold(name) for name in key} == wanted and len(key) == len(wanted) for key in store.unique_keys(table)):
        reason = f"it has no unique key of {', '.join(form.keys)}"
        raise _misfit(store, table, reason, [_unique(store, table, form)])


def _unique(store: Store, table: str, form: TargetForm) -> str:
    index = quoted(shortened("_".join((table.rpartition(".")[2], *form.keys)).replace(".", "_"), store.name_limit))
    return f"CREATE UNIQUE INDEX {index} ON {spelled(table)} ({listed(form.keys)})"


def _wrong_types(store: Store, table: str, form: TargetForm, known: Mapping[str, ColumnThere]) -> list[tuple[str, str]]:
    """What columns hold something else, each with the statement that mends it."""
    wrong = []
    for column in form.columns:
        there = known.get(_folded(store)(column.name))
        if there is not None and not store.holds(column, there.type):
            wanted = store.column_type(column)
            reason = f"column {column.name} is {there.type}, and values are {wanted}"
            mended = store.retyping(table, there.name)
            wrong.append((reason, store.setting_aside(table) if column.name in form.keys else mended))
    return wrong


def _demanded(store: Store, table: str, form: TargetForm, known: Mapping[str, ColumnThere]) -> list[tuple[str, str]]:
    """Columns of others' that no row may leave out."""
    ours = {_folded(store)(column.name) for column in form.columns}
    others = [column for name, column in known.items() if column.demanded and name not in ours]
    return [(f"column {column.name} wants a value in each row", store.easing(table, column.name)) for column in others]


def _check_names(store: Store, form: TargetForm) -> None:
    seen: dict[str, TargetColumn] = {}
    # Rows of a kept table are of no place in the log.
    advice = "Send this table's rows in the generic form (without --typed)." if form.segment else NOT_KEPT
    for column in form.columns:
        store.check_name(column.name, advice)
        other = seen.setdefault(_folded(store)(column.name), column)
        if other is not column:
            raise UsageError(
                f"{store.name} takes {other.name} and {column.name} for one column",
                remedy=advice,
            )


def _folded(store: Store) -> Callable[[str], str]:
    return str.casefold if store.folds else str


def _misfit(store: Store, table: str, reason: str, statements: Iterable[str]) -> CdcError:
    return SinkError(
        f"table {table} of {store.name} has another shape: {reason}",
        remedy=f"Run: {'; '.join(statements)}; or choose another --into and another --consumer.",
    )
