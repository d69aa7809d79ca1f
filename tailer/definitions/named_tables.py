"""Tables that a user asked for by name or glob, held against the definitions that are known. Values in, words out."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Container, Iterable, Iterator
from typing import Final

from tailer.errors import CdcError, DefinitionError
from tailer.schema.model import TableDefinition
from tailer.schema.selection import Selection, is_glob, is_system

_SHOWN: Final = 3
"""Names that are suggested for one that is not known."""

_GIVE: Final = (
    "give its definition with --schema FILE (DESCRIBE KEYSPACE … WITH INTERNALS; Spark: schemaFile) or --server HOST"
)
_LATER: Final = (
    "a table that is created later is waited for with --table-may-come (Spark: tablesMayCome, Python: tables_may_come)"
)


def undefined(tables: Iterable[str], known: Container[str]) -> tuple[str, ...]:
    """Of these names and globs the names that are not known."""
    return tuple(name for name in dict.fromkeys(tables) if not is_glob(name) and name not in known)


def nothing_defines(
    names: Collection[str],
    known: Iterable[TableDefinition],
    *,
    may_come: bool = True,
    file: str | None = None,
    unread: CdcError | None = None,
) -> DefinitionError:
    """The error for tables that are not known, with the nearest names among those that are.

    `may_come`: the run could wait for them. `unread`: why a part of the log, which may define them, cannot be read.
    """
    there = sorted({definition.name for definition in known if not is_system(definition.keyspace)})
    near = list(dict.fromkeys(found for name in names for found in nearest(name, there)))
    some = f"one of {len(there)} tables, such as {', '.join(there[:_SHOWN])}" if there else None
    remedy = f"Correct the name, or {_GIVE}{f'; {_LATER}' if may_come else ''}."
    if unread is not None:
        remedy = f"It may be defined where the log cannot be read: {unread.sentence()}"
    return DefinitionError(
        f"no definition for table {' or '.join(names)}",
        file=file,
        expected=" or ".join(near) or some,
        found=" and ".join(names) if there else None,
        remedy=remedy,
    )


def nearest(name: str, there: Collection[str]) -> list[str]:
    """Names that may have been meant, the likeliest first: of the same table elsewhere, then by their letters."""
    folded: dict[str, list[str]] = {}
    for each in there:
        folded.setdefault(each.casefold(), []).append(each)
    wanted = name.casefold()
    same = [text for text in folded if text.rpartition(".")[2] == wanted.rpartition(".")[2]]
    close = difflib.get_close_matches(wanted, folded, _SHOWN)
    return [each for text in dict.fromkeys((*same, *close)) for each in folded[text]][:_SHOWN]


def without_rows(tables: Iterable[str], known: Collection[TableDefinition]) -> Iterator[str]:
    """A sentence for each name or glob that stands for no table which is known and gives rows."""
    for pattern in dict.fromkeys(tables):
        alone = Selection((pattern,))
        meant = [definition for definition in known if alone.names(definition)]
        if any(alone.wants(definition) for definition in meant):
            continue
        if meant:
            names = ", ".join(sorted({definition.name for definition in meant})[:_SHOWN])
            yield (
                f"no table that {pattern} stands for captures (cdc = false: {names}): a pattern takes tables with "
                "cdc = true only, others by their exact names"
            )
        elif is_glob(pattern):
            yield f"no table that is known here is covered by {pattern}: its rows come once there is one"
        else:
            yield f"nothing here defines table {pattern} yet: its rows come once something does"
