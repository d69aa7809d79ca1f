"""CQL type texts of `system_schema` as trees. Knows the spelling of types, no value."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

Fields = tuple[tuple[str, str], ...]
"""Names and type texts of a user-defined type's fields."""
Types = tuple[tuple[str, Fields], ...]
"""The user-defined types of one keyspace, sorted by name."""

_TOKEN = re.compile(r"""\s*("(?:[^"]|"")*"|'(?:[^']|'')*'|[A-Za-z0-9_]+|[<>,])""")


@dataclass(frozen=True)
class Type:
    """`name` is the CQL word, `udt`, or `custom` for a Java class; `size` is a vector's."""

    name: str
    args: tuple[Type, ...] = ()
    fields: tuple[str, ...] = ()
    frozen: bool = False
    size: int = 0

    @property
    def complex(self) -> bool:
        """Several cells, when it is a column's own type."""
        return not self.frozen and self.name in ("list", "set", "map", "udt")


@functools.cache
def parse(text: str, types: Types) -> Type:
    tokens = _TOKEN.findall(text)
    made, rest = _type(tokens, dict(types))
    if rest:
        raise ValueError(f"{text}: {rest} is left over")
    return made


def _type(tokens: Sequence[str], types: dict[str, Fields]) -> tuple[Type, Sequence[str]]:
    head, rest = tokens[0], tokens[1:]
    if head.startswith("'"):
        return Type("custom", fields=(head[1:-1],)), rest
    word = head[1:-1].replace('""', '"') if head.startswith('"') else head
    if rest[:1] == ["<"]:
        return _with_arguments(word, rest[1:], types)
    if word in types:
        names = tuple(name for name, _ in types[word])
        args = tuple(parse(field, tuple(types.items())) for _, field in types[word])
        return Type("udt", args, names), rest
    return Type(word), rest


def _with_arguments(word: str, rest: Sequence[str], types: dict[str, Fields]) -> tuple[Type, Sequence[str]]:
    args: list[Type] = []
    size = 0
    while True:
        if rest[0].isdecimal():
            size, rest = int(rest[0]), rest[1:]
        else:
            inner, rest = _type(rest, types)
            args.append(inner)
        closing, rest = rest[0], rest[1:]
        if closing == ">":
            break
    if word == "frozen":
        only = args[0]
        return Type(only.name, only.args, only.fields, True, only.size), rest
    return Type(word, tuple(args), size=size), rest
