"""Java class names of types, as quoted type texts have them, as a tree of CQL words. Knows no values.

    class = name | name "(" part {"," part} ")"       part = [hex ":" | letter "=>"] class | number | word

Names without a dot are in the package org.apache.cassandra.db.marshal. Classes that CQL has no word for stay as
they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tailer.types import kinds
from tailer.types.syntax import TypeTree
from tailer.types.text_reader import TextReader

_PACKAGE: Final = "org.apache.cassandra.db.marshal."
_TOKEN: Final = re.compile(r"\s*(?:(?P<word>[\w.$+-]+)|(?P<sign>=>|[(),:]))")

_WORDS: Final[Mapping[str, str]] = {java: native.name for native in kinds.ROWS for java in native.java}
_GENERIC: Final[Mapping[str, str]] = {
    "FrozenType": "frozen",
    **{java: nested.name for nested in kinds.NESTED for java in nested.java},
}


def read_class(text: str) -> TypeTree:
    """The tree of a class name. DefinitionError if it does not follow the grammar or nests too deep."""
    reader = _Reader(text, _TOKEN, "type class")
    tree = reader.type(1)
    reader.check_end()
    return tree


class _Reader(TextReader):
    """One pass over a class name."""

    def type(self, depth: int) -> TypeTree:
        self.check_depth(depth)
        start = self.at - len(self.token)
        name = self.word().removeprefix(_PACKAGE)
        labels: list[str] = []
        parts: list[TypeTree] = []
        if self.takes("("):
            while not self.takes(")"):
                label, part = self.part(depth + 1)
                labels.append(label)
                parts.append(part)
                if self.token != ")" and not self.takes(","):
                    self.fail("`,` or `)`")
        end = self.at - len(self.token)
        return _meaning(name, labels, parts, self.text[start:end].strip()) or self.fail(f"the parts of {name}")

    def part(self, depth: int) -> tuple[str, TypeTree]:
        """A type with the field name or alias in front of it, if there is one."""
        saved = self.at, self.kind, self.token
        label = self.word()
        if self.takes(":") or self.takes("=>"):
            return label, self.type(depth)
        self.at, self.kind, self.token = saved
        return "", self.type(depth)

    def word(self) -> str:
        word = self.token
        if self.kind != "word":
            self.fail("a name")
        self.advance()
        return word


def _meaning(name: str, labels: list[str], parts: list[TypeTree], text: str) -> TypeTree | None:
    """The class in CQL's words; None if its parts are not those that it needs."""
    if name == "ReversedType":
        # DESC changes the order of values, not their bytes.
        return parts[0] if len(parts) == 1 else None
    if name == "UserType":
        return _user_type(labels, parts)
    if name in _GENERIC:
        return TypeTree(_GENERIC[name], tuple(parts))
    if name in _WORDS and not parts:
        return TypeTree(_WORDS[name])
    return TypeTree("", java=text)


def _user_type(labels: list[str], parts: list[TypeTree]) -> TypeTree | None:
    """`UserType(keyspace,<hex of name>,<hex of field>:type,…)`."""
    if len(parts) < 2:
        return None
    try:
        name = bytes.fromhex(parts[1].java).decode()
        names = [bytes.fromhex(label).decode() for label in labels[2:]]
    except ValueError:
        return None
    return TypeTree(name, quoted=True, fields=tuple(zip(names, parts[2:], strict=True)))
