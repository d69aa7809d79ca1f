"""A server's rows without a server: the bytes of its responses, which the driver takes apart as it does real ones."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from cassandra.query import BoundStatement, PreparedStatement

Wire = bytes
"""A type as the native protocol (version 4) has it."""

INT: Final = b"\0\x09"
TEXT: Final = b"\0\x0d"
_BIGINT: Final = b"\0\x02"
_ROWS: Final = 2


def text(value: str) -> bytes:
    return len(value.encode()).to_bytes(2, "big") + value.encode()


def udt(name: str, fields: Mapping[str, Wire]) -> Wire:
    members = b"".join(text(field) + type_ for field, type_ in fields.items())
    return b"\0\x30" + text("ks") + text(name) + len(fields).to_bytes(2, "big") + members


def custom(java: str) -> Wire:
    return b"\0\0" + text("org.apache.cassandra.db.marshal." + java)


class RawServer:
    """A session with it. `types`: of each column of the only table. `rows`: those of each response, by column; a token
    and the times of values are made up."""

    def __init__(self, types: Mapping[str, Wire], rows: Sequence[Mapping[str, bytes | None]]) -> None:
        self.types, self.rows = types, rows
        self.client_protocol_handler: Any = None

    def prepare(self, query: str) -> Any:
        return PreparedStatement([], b"", None, query, None, 4, [], None)

    def execute(self, query: Any, *, timeout: float | None) -> Any:
        asked = query.prepared_statement.query_string if isinstance(query, BoundStatement) else query.query_string
        names = _names(asked)
        columns = [text(name) + self._type(name) for name in names]
        body = _int(_ROWS) + _int(1) + _int(len(names)) + text("ks") + text("t") + b"".join(columns)
        values = [self._value(name, row) for row in self.rows for name in names]
        body += _int(len(self.rows)) + b"".join(_int(-1) if v is None else _int(len(v)) + v for v in values)
        message = self.client_protocol_handler.message_types_by_opcode[8]
        return message.recv_body(io.BytesIO(body), 4, {}, None, None).parsed_rows

    def _type(self, name: str) -> Wire:
        return INT if name.startswith("TTL(") else self.types.get(name, _BIGINT)

    def _value(self, name: str, row: Mapping[str, bytes | None]) -> bytes | None:
        if name.startswith("TTL("):
            return None
        return row[name] if name in row else bytes(8)


def _names(query: str) -> list[str]:
    """What a query asks for, without quotes."""
    told = query.removeprefix("SELECT ").partition(" FROM ")[0]
    return [each.strip('"') for each in re.split(r", (?![^(]*\))", told)]


def _int(number: int) -> bytes:
    return number.to_bytes(4, "big", signed=True)
