"""What Cassandra nodes answer over CQL: their `system_schema`, their ring, and rows at ALL. Independent of the product.

It takes the place of the driver's `Cluster`. A request takes time on its way there and on its way back, so a response
is of an earlier moment than its arrival. A node that does not run answers nothing; rows are told as long as all nodes
run and have the same schema.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Protocol
from uuid import UUID, uuid5

import cassandra.cluster
from cassandra import InvalidRequest, OperationTimedOut, Unavailable
from cassandra.query import BoundStatement, PreparedStatement

from tests.helpers.images.logged import TOKENS
from tests.helpers.images.partitions import Partition
from tests.helpers.images.rows import Row
from tests.helpers.images.sent import Sent, number, sent
from tests.helpers.images.tables import FIELDS, STATIC, Key, ModelColumn, ModelTable
from tests.simulation.encoded import KEYSPACE
from tests.simulation.system_schema import SystemSchema
from tests.simulation.world import running, this_world

_ROWS: Final = 2
_NATIVE: Final = {"blob": 3, "bigint": 2, "counter": 5, "int": 9, "text": 13}
_OPCODE_OF_RESULT: Final = 8

_QUERY: Final = re.compile(r'SELECT (.+) FROM "?(\w+)"?\."?(\w+)"?(?: WHERE (.+?))?(?: LIMIT (\d+))?$')
_TRIES: Final = 50
_NO_NODE: Final = UUID("00000000-0000-4000-8000-000000000000")


class Answering(Protocol):
    """A node as its clients see it."""

    name: str
    release: str

    def runs(self) -> bool:
        """Whether it answers."""
        ...

    @property
    def schema(self) -> SystemSchema:
        """What it has executed."""
        ...


class Servers(Protocol):
    """All nodes of a cluster."""

    @property
    def nodes(self) -> Mapping[str, Answering]:
        """By name, which is the address."""
        ...

    def tables(self) -> Mapping[str, ModelTable] | None:
        """By name; None where not all nodes run, have the same schema, and have all that was written to them."""
        ...

    def sync(self) -> None:
        """All nodes are told to make durable what they have."""
        ...

    def is_durable(self) -> bool:
        """Whether everything is that was written to nodes that run."""
        ...

    def partitions(self, table: str) -> Mapping[int, Partition]:
        """What all nodes together have of a table, by its name."""
        ...

    def now(self) -> int:
        """In seconds since the epoch."""
        ...


class Cluster:
    """As the driver's. `open_to` are the nodes of the history that runs."""

    open_to: Servers | None = None

    def __init__(self, hosts: Sequence[str], **_: Any) -> None:
        (self._host,) = hosts

    def connect(self) -> Session:
        assert Cluster.open_to is not None, "a history has nodes"
        session = Session(Cluster.open_to, self._host)
        session.check()
        return session

    def shutdown(self) -> None:
        """Nothing is held."""


def install() -> None:
    """Once for a process."""
    real = cassandra.cluster.Cluster
    if real.__module__ != __name__:
        cassandra.cluster.Cluster = lambda *args, **more: (real if running() is None else Cluster)(*args, **more)
        cassandra.cluster.Cluster.__module__ = __name__


class Session:
    """As the driver's, with one node."""

    def __init__(self, servers: Servers, host: str) -> None:
        self._servers, self._host = servers, host
        self.client_protocol_handler: Any = None

    def check(self) -> None:
        """NoHostAvailable where the node does not answer."""
        _pass_time()
        if not self._node.runs():
            refused = ConnectionRefusedError(111, "Connection refused")
            raise cassandra.cluster.NoHostAvailable(f"Unable to connect to {self._host}", {self._host: refused})

    def prepare(self, query: str) -> Any:
        self.check()
        return PreparedStatement([], b"", None, query, None, 4, [], None)

    def execute(self, query: Any, *, timeout: float | None) -> Iterator[Any]:
        self.check()
        if isinstance(query, str):
            rows = list(self._system(query))
            self._arrive()
            return iter(rows)
        return self._pages(query)

    @property
    def _node(self) -> Answering:
        return self._servers.nodes[self._host]

    def _arrive(self) -> None:
        """The response is under way."""
        _pass_time()
        if not self._node.runs():
            raise OperationTimedOut({self._host: "the node ended"}, self._host)

    # What a node says of itself

    def _system(self, query: str) -> Iterator[tuple[Any, ...]]:
        texts, keyspace, table, _, _ = _taken_apart(query)
        if keyspace == "system_schema":
            yield from self._node.schema.select(table, texts, len(self._servers.nodes))
            return
        values = self._local(self._node)
        if (keyspace, table) == ("system", "local"):
            yield tuple(values[text] for text in texts)
        elif (keyspace, table) == ("system", "peers"):
            for node in self._servers.nodes.values():
                if node is not self._node:
                    values = {**self._local(node), "peer": node.name, "rpc_address": node.name}
                    yield tuple(values[text] for text in texts)
        else:
            raise InvalidRequest(f"table {keyspace}.{table} does not exist")

    def _local(self, node: Answering) -> dict[str, Any]:
        at = [*self._servers.nodes].index(node.name)
        return {
            "cluster_name": "simulated", "data_center": "dc1", "rack": f"rack{at}",
            "host_id": uuid5(_NO_NODE, node.name), "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
            "tokens": [str(at * 2**62 - 2**61)], "release_version": node.release,
        }  # fmt: skip

    # Rows

    def _pages(self, statement: Any) -> Iterator[Any]:
        bound = isinstance(statement, BoundStatement)
        text = statement.prepared_statement.query_string if bound else statement.query_string
        query = _Rows(text, list(statement.values or ()) if bound else [])
        # A server may send fewer than it is asked for.
        size = this_world().random.choice((1, 3, 5000))
        behind: tuple[Any, ...] | None = None
        while True:
            self.check()
            self._wait_for_sync()
            tables = self._servers.tables()
            if tables is None:
                raise Unavailable("Cannot achieve consistency level ALL")
            if query.table not in tables:
                raise InvalidRequest(f"table {query.table} does not exist")
            table = tables[query.table]
            found = query.rows(table, self._servers.partitions(query.table), self._servers.now(), behind)
            page = self._page(query, table, [values for _, values in found[:size]])
            self._arrive()
            yield from page
            if len(found) <= size:
                return
            behind = found[size - 1][0]

    def _wait_for_sync(self) -> None:
        """What is read is durable, as with `commitlog_sync: batch`: no crash takes it back."""
        self._servers.sync()
        for _ in range(_TRIES):
            if self._servers.is_durable():
                return
            this_world().wait(self._servers.is_durable, 0.1)
        raise OperationTimedOut({self._host: "no sync"}, self._host)

    def _page(self, query: _Rows, table: ModelTable, rows: Sequence[Sequence[bytes | None]]) -> Any:
        types = b"".join(_text(text) + query.type_of(text, table) for text in query.texts)
        body = number(4, _ROWS) + number(4, 1) + number(4, len(query.texts)) + _text(KEYSPACE) + _text(table.name)
        body += types + number(4, len(rows))
        for row in rows:
            body += b"".join(number(4, -1) if each is None else number(4, len(each)) + each for each in row)
        message = self.client_protocol_handler.message_types_by_opcode[_OPCODE_OF_RESULT]
        return message.recv_body(io.BytesIO(body), 4, {}, None, None).parsed_rows


class _Rows:
    """A SELECT of rows: of a range of tokens, of a partition, or of one row."""

    def __init__(self, query: str, values: Sequence[bytes | None]) -> None:
        self.texts, _, self.table, where, limit = _taken_apart(query)
        self._most = None if limit is None else int(limit)
        tokens = re.fullmatch(r'token\("k"\) > (-?\d+) AND token\("k"\) <= (-?\d+)', where or "")
        self._tokens = None if tokens is None else (int(tokens[1]), int(tokens[2]))
        self._key = [int.from_bytes(each or b"", "big", signed=True) for each in values]

    def rows(
        self, table: ModelTable, partitions: Mapping[int, Partition], now: int, behind: tuple[Any, ...] | None
    ) -> list[tuple[tuple[Any, ...], list[bytes | None]]]:
        """Each with what it is ordered by; those behind one of them."""
        found = []
        for k, partition in partitions.items():
            if not self._has(k):
                continue
            held = partition.compacted(table)
            live = held.select(table, now)
            static = held.rows.get(STATIC, Row()) if STATIC in live else Row()
            keys: list[Key | None] = [key for key in live if key != STATIC and self._has_row(key)]
            if not keys and STATIC in live and len(self._key) < 2:
                keys = [None]
            for key in keys:
                order = (TOKENS[k], () if key is None or isinstance(key, str) else table.ordered(key))
                if behind is None or order > behind:
                    row = Row() if key is None else held.rows[key]
                    found.append((order, [self._value(text, k, key, row, static, table, now) for text in self.texts]))
        return sorted(found, key=lambda each: each[0])[: self._most]

    def _has(self, k: int) -> bool:
        if self._tokens is not None:
            low, high = self._tokens
            return low < TOKENS[k] <= high
        return self._key[0] == k

    def _has_row(self, key: Key) -> bool:
        return len(self._key) < 2 or key == tuple(self._key[1:])

    def _value(
        self, text: str, k: int, key: Key | None, row: Row, static: Row, table: ModelTable, now: int
    ) -> bytes | None:
        name, what = _named(text)
        if text == 'token("k")':
            return number(8, TOKENS[k])
        if name == "k":
            return number(4, k)
        for at, (own, _) in enumerate(table.clustering):
            if own == name:
                return None if key is None else number(4, int(key[at]))
        column = _column(table, name)
        told: Sent = sent(column, static if column.static else row, table, now)
        return {"": told.value, "WRITETIME": told.written, "TTL": told.ttl}[what]

    def type_of(self, text: str, table: ModelTable) -> bytes:
        """What a text asks for, as the native protocol has types."""
        name, what = _named(text)
        if text == 'token("k")':
            return _type("bigint")
        if name == "k" or name in dict(table.clustering):
            return _type("int")
        column = _column(table, name)
        told = {"": column.type, "WRITETIME": "bigint", "TTL": "int"}[what]
        return _type(f"list<{told}>" if what and column.complex else told, column.fields)


def _taken_apart(query: str) -> tuple[list[str], str, str, str | None, str | None]:
    """What a query asks for, keyspace, table, WHERE and LIMIT."""
    found = _QUERY.match(query)
    assert found is not None, query
    return [each.strip() for each in re.split(r",(?![^(]*\))", found[1])], found[2], found[3], found[4], found[5]


def _named(text: str) -> tuple[str, str]:
    """A column, and what of it is asked for: its value (empty), WRITETIME or TTL."""
    found = re.fullmatch(r'(?:(WRITETIME|TTL)\()?"?(\w+)"?\)?', text)
    return (found[2], found[1] or "") if found else (text, "")


def _column(table: ModelTable, name: str) -> ModelColumn:
    column = next((each for each in table.columns if each.name == name and name not in table.dropped), None)
    if column is None:
        raise InvalidRequest(f"Undefined column name {name} in table {KEYSPACE}.{table.name}")
    return column


def _type(name: str, fields: Sequence[str] = FIELDS) -> bytes:
    """`fields`: of the user-defined type."""
    if name == "pair":
        told = b"".join(_text(each) + _type("text" if each == FIELDS[1] else "int") for each in fields)
        return b"\0\x30" + _text(KEYSPACE) + _text("pair") + len(fields).to_bytes(2, "big") + told
    kind, _, parts = name.rstrip(">").partition("<")
    if not parts:
        return _NATIVE[name].to_bytes(2, "big")
    code = {"list": 0x20, "map": 0x21, "set": 0x22}[kind]
    return code.to_bytes(2, "big") + b"".join(_type(part) for part in parts.split(", "))


def _text(value: str) -> bytes:
    return len(value.encode()).to_bytes(2, "big") + value.encode()


def _pass_time() -> None:
    """A message is under way: mostly a moment, now and then for seconds."""
    world = this_world()
    world.step("cql")
    world.wait(None, world.random.choice((0.0, 0.0005, 0.002, 0.01) if world.random.random() < 0.99 else (3.0,)))
