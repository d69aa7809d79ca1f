"""Which topic a table's rows go to, by its name. Pure.

Kafka takes letters, digits, '.', '_' and '-' in a topic's name, at most 249 of them. What is not a letter, a digit or
'_' in a name of a keyspace or table stands as '-' and the two hexadecimal digits of each of its bytes in UTF-8: so no
two tables have one name, and those of Cassandra, which have none of that, stand as they are.
"""

from __future__ import annotations

import re
import string
from typing import Final

from tailer.errors import SinkError, UsageError

LENGTH_MAX: Final = 249

_FIELDS: Final = ("keyspace", "table", "node")
_PLAIN: Final = re.compile(r"[A-Za-z0-9._-]*")
_OTHER: Final = re.compile(r"[^A-Za-z0-9_]")


class TopicNames:
    """Names by a template such as `{keyspace}.{table}`. UsageError for one that Kafka would never take."""

    def __init__(self, template: str, node: str) -> None:
        self._template = template
        self._node = node
        self._apart = _fields_of(template) >= {"keyspace", "table"}
        self._known: dict[tuple[str, str], str] = {}
        self._tables: dict[str, tuple[str, str]] = {}

    def of(self, keyspace: str, table: str) -> str:
        """The topic of a table's rows.

        SinkError for a name that is longer than Kafka takes, and for another table's though the template has both
        keyspace and table (`a_b.c` and `a.b_c` by `{keyspace}_{table}`).
        """
        name = self._known.get((keyspace, table))
        if name is None:
            name = self._known[keyspace, table] = self._checked(keyspace, table)
        return name

    def _checked(self, keyspace: str, table: str) -> str:
        name = self._template.format(keyspace=_spelt(keyspace), table=_spelt(table), node=self._node)
        if len(name) > LENGTH_MAX:
            raise SinkError(
                f"the topic of {keyspace}.{table} would have a name of {len(name)} characters",
                expected=f"at most {LENGTH_MAX}",
                found=f"{name[:40]}…",
                remedy="Give a shorter --topic.",
            )
        other = self._tables.setdefault(name, (keyspace, table))
        if self._apart and other != (keyspace, table):
            raise SinkError(
                f"{keyspace}.{table} and {'.'.join(other)} would have one topic",
                expected="a topic for each",
                found=name,
                remedy="Give another --topic, such as '{keyspace}.{table}'.",
            )
        return name


def _fields_of(template: str) -> set[str]:
    """What a template names; UsageError for what makes no topic."""
    found: set[str] = set()
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError as error:
        raise UsageError("--topic", expected="a name with {keyspace}, {table}, {node}", found=str(error)) from None
    for literal, field, spec, conversion in parts:
        if field is not None and (field not in _FIELDS or spec or conversion):
            raise UsageError("--topic", expected="{keyspace}, {table} or {node}", found=f"{{{field}}}")
        if not _PLAIN.fullmatch(literal):
            raise UsageError("--topic", expected="letters, digits, '.', '_' and '-'", found=repr(literal))
        found |= {field} if field else set()
    if not template or template in (".", ".."):
        raise UsageError("--topic", expected="a topic's name", found=repr(template))
    return found


def _spelt(name: str) -> str:
    return _OTHER.sub(lambda found: "".join(f"-{byte:02X}" for byte in found[0].encode()), name)
