"""The text of a CQL type as a tree. Knows the grammar, not what the words mean.

type = word | word "<" type {"," type} ">" | [keyspace "."] type-name | 'java class'
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NoReturn

from tailer.errors import DefinitionError
from tailer.limits import TYPE_DEPTH_MAX

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
    reader = _Reader(text)
    tree = reader.type(1)
    if reader.kind:
        reader.fail("the end")
    return tree


class _Reader:
    """One pass over a text. `kind` and `token` are the token ahead; `kind` is empty at the end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.kind = self.token = ""
        self.advance()

    def advance(self) -> None:
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            if self.text[self.at :].strip():
                self.fail("a name or a bracket")
            self.kind = self.token = ""
            return
        self.kind = str(match.lastgroup)
        self.token = match[self.kind]
        self.at = match.end()

    def type(self, depth: int) -> TypeTree:
        if depth > TYPE_DEPTH_MAX:
            self.fail(f"at most {TYPE_DEPTH_MAX} nested types")
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

    def takes(self, sign: str) -> bool:
        found = self.kind == "sign" and self.token == sign
        if found:
            self.advance()
        return found

    def fail(self, expected: str) -> NoReturn:
        raise DefinitionError(
            f"the type text {self.text[:200]!r} does not parse near character {self.at}",
            expected=expected,
            found=repr(self.token) if self.kind else "the end",
            remedy="Take the type as system_schema or DESCRIBE prints it.",
        )
