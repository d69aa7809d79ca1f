"""Which user-defined types a CQL type text names, nested ones too. Parses nothing else of the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

from tailer.schema.model import TypeField
from tailer.types.kinds import NATIVES, NESTED

Lookup = Callable[[str], tuple[TypeField, ...] | None]

_TOKEN: Final = re.compile(r"""'(?:[^']|'')*'|"((?:[^"]|"")*)"|([A-Za-z_][A-Za-z0-9_]*)""")

BUILT_IN: Final = frozenset({*NATIVES, "frozen", *(nested.name for nested in NESTED if nested.java)})
"""Every unquoted word that is not a user-defined type's name (cql3/CQL3Type.Native and the constructors)."""


@lru_cache(maxsize=4096)
def mentioned(text: str) -> tuple[str, ...]:
    """Names of the user-defined types in a type text, unquoted; a quoted Java class name has none of its own."""
    found = []
    for token in _TOKEN.finditer(text):
        quoted, word = token.groups()
        if quoted is not None:
            found.append(quoted.replace('""', '"'))
        elif word is not None and word.lower() not in BUILT_IN:
            found.append(word.lower())
    return tuple(found)


def closure(texts: Iterable[str], lookup: Lookup) -> dict[str, tuple[TypeField, ...]]:
    """All types that the texts need, by name in order; those that `lookup` does not know are left out."""
    found: dict[str, tuple[TypeField, ...]] = {}
    waiting = [name for text in texts for name in mentioned(text)]
    while waiting:
        name = waiting.pop()
        fields = None if name in found else lookup(name)
        if fields is not None:
            found[name] = fields
            waiting += [nested for field in fields for nested in mentioned(field.type)]
    return dict(sorted(found.items()))


def resolvable(text: str, lookup: Lookup) -> bool:
    """Whether every type that the text needs is known."""
    known = closure([text], lookup)
    needed = {name for fields in known.values() for field in fields for name in mentioned(field.type)}
    return known.keys() >= needed.union(mentioned(text))
