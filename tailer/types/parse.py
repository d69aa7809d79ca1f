"""From the text of a type to the type. Knows the words and their arguments; values are for the types themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NoReturn, Protocol

from tailer.errors import DefinitionError
from tailer.limits import OFFSET_MAX, TYPE_DEPTH_MAX
from tailer.types.collections import list_of, map_of, set_of, tuple_of, udt_of, vector_of
from tailer.types.cql import CqlType
from tailer.types.java import read_class
from tailer.types.kinds import NATIVES, custom
from tailer.types.syntax import TypeTree, read_type

_KEY_DEPTH_MAX: Final = 8
"""Each doubles the backslashes inside, so that without a bound few bytes could print as more text than memory holds."""


class Field(Protocol):
    """A field of a user-defined type, as definitions have it."""

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> str: ...


def parse_type(text: str, types: Mapping[str, Sequence[Field]]) -> CqlType:
    """The type of `text`, CQL as `system_schema` spells it or a quoted Java class name.

    `types` has the user-defined types of the keyspace by bare name. DefinitionError if the text does not parse, or
    needs a type that is not there.
    """
    return _Resolver(text, types).type(text) if types else _parse_plain(text)


@lru_cache(maxsize=4096)
def _parse_plain(text: str) -> CqlType:
    return _Resolver(text, {}).type(text)


class _Resolver:
    """One parse. Each user-defined type is made once, however often its name occurs."""

    def __init__(self, text: str, types: Mapping[str, Sequence[Field]]) -> None:
        self.text = text
        self.types = types
        self.fields: dict[str, tuple[tuple[str, CqlType], ...]] = {}
        self.open: set[str] = set()

    def type(self, text: str, *, frozen: bool = False) -> CqlType:
        return self.resolve(read_type(text), frozen=frozen)

    def resolve(self, tree: TypeTree, *, frozen: bool) -> CqlType:
        if tree.java:
            known = read_class(tree.java)
            made = custom(known.java) if known.java else self.resolve(known, frozen=frozen)
        elif tree.quoted:
            made = udt_of(tree.word, self.udt_fields(tree), frozen=frozen)
        elif tree.word in NATIVES and not tree.arguments:
            made = NATIVES[tree.word]
        elif tree.arguments:
            made = self.generic(tree, frozen)
        else:
            made = udt_of(tree.word, self.udt_fields(tree), frozen=frozen)
        if made.depth > TYPE_DEPTH_MAX:
            self.fail(f"at most {TYPE_DEPTH_MAX} nested types", made.depth)
        if made.key_depth > _KEY_DEPTH_MAX:
            self.fail(f"at most {_KEY_DEPTH_MAX} collections in keys of maps in keys", made.key_depth)
        if made.fixed is not None and made.fixed > OFFSET_MAX:
            self.fail(f"values of at most {OFFSET_MAX} bytes", made.fixed)
        return made

    def generic(self, tree: TypeTree, frozen: bool) -> CqlType:
        """A type with arguments. Below the top level everything is frozen, said or not."""
        count = len(tree.arguments)
        if tree.word == "vector" and count == 2:
            return vector_of(self.resolve(tree.arguments[0], frozen=True), self.dimension(tree.arguments[1]))
        if tree.word == "frozen" and count == 1:
            return self.resolve(tree.arguments[0], frozen=True)
        if tree.word == "tuple":
            return tuple_of([self.resolve(argument, frozen=True) for argument in tree.arguments])
        if tree.word in ("list", "set") and count == 1:
            element = self.resolve(tree.arguments[0], frozen=True)
            return list_of(element, frozen=frozen) if tree.word == "list" else set_of(element, frozen=frozen)
        if tree.word == "map" and count == 2:
            key, value = (self.resolve(argument, frozen=True) for argument in tree.arguments)
            return map_of(key, value, frozen=frozen)
        self.fail("a type of CQL with its arguments", f"{tree.word} with {count}")

    def dimension(self, tree: TypeTree) -> int:
        word = tree.word or tree.java
        # The length bound keeps int() from being given thousands of digits.
        if word.isascii() and word.isdigit() and len(word) <= 10 and 0 < int(word) <= OFFSET_MAX:
            return int(word)
        self.fail("a vector's dimension", word[:40])

    def udt_fields(self, tree: TypeTree) -> tuple[tuple[str, CqlType], ...]:
        """The fields that a Java class name brought along, else those of the named type's definition."""
        if tree.fields is not None:
            return tuple((name, self.resolve(field, frozen=True)) for name, field in tree.fields)
        name = tree.word
        if name not in self.fields:
            if name not in self.types:
                self.fail("a type of CQL or a user-defined type that is known", name)
            if name in self.open or len(self.open) >= TYPE_DEPTH_MAX:
                self.fail(f"a type that does not hold itself, {TYPE_DEPTH_MAX} levels at most", name)
            self.open.add(name)
            self.fields[name] = tuple((field.name, self.type(field.type, frozen=True)) for field in self.types[name])
            self.open.discard(name)
        return self.fields[name]

    def fail(self, expected: str, found: object) -> NoReturn:
        raise DefinitionError(
            f"the type {self.text[:200]!r} is not known",
            expected=expected,
            found=found,
            remedy="Give the keyspace's definitions, CREATE TYPE included, with --schema or --server.",
        )
