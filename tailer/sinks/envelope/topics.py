"""The topic of a table, by a template such as `{keyspace}.{table}`. Knows no broker.

Kafka takes letters, digits, `.`, `_` and `-`, 249 of them at most. Of a name every byte (UTF-8) that is no ASCII
letter, digit or `_` becomes `-` and two hex digits, the dot and the dash themselves included, so that two names never
become one.
"""

from __future__ import annotations

import re
from typing import Final

from tailer.errors import UsageError

LENGTH_MAX: Final = 249
_TAKEN: Final = re.compile(r"[A-Za-z0-9._-]*", re.ASCII)
_PART: Final = re.compile(r"\{([^{}]*)\}")
_ESCAPED: Final = re.compile(rb"[^A-Za-z0-9_]")
_NAMES: Final = frozenset({"keyspace", "table"})


class Topics:
    """The topics of one template. UsageError for a template that makes none."""

    def __init__(self, template: str) -> None:
        self._template = template
        names = set(_PART.findall(template))
        if not names <= _NAMES or not _TAKEN.fullmatch(_PART.sub("", template)):
            raise _refused(template, "letters, digits, '.', '_', '-', and {keyspace} and {table}")
        self._apart = names == _NAMES
        self._tables: dict[str, tuple[str, str]] = {}
        self._known: dict[tuple[str, str], str] = {}

    def of(self, keyspace: str, table: str) -> str:
        """The table's topic. UsageError where it would be none, or the same as another table's though the template
        names both keyspace and table."""
        topic = self._known.get((keyspace, table))
        if topic is None:
            topic = self._known[keyspace, table] = self._checked(keyspace, table)
        return topic

    def _checked(self, keyspace: str, table: str) -> str:
        words = {"keyspace": escaped(keyspace), "table": escaped(table)}
        topic = _PART.sub(lambda part: words[part[1]], self._template)
        if not 0 < len(topic) <= LENGTH_MAX or topic in (".", ".."):
            raise _refused(
                self._template,
                f"a topic of 1 to {LENGTH_MAX} letters for {keyspace}.{table}",
                f"{len(topic)}: {topic:.60}",
            )
        other = self._tables.setdefault(topic, (keyspace, table))
        if self._apart and other != (keyspace, table):
            raise _refused(self._template, f"a topic for each of {'.'.join(other)} and {keyspace}.{table}", topic)
        return topic


def escaped(name: str) -> str:
    """A name with what a topic cannot have, or would not be told apart in it, spelled in hex digits."""
    return _ESCAPED.sub(lambda byte: b"-%02x" % byte[0][0], name.encode()).decode()


def _refused(template: str, expected: str, found: str | None = None) -> UsageError:
    return UsageError(
        f"--topic {template!r}", expected=expected, found=repr(template) if found is None else found,
        remedy="Give another template, such as '{keyspace}.{table}'.",
    )  # fmt: skip
