"""What a change reads of a big partition: its row and the header; a deletion its range; what expires is found alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tailer.images.memory import MemoryStore
from tests.unit.images.told import START, State, delete_range, insert, update

MANY = 2000


class Counting(MemoryStore):
    """A store that counts what is read of it."""

    def __init__(self) -> None:
        super().__init__()
        self.read: Counter[str] = Counter()

    def get(self, table_id: str, partition: bytes, row: bytes) -> bytes | None:
        self.read["get"] += 1
        return super().get(table_id, partition, row)

    def scan(self, table_id: str, partition: bytes, lower: bytes, upper: bytes) -> Iterator[tuple[bytes, bytes]]:
        for found in super().scan(table_id, partition, lower, upper):
            self.read["scan"] += 1
            yield found


def big() -> tuple[State, Counter[str]]:
    store = Counting()
    state = State(whole=True, store=store)
    for x in range(MANY):
        state.tell(insert(START + 1, x, v=1))
    store.read.clear()
    return state, store.read


def test_a_change_reads_its_row_and_the_header() -> None:
    state, read = big()
    state.tell(update(START + 2, 77, v=2))
    state.tell(update(START + 2, 77, v=2, node="b"))
    state.tell(update(START + 2, None, s=1))
    assert read == {"get": 5}


def test_a_range_deletion_reads_its_range() -> None:
    state, read = big()
    assert len(state.tell(delete_range(START + 2, 10, 15))) == 5
    assert read == {"get": 1, "scan": 5}


def test_what_expires_is_found_without_the_others() -> None:
    state, read = big()
    state.tell(update(START + 2, 77, v=2, ttl=5, expires_at=START // 1_000_000 + 5))
    read.clear()
    assert len(state.tell(update(START + 3, 78, v=2), at=5)) == 2
    assert read == {"get": 3}
