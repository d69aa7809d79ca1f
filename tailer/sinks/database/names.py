"""Names in statements: which tables may be written to, and how a column is spelled. Texts only."""

from __future__ import annotations

import re
from typing import Final

from tailer.errors import UsageError

_TABLE: Final = re.compile(r"[A-Za-z_]\w{0,47}(\.[A-Za-z_]\w{0,47})?", re.ASCII)


def check_table(name: str) -> str:
    """The table's name, or UsageError: it becomes part of statements."""
    if not _TABLE.fullmatch(name):
        raise UsageError("--into", expected="TABLE or SCHEMA.TABLE of letters, digits and '_'", found=repr(name))
    return name


def one_of(into: str, keyspace: str, table: str) -> str:
    """The table that `--into` means for one of the source's: it may have {keyspace} and {table} in its name."""
    schema, dot, name = into.rpartition(".")
    return f"{schema}{dot}{name.replace('{keyspace}', keyspace).replace('{table}', table)}"


def beside(table: str, name: str) -> str:
    """A table of that name in the same schema."""
    schema, dot, _ = table.rpartition(".")
    return f"{schema}{dot}{name}"


def spelled(table: str) -> str:
    """A checked table's name in a statement, exactly as it is: some are words of SQL."""
    return ".".join(map(quoted, table.split(".")))


def quoted(name: str) -> str:
    """A column's name; many are words of SQL."""
    return '"' + name.replace('"', '""') + '"'


def listed(names: tuple[str, ...]) -> str:
    """Columns' names, in order."""
    return ", ".join(map(quoted, names))
