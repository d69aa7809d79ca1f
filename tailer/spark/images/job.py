"""What a task of images must know besides its rows, as one value that travels to it."""

from __future__ import annotations

from typing import Final

import msgspec

from tailer.rebuild import Table
from tailer.typed_decode import msgpack_decoder

Spot = tuple[int, int]
"""Segment and offset."""


class Node(msgspec.Struct, frozen=True):
    """What is known of a node's log when the query starts.

    `created`: by table id (32 hex digits) up to where in its log the CREATE of the table stands, None where its log
    does not have it. What is not in there was not known at all: it is created later. `native`: whether it is a native
    log, whose tables keep what is taken from them.
    """

    created: dict[str, Spot | None]
    native: bool = False

    def creates(self, table_id: str, at: Spot) -> bool:
        """Whether a definition that its log tells at `at` is the table's CREATE, if it is the first that is told."""
        if table_id not in self.created:
            return True
        until = self.created[table_id]
        return until is not None and at <= until


class Earlier(msgspec.Struct, frozen=True):
    """What a table was in a node's log from a place on."""

    node: str
    at: Spot
    table: msgspec.Raw


class Job(msgspec.Struct, frozen=True):
    """`nodes`: all that are followed; None for one of whose log nothing is known. `tables`: by table id what is known
    of tables when the query starts; `earlier`: of those that were altered, what they were where, in order.
    `forget_after`: the seconds for which what is dead is kept, None for ever."""

    nodes: dict[str, Node | None]
    tables: dict[str, msgspec.Raw]
    before: bool = True
    expirations: bool = True
    forget_after: int | None = None
    earlier: dict[str, list[Earlier]] = {}

    def table_at(self, table_id: str, node: str, at: Spot) -> Table | None:
        """What a table is where a row of it stands that is met before any definition."""
        told = [each for each in self.earlier.get(table_id, ()) if each.node == node and each.at <= at]
        return _TABLE.decode(told[-1].table) if told else self.table(table_id)

    def table(self, table_id: str) -> Table | None:
        """What is known of a table."""
        known = self.tables.get(table_id)
        return None if known is None else _TABLE.decode(known)

    def all_tables(self) -> list[Table]:
        """What is known of all of them."""
        return [_TABLE.decode(known) for known in self.tables.values()]


def raw(table: Table) -> msgspec.Raw:
    """A table as a job has it: a task reads those that it has rows of."""
    return msgspec.Raw(_ENCODER.encode(table))


def packed(job: Job) -> bytes:
    """The job as it travels."""
    return _ENCODER.encode(job)


def unpacked(travelled: bytes) -> Job:
    """The job that `packed` took."""
    return _DECODER.decode(travelled)


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgpack_decoder(Job)
_TABLE: Final = msgpack_decoder(Table)
