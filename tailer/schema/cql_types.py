"""Type texts of a CQL file, written as `system_schema` writes them."""

from __future__ import annotations

import re
from typing import Final

from tailer.limits import TYPE_DEPTH_MAX
from tailer.schema.cql_tokens import Cursor
from tailer.schema.usertypes import BUILT_IN
from tailer.types.cql_name import quoted_name
from tailer.types.kinds import NATIVES

_ARGUMENTS: Final = {"list": 1, "set": 1, "map": 2}
_BARE: Final = re.compile(r"[a-z][a-z0-9_]*\Z")


def read_type(cursor: Cursor, keyspace: str) -> str:
    """The type that comes next: lower case, `frozen` wherever it is implied, user types without their keyspace."""
    return _read(cursor, keyspace, 0, frozen=False)


def _read(cursor: Cursor, keyspace: str, depth: int, *, frozen: bool) -> str:
    """`depth` is 0 at the top level; `frozen` says that `frozen<` stands right before."""
    token = cursor.token
    if depth > TYPE_DEPTH_MAX:
        cursor.fail(f"at most {TYPE_DEPTH_MAX} nested types")
    if token.kind == "string":
        return f"'{cursor.next().text}'"
    if token.kind == "name" or (token.kind == "word" and token.text not in BUILT_IN):
        text = _user_type(cursor, keyspace)
        return f"frozen<{text}>" if depth and not frozen else text
    word = cursor.name("a type")
    if not cursor.at_sign("<"):
        return NATIVES[word].text if word in NATIVES else word
    cursor.want_sign("<")
    if word == "frozen":
        inner = _read(cursor, keyspace, depth + 1, frozen=True)
        cursor.want_sign(">")
        return inner if inner.startswith(("frozen<", "vector<")) or inner in BUILT_IN else f"frozen<{inner}>"
    arguments = [_read(cursor, keyspace, depth + 1, frozen=False)]
    if word == "vector":
        cursor.want_sign(",")
        if cursor.token.kind != "number":
            cursor.fail("the vector's dimension")
        arguments.append(cursor.next().text)
    while word == "tuple" and cursor.take_sign(","):
        arguments.append(_read(cursor, keyspace, depth + 1, frozen=False))
    while len(arguments) < _ARGUMENTS.get(word, 1):
        cursor.want_sign(",")
        arguments.append(_read(cursor, keyspace, depth + 1, frozen=False))
    cursor.want_sign(">")
    text = f"{word}<{', '.join(arguments)}>"
    implied = word == "tuple" or (word in _ARGUMENTS and depth > 0)
    return f"frozen<{text}>" if implied and not frozen else text


def _user_type(cursor: Cursor, keyspace: str) -> str:
    token = cursor.next()
    if cursor.take_sign("."):
        if token.text != keyspace:
            cursor.fail(f"a type of keyspace {keyspace}", token=token)
        token = cursor.token
        cursor.name("a type")
    if token.kind == "word" and _BARE.match(token.text):
        return token.text
    return quoted_name(token.text)
