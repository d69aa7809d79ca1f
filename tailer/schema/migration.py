"""The migration rules: what a kept table must do when the definition of its source table changes.

Every keeper of a table (SQLite, PostgreSQL, DuckDB, Delta, Iceberg, current state) follows this one table. Pure.
docs/migrations.md shows the rules; tests run each of them through every keeper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple, get_args

from tailer.schema.model import Column, TableDefinition

Rule = Literal[
    "new_life", "rename_key", "rewrite_keys", "drop_column", "readd_column", "retype_column", "change_fields",
    "add_column", "add_first_static", "drop_last_static",
]  # fmt: skip

RULES: Final[Mapping[Rule, str]] = {
    "new_life": "The table was dropped and created again. The kept table of the earlier life is renamed (or emptied, "
    "by option); an empty one with the new columns takes its place. No row of the earlier life is in it.",
    "rename_key": "The key column is renamed in the kept table. No value changes.",
    "rewrite_keys": "A user-defined type inside the clustering key has another definition, so the keys read "
    "differently. All rows that images reported are removed; an image of each row follows, with its new key. Rows that "
    "no image reported keep their earlier key; delete them, and take a snapshot of the table.",
    "drop_column": "The column stays in the kept table, and its values become null in all rows. An image of each row "
    "that had a value follows; a row that lived by this column alone gets a delete.",
    "readd_column": "The column was dropped and added again. Values stay where they are still alive; an image of each "
    "row whose value changed follows. Rows that no image reported count as not complete. A column that the kept table "
    "lacks is added.",
    "retype_column": "The column was dropped and added again with another type. The kept column is renamed to "
    "NAME_before (then NAME_before_2, ...) and a column of the new type is added. An image of each "
    "row that still has a value follows. Rows that no image reported count as not complete.",
    "change_fields": "A user-defined type of the column has another definition. An image of each row whose value "
    "reads differently follows. Rows that no image reported count as not complete.",
    "add_column": "The column is added to the kept table; it is null in all rows. A column of this name that stayed "
    "behind after an earlier drop is used again if its type fits, else it is renamed as for retype_column. If the "
    "source dropped such a column before, rows that no image reported count as not complete.",
    "add_first_static": "Static rows begin: the clustering columns may be null, because a partition that has only "
    "static values is one row with null clustering columns.",
    "drop_last_static": "Static rows end: the row that stands for a partition with only static values is removed.",
}
"""What every kept table does, by rule, in the order in which rules apply."""


class Step(NamedTuple):
    """One rule that applies. `column`: its name by the new definition (of a dropped column the only name). `before`:
    the earlier name of a renamed key column, or the earlier type of a column with another type. `static`: of a static
    column."""

    rule: Rule
    column: str = ""
    before: str = ""
    static: bool = False


def migration_steps(old: TableDefinition, new: TableDefinition, *, recreated: bool = False) -> list[Step]:
    """What a kept table that was last written by `old` must do before it is written by `new`, in order.

    `recreated`: the table was dropped in between; needed only where the id is the same. Empty if nothing is to do.
    """
    if recreated or old.id != new.id:
        return [Step("new_life")]
    steps = [*_keys(old, new), *_data_columns(old, new)]
    had, has = bool(_live(old, "static")), bool(_live(new, "static"))
    if has and not had:
        steps.append(Step("add_first_static"))
    if had and not has:
        steps.append(Step("drop_last_static"))
    order = get_args(Rule)
    return sorted(steps, key=lambda step: order.index(step.rule))


def rename_order(renames: Sequence[tuple[str, str]], taken: Sequence[str]) -> list[tuple[str, str]]:
    """Renames (before, after) one by one so that no name is there twice in between: two columns may swap names.

    `taken`: the names that the table has.
    """
    done: list[tuple[str, str]] = []
    left, there = dict(renames), set(taken)
    while left:
        free = [before for before, after in left.items() if after not in there or after == before]
        if free:
            before = free[0]
            after = left.pop(before)
        else:
            # A circle: one of its columns steps aside first.
            before, wanted = next(iter(left.items()))
            after = _free_name(before, {*there, *left.values()})
            left = {after if name == before else name: to for name, to in left.items()}
            left[after] = wanted
        if before != after:
            done.append((before, after))
        there = (there - {before}) | {after}
    return done


def types_in(type_: str, definition: TableDefinition) -> dict[str, object]:
    """The definitions of the user-defined types that a CQL type uses, nested ones too, by name."""
    found: dict[str, object] = {}
    waiting = [type_]
    while waiting:
        text = waiting.pop()
        for name, fields in definition.types.items():
            if name not in found and name in _words(text):
                found[name] = fields
                waiting += [field.type for field in fields]
    return found


def _keys(old: TableDefinition, new: TableDefinition) -> Iterator[Step]:
    was = (*old.partition_key, *old.clustering)
    now = (*new.partition_key, *new.clustering)
    if len(was) != len(now):
        # Cassandra allows this only by DROP TABLE and CREATE TABLE.
        yield Step("new_life")
        return
    for before, after in zip(was, now, strict=True):
        if before.name != after.name:
            yield Step("rename_key", after.name, before.name)
    if any(_reads_differently(b, a, old, new) for b, a in zip(was, now, strict=True)):
        yield Step("rewrite_keys")


def _data_columns(old: TableDefinition, new: TableDefinition) -> Iterator[Step]:
    was = {column.name: column for column in old.data_columns}
    now = {column.name: column for column in new.data_columns}
    # A key column was given the name since: the kept column of the name is out of its way already.
    keys = {column.name for column in (*new.partition_key, *new.clustering)}
    for name, column in was.items():
        after = now.get(name)
        if not column.dropped and name not in keys and (after is None or after.dropped):
            yield Step("drop_column", name, static=column.kind == "static")
    for name, column in now.items():
        if column.dropped:
            continue
        before, static = was.get(name), column.kind == "static"
        if before is None:
            yield Step("add_column", name, static=static)
        elif before.type != column.type or before.kind != column.kind:
            yield Step("retype_column", name, before.type, static=static)
        elif before.dropped or before.dropped_time != column.dropped_time:
            yield Step("readd_column", name, static=static)
        elif _reads_differently(before, column, old, new):
            yield Step("change_fields", name, static=static)


def _reads_differently(before: Column, after: Column, old: TableDefinition, new: TableDefinition) -> bool:
    return before.type != after.type or types_in(before.type, old) != types_in(after.type, new)


def _live(definition: TableDefinition, kind: str) -> list[Column]:
    return [column for column in definition.data_columns if column.kind == kind and not column.dropped]


def _words(type_: str) -> set[str]:
    """The names in a type's text; a quoted name without its quotes."""
    words, word, quoted = set(), "", False
    for letter in (*type_, " "):
        if letter == '"':
            quoted = not quoted
        elif quoted or letter.isalnum() or letter == "_":
            word += letter
        else:
            words.add(word)
            word = ""
    return words - {""}


def _free_name(name: str, taken: set[str]) -> str:
    number = 1
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"
