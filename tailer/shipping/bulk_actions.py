"""Change rows or images as actions of a search engine's bulk API: a document a row of a table, its id the row's key.
Pure.

    {"index":{"_index":"shop.orders","_id":"{\\"id\\":1}","version":1700000000000000,"version_type":"external_gte"}}
    {"id":1,"state":"new","@change":{"op":"insert","event_id":"n1:1700000000001:28:0","partial":true}}

The version is the row's timestamp, or the image's `seq`: a copy that comes late, of another replica or sent again, does
not win.
"""

from __future__ import annotations

import hashlib
import string
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from tailer.errors import SinkError, UsageError
from tailer.limits import MIB
from tailer.rows.image_ops import OF_ONE_ROW, check_op
from tailer.sinks.files.index import TableRows
from tailer.typed_decode import json_decoder

ID_BYTES_MAX: Final = 512
NAME_BYTES_MAX: Final = 255
CHUNK_BYTES: Final = 5 * MIB
CHUNK_ACTIONS: Final = 5000

_FIELDS: Final = frozenset({"keyspace", "table"})
_NEVER: Final = frozenset('\\/*?"<>| ,#:')
_CHANGE: Final = "@change"

Fields = dict[str, msgspec.Raw]


class _Which(msgspec.Struct):
    """Which row, and what became of it."""

    keyspace: str
    table: str
    table_id: str
    op: str
    partition_key: Fields | None
    clustering: Fields | None


class _Row(_Which):
    """What an action needs of a change row."""

    columns: Fields | None
    write_ts: int | None
    event_id: str


class _Image(_Which):
    """What an action needs of an image."""

    after: Fields | None
    seq: int
    complete: bool
    event_id: str | None

    @property
    def name(self) -> str:
        """For people."""
        return self.event_id or f"image {self.seq}"


class Action(NamedTuple):
    """What is sent of one row; no `document` deletes. `event_id`: of the row."""

    head: bytes
    document: bytes | None
    event_id: str

    @property
    def text(self) -> bytes:
        return self.head + b"\n" if self.document is None else self.head + b"\n" + self.document + b"\n"


class Actions:
    """Makes actions of lines. `leave_out`: deletes of ranges, of partitions of many rows, truncates and drops of tables
    are left out and counted; else they are a SinkError, for the documents would stay.
    """

    def __init__(self, template: str, leave_out: bool) -> None:
        self.left_out = 0
        self._template = _checked(template)
        self._leave_out = leave_out
        self._tables: dict[str, str] = {}
        self._decode = json_decoder(_Row).decode
        self._decode_image = json_decoder(_Image).decode

    def of_images(self, lines: Iterable[bytes]) -> Iterator[Action]:
        """The actions of a file's images, in order."""
        for line in lines:
            image = self._decode_image(line)
            check_op(image.op)
            if image.op in OF_ONE_ROW:
                yield self._of_image(image)
            elif image.op != "schema" and not (image.op == "truncate" and image.complete):
                # Of a table that is known whole each row that a truncate takes has an image of its own.
                self._pass_over(image.op, image.name, image.keyspace, image.table)

    def of(self, lines: Iterable[bytes], tables: Iterable[TableRows]) -> Iterator[Action]:
        """The actions of a file's rows, in order. `tables`: what its index says of them."""
        single = {each.id for each in tables if each.definition is not None and not each.definition.clustering}
        for line in lines:
            action = self._action(self._decode(line), single)
            if action is not None:
                yield action

    def _action(self, row: _Row, single: set[str]) -> Action | None:
        if row.op == "schema" and row.columns is None:
            # The documents would stay beside those of the next table with its name.
            self._pass_over("drop", row.event_id, row.keyspace, row.table)
            return None
        if row.op in ("schema", "snapshot_range"):
            return None
        deletes = row.op == "delete_row" or (row.op == "delete_partition" and row.table_id in single)
        if not deletes and row.op not in ("insert", "update", "snapshot"):
            self._pass_over(row.op, row.event_id, row.keyspace, row.table)
            return None
        if row.write_ts is None or row.write_ts < 0:
            raise SinkError(
                f"row {row.event_id} has a timestamp that no document can have as its version",
                expected="0 or more",
                found=row.write_ts,
            )
        key = {**(row.partition_key or {}), **(row.clustering or {})}
        document = None if deletes else _document({**key, **(row.columns or {})}, row.op, row.event_id, partial=True)
        return self._made(row, key, row.write_ts, document, row.event_id)

    def _of_image(self, image: _Image) -> Action:
        key = {**(image.partition_key or {}), **(image.clustering or {})}
        document = None
        if image.after is not None:
            document = _document(image.after, image.op, image.event_id, partial=not image.complete)
        return self._made(image, key, image.seq, document, image.name)

    def _made(self, of: _Row | _Image, key: Fields, version: int, document: bytes | None, name: str) -> Action:
        where = {
            "_index": self._index(of.keyspace, of.table),
            "_id": _id(key),
            "version": version,
            "version_type": "external_gte",
        }
        return Action(msgspec.json.encode({"delete" if document is None else "index": where}), document, name)

    def _pass_over(self, op: str, event_id: str, keyspace: str, table: str) -> None:
        if not self._leave_out:
            raise SinkError(
                f"row {event_id} of {keyspace}.{table} is a {op}, which the bulk API has no action for",
                remedy="Delete these documents by a query and go on with --leave-out-ranges, which leaves out all such "
                "rows and counts them.",
            )
        self.left_out += 1

    def _index(self, keyspace: str, name_of_table: str) -> str:
        name = self._template.format(keyspace=keyspace, table=name_of_table).lower()
        table = f"{keyspace}.{name_of_table}"
        if name[0] in "-_+" or not _NEVER.isdisjoint(name) or len(name.encode()) > NAME_BYTES_MAX:
            raise SinkError(f"no index may be called {name!r} (of {table})", remedy="Give another --index.")
        if self._tables.setdefault(name, table) != table:
            raise SinkError(
                f"two tables have the index {name!r}",
                found=f"{self._tables[name]} and {table}",
                remedy="Index names have no capitals: ship one of them to a place of its own, with another --index.",
            )
        return name


def chunks(actions: Iterable[Action]) -> Iterator[list[Action]]:
    """As many actions together as one request should have."""
    chunk: list[Action] = []
    length = 0
    for action in actions:
        if chunk and (length + len(action.text) > CHUNK_BYTES or len(chunk) >= CHUNK_ACTIONS):
            yield chunk
            chunk, length = [], 0
        chunk.append(action)
        length += len(action.text)
    if chunk:
        yield chunk


def _id(key: Fields) -> str:
    """The key as JSON; of a long one its SHA-256, for an id has few bytes."""
    text = msgspec.json.encode(key)
    return text.decode() if len(text) <= ID_BYTES_MAX else f"sha256:{hashlib.sha256(text).hexdigest()}"


def _document(columns: Fields, op: str, event_id: str | None, *, partial: bool) -> bytes:
    """The columns by name; what the change is stands under a name that no column has in CQL."""
    change = msgspec.Raw(msgspec.json.encode({"op": op, "event_id": event_id, "partial": partial}))
    return msgspec.json.encode({**columns, _CHANGE: change})


def _checked(template: str) -> str:
    try:
        fields = {field for _, field, _, _ in string.Formatter().parse(template) if field is not None}
    except ValueError as error:
        raise UsageError("--index", expected="a name with {keyspace} and {table}", found=str(error)) from None
    if fields != _FIELDS:
        # Two tables in one index would share ids.
        raise UsageError("--index", expected="a name with {keyspace} and {table}", found=repr(template))
    return template
