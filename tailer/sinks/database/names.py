"""Names in statements: which tables may be written to, and how a column is spelled. Texts only."""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from hashlib import blake2b
from typing import Final

from tailer.errors import UsageError

_TABLE: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)?", re.ASCII)
_HASH_LETTERS: Final = 8


def check_table(name: str, limit: int | None = None) -> str:
    """The table's name, or UsageError: it becomes part of statements. `limit`: how long the database lets it be."""
    if not _TABLE.fullmatch(name):
        raise UsageError("--into", expected="TABLE or SCHEMA.TABLE of letters, digits and '_'", found=repr(name))
    for part in name.split("."):
        if limit is not None and len(part) > limit:
            raise UsageError("--into", expected=f"a name of at most {limit} letters", found=f"{part} ({len(part)})")
    return name


def one_of(into: str, keyspace: str, table: str) -> str:
    """The table that `--into` means for one of the source's: it may have {keyspace} and {table} in its name."""
    schema, dot, name = into.rpartition(".")
    return f"{schema}{dot}{name.replace('{keyspace}', keyspace).replace('{table}', table)}"


def shortened(table: str, limit: int) -> str:
    """The name in full; one longer than `limit` bytes is its beginning and a hash of all of it."""
    schema, dot, name = table.rpartition(".")
    return f"{schema}{dot}{_cut(name, limit)}"


def with_hash(table: str, of: str, limit: int) -> str:
    """The table's name, cut where it is too long, and a hash of a text."""
    schema, dot, name = table.rpartition(".")
    return f"{schema}{dot}{_hashed(name, of, limit)}"


def free_name(table: str, limit: int, taken: Container[str], fold: Callable[[str], str] = str) -> str:
    """A name for a table that is set aside: NAME_before, NAME_before_2, and so on. `taken`: names as `fold` gives
    them."""
    return _free(table, taken, fold, lambda name: shortened(name, limit))


def free_column(column: str, limit: int, taken: Container[str], fold: Callable[[str], str] = str) -> str:
    """The same for a column. A dot in its name is no schema's."""
    return _free(column, taken, fold, lambda name: _cut(name, limit))


def _free(name: str, taken: Container[str], fold: Callable[[str], str], cut: Callable[[str], str]) -> str:
    found, number = cut(f"{name}_before"), 1
    while fold(found) in taken:
        number += 1
        found = cut(f"{name}_before_{number}")
    return found


def _cut(name: str, limit: int) -> str:
    return name if len(name.encode()) <= limit else _hashed(name, name, limit)


def _hashed(name: str, of: str, limit: int) -> str:
    digest = blake2b(of.encode(), digest_size=_HASH_LETTERS // 2).hexdigest()
    begin = name.encode()[: limit - _HASH_LETTERS - 1].decode(errors="ignore")
    return f"{begin}_{digest}"


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
