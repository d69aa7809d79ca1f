"""Rows of which a server could tell more than the state knows: kept in the state until somebody has asked."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Final, NamedTuple

import msgspec

from tailer.images.store import Store
from tailer.versions import StateDecoder

_PREFIX: Final = b"question/"
_DIGEST_BYTES: Final = 16


class Question(NamedTuple):
    """A row, by table (32 hex digits), partition and key; of key `OWN` the static row.

    `clustering`: its framed values. `older`: something came that is older than the floor. `whole`: it is all rows of
    the partition that are asked for. `mends`: what the state has is wrong, and all of the response replaces it.
    """

    table_id: str
    partition: bytes
    row: bytes
    clustering: bytes = b""
    older: bool = False
    whole: bool = False
    mends: bool = False


class Open(NamedTuple):
    """`at`: the second in which it came up last. `tries`: how often it was asked since without an end of it."""

    question: Question
    at: int
    tries: int


class Questions:
    """Those of one state."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def ask(self, question: Question, at: int, tries: int = 0) -> None:
        """It came up in second `at`, perhaps again, and for another reason."""
        key = _key(question)
        held = self._store.meta(key)
        if held is not None:
            before, _, _ = _DECODER.decode(held)
            older, whole = before.older or question.older, before.whole or question.whole
            question = question._replace(older=older, whole=whole, mends=before.mends or question.mends)
        self._store.put_meta(key, msgspec.msgpack.encode((question, at, tries)))

    def answered(self, question: Question) -> None:
        """It is no more."""
        self._store.drop_meta(_key(question))

    def open(self) -> Iterator[Open]:
        """All that are there."""
        for _, value in self._store.metas(_PREFIX):
            question, at, tries = _DECODER.decode(value)
            yield Open(question, at, tries)


def _key(question: Question) -> bytes:
    # A key of LMDB has 511 bytes at most, a partition's name may have more.
    row = question.table_id, question.partition, question.row
    return _PREFIX + blake2b(msgspec.msgpack.encode(row), digest_size=_DIGEST_BYTES).digest()


_DECODER: Final = StateDecoder[tuple[Question, int, int]](tuple[Question, int, int], "a row to be asked for")
