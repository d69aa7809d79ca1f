"""Rows of a live server as the bytes that it sent: no value is decoded, so what comes is what its tables hold.

In the native protocol (version 4) a value has the bytes that the log has of a frozen one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import Any, Final, Literal, NamedTuple, cast

from tailer.schema.server import Session
from tailer.types.cql_name import quoted_name
from tailer.types.java import read_class
from tailer.types.kinds import CUSTOM, NATIVES

Row = tuple[bytes | None, ...]
"""A value for each column that was asked for; None: null."""

Consistency = Literal["ONE", "LOCAL_ONE", "TWO", "THREE", "QUORUM", "LOCAL_QUORUM", "EACH_QUORUM", "ALL"]

_LENGTH: Final = Struct(">i").unpack_from

PAGE_ROWS: Final = 2_000
"""Rows that the server sends at once."""


class SentType(NamedTuple):
    """A type as a response tells it, which says nothing of `frozen`. `kind`: as of CqlType. `parts`: the types it is
    made of."""

    kind: str
    parts: tuple[SentType, ...] = ()
    dimension: int = 0

    def __str__(self) -> str:
        told = [*map(str, self.parts), *([str(self.dimension)] if self.dimension else [])]
        return f"{self.kind}<{', '.join(told)}>" if told else self.kind


class Page(NamedTuple):
    """So many rows of so many columns as the server sent them: each value behind its length, i32, below 0 for null.
    `types`: of each column."""

    size: int
    columns: int
    data: bytes
    types: tuple[SentType, ...] = ()

    def rows(self) -> Iterator[Row]:
        """The rows one by one."""
        at, data = 0, self.data
        for _ in range(self.size):
            row: list[bytes | None] = []
            for _ in range(self.columns):
                (length,) = _LENGTH(data, at)
                at += 4
                row.append(data[at : at + length] if length >= 0 else None)
                at += max(length, 0)
            yield tuple(row)


def raw(session: Session) -> Session:
    """The same session, from here on for the functions of this module alone."""
    from cassandra.protocol import ResultMessage, _ProtocolHandler

    class RawRows(ResultMessage):  # type: ignore[misc]  # the driver has no types
        """Rows without a look at their values."""

        def recv_results_rows(self, f: Any, version: Any, types: Any, result_metadata: Any, policy: Any = None) -> None:
            self.recv_results_metadata(f, types)
            columns = self.column_metadata or result_metadata
            count = int.from_bytes(f.read(4), "big")
            self.column_names = [column[2] for column in columns]
            self.column_types = [column[3] for column in columns]
            self.parsed_rows = [Page(count, len(columns), f.read(), tuple(map(_sent, self.column_types)))]

    class RawProtocol(_ProtocolHandler):  # type: ignore[misc]
        message_types_by_opcode: Final = {**_ProtocolHandler.message_types_by_opcode, ResultMessage.opcode: RawRows}

    cast(Any, session).client_protocol_handler = RawProtocol
    return session


def _sent(told: Any) -> SentType:
    """What the driver makes of a type in a response."""
    if told.cassname == "UserType":
        # It may have the name of another type.
        return SentType("udt", tuple(map(_sent, told.subtypes or ())))
    if told.typename in NATIVES:
        return SentType(NATIVES[told.typename].kind)
    if told.typename == "frozen":
        return _sent(told.subtypes[0])
    parts = tuple(map(_sent, told.subtypes or ()))
    if told.typename in ("list", "set", "map", "tuple"):
        return SentType(told.typename, parts)
    if told.cassname.startswith("VectorType"):
        return SentType("vector", (_sent(told.subtype),), told.vector_size)
    return SentType(read_class(told.cassname).word or CUSTOM.name)


def read_pages(session: Session, query: str, consistency: Consistency, page_rows: int = PAGE_ROWS) -> Iterator[Page]:
    """What a query gives over a `raw` session, page by page. The driver's errors as they are."""
    from cassandra import ConsistencyLevel
    from cassandra.query import SimpleStatement

    level = getattr(ConsistencyLevel, consistency)
    statement: Any = SimpleStatement(query, consistency_level=level, fetch_size=page_rows)
    yield from session.execute(statement, timeout=None)  # type: ignore[arg-type]  # for ever: pages have limits


def read_pages_by(
    session: Session, query: str, values: Sequence[bytes | None], consistency: Consistency
) -> Iterator[Page]:
    """The same of a query with a `?` for each of some values, as bytes. It is prepared once for a session."""
    from cassandra import ConsistencyLevel
    from cassandra.query import BoundStatement

    held = cast(Any, session)
    prepared = held.__dict__.setdefault("_cdc_tail_prepared", {})
    if query not in prepared:
        prepared[query] = held.prepare(query)
    bound: Any = BoundStatement(prepared[query], consistency_level=getattr(ConsistencyLevel, consistency))
    # They have the bytes already that a bind would make of them.
    bound.values = list(values)
    yield from session.execute(bound, timeout=None)  # type: ignore[arg-type]


def quoted_names(names: Sequence[str]) -> str:
    """Columns as a statement names them."""
    return ", ".join(map(quoted_name, names))
