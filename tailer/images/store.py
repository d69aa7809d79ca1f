"""Where the state of images is kept, as its keeper sees it: bytes by table, partition and row. Knows no fact."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

from tailer.versions import undecodable

_NUMBER_BYTES: Final = 8


class Due(NamedTuple):
    """A row of which something expires at second `at`."""

    at: int
    table_id: str
    partition: bytes
    row: bytes


class Store(Protocol):
    """Rows by table id (32 hex digits), partition and row key, each key in the order of its bytes.

    The row of the empty key is the partition's header. What is put is seen by the next call; when it becomes durable is
    the affair of whoever made the store. Beside each row stands the second at which something in it expires (`due`);
    whoever changes a row says what that was before (`was_due`), so that an index of them can be kept without a look.
    """

    def get(self, table_id: str, partition: bytes, row: bytes) -> bytes | None:
        """The bytes of one row, None where there is none."""
        ...

    def put(
        self, table_id: str, partition: bytes, row: bytes, value: bytes, *, due: int | None, was_due: int | None
    ) -> None:
        """Keep a row, new or in place of what was there."""
        ...

    def delete(self, table_id: str, partition: bytes, row: bytes, *, was_due: int | None) -> None:
        """Forget a row that is there."""
        ...

    def scan(self, table_id: str, partition: bytes, lower: bytes, upper: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Key and bytes of the rows from `lower` on and below `upper`, in order.

        Rows of the partition that are put or deleted meanwhile may be seen as they were, or not.
        """
        ...

    def next_partition(self, table_id: str, after: bytes) -> bytes | None:
        """The first partition with a row whose name is greater than `after`; None behind the last one."""
        ...

    def due(self, until: int, limit: int) -> list[Due]:
        """The first `limit` rows of all tables that are due at second `until` or before, in the order of `Due`."""
        ...

    def due_in(self, table_id: str, partition: bytes, until: int) -> list[bytes]:
        """The keys of the partition's rows that are due at second `until` or before, in their order.

        Asked for each partition that an entry touches: nothing due is the usual answer.
        """
        ...

    def clear(self, table_id: str) -> None:
        """Forget all rows of a table."""
        ...

    def meta(self, key: bytes) -> bytes | None:
        """What is kept of the whole under a key."""
        ...

    def put_meta(self, key: bytes, value: bytes) -> None:
        """Keep something of the whole."""
        ...

    def drop_meta(self, key: bytes) -> None:
        """Keep that no more, if it was kept."""
        ...

    def metas(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """All that is kept of the whole under keys that begin with `prefix`, in the order of keys."""
        ...


def number_of(value: bytes | None) -> int:
    """A number that is kept of the whole; 0 where there is none. UndecodableError for other bytes."""
    if value is None:
        return 0
    if len(value) != _NUMBER_BYTES:
        raise undecodable("a number in the state of images", f"{len(value)} bytes")
    return int.from_bytes(value, "big")
