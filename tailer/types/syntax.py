"""The text of a CQL type as a tree. Knows the grammar, not what the words mean.

type = word | word "<" type {"," type} ">" | [keyspace "."] type-name | 'java class'
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from tailer.types.text_reader import TextReader

_TOKEN: Final = re.compile(r'\s*(?:(?P<bare>\w+)|"(?P<quoted>(?:[^"]|"")+)"|\'(?P<java>[^\']+)\'|(?P<sign>[<>,.]))')


@dataclass(frozen=True, slots=True)
class TypeTree:
    """A word or name with what stands in its brackets.

    `quoted` names are never words of CQL. `java` is the class name where `word` is none. `fields` are those that a Java
    class brings along for a user-defined type.
    """

    word: str
    arguments: tuple[TypeTree, ...] = ()
    quoted: bool = False
    java: str = ""
    fields: tuple[tuple[str, TypeTree], ...] | None = None


@lru_cache(maxsize=4096)
def read_type(text: str) -> TypeTree:
    """The tree of a type's text. DefinitionError if it does not follow the grammar or nests too deep."""
    reader = _Reader(text, _TOKEN, "type text")
    tree = reader.type(1)
    reader.check_end()
    return tree


class _Reader(TextReader):
    """One pass over a type's text."""

    def type(self, depth: int) -> TypeTree:
        self.check_depth(depth)
        if self.kind == "java":
            name = self.token
            self.advance()
            return TypeTree("", java=name)
        word, quoted = self.name()
        if self.takes("."):
            # Only a user-defined type has a keyspace in front, and always that of the table.
            word, _ = self.name()
            return TypeTree(word, quoted=True)
        arguments: list[TypeTree] = []
        if not quoted and self.takes("<"):
            arguments.append(self.type(depth + 1))
            while self.takes(","):
                arguments.append(self.type(depth + 1))
            if not self.takes(">"):
                self.fail("`,` or `>`")
        return TypeTree(word, tuple(arguments), quoted)

    def name(self) -> tuple[str, bool]:
        kind, token = self.kind, self.token
        if kind not in ("bare", "quoted"):
            self.fail("a type")
        self.advance()
        return (token.lower(), False) if kind == "bare" else (token.replace('""', '"'), True)
