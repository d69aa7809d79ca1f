"""A server's answers about itself → origin, ring, first replicas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from tailer.errors import SystemFailedError, UsageError
from tailer.schema.extras import Origin
from tailer.schema.ring import MURMUR3, Host
from tailer.schema.server_place import place_of

ONE, TWO = UUID(int=1), UUID(int=2)
LOCAL = ("shop", "dc1", "r1", ONE, MURMUR3, {"-5", "9000000000000000000"}, "5.0.9")
ANSWERS: dict[str, list[tuple[Any, ...]]] = {
    "system.local": [LOCAL],
    "system.peers": [
        (TWO, "dc1", {"7"}, "r2", "10.0.0.2", "192.168.0.2"),
        (UUID(int=3), "dc1", None, None, "10.0.0.3", None),
        (None, None, {"9"}, None, "10.0.0.4", None),
    ],
    "system_schema.keyspaces": [
        ("ks", {"class": "org.apache.cassandra.locator.SimpleStrategy", "replication_factor": "2"})
    ],
}


class FakeSession:
    def __init__(self, **answers: list[tuple[Any, ...]]) -> None:
        self.answers = ANSWERS | {name.replace("__", "."): rows for name, rows in answers.items()}

    def execute(self, query: str, *, timeout: float) -> Iterator[tuple[Any, ...]]:
        return iter(self.answers[query.rpartition(" ")[2]])


def test_what_a_server_says_of_itself() -> None:
    place = place_of(FakeSession(), "node1")
    assert place.origin == Origin("shop", "dc1", "r1")
    assert place.own == Host(str(ONE), "dc1", (-5, 9_000_000_000_000_000_000), "r1")
    assert place.release == "5.0.9"
    # One that has not joined has no tokens, and one that nobody knows yet no id.
    assert place.others == (Host(str(TWO), "dc1", (7,), "r2"),)
    assert place.addresses == {
        "10.0.0.2": str(TWO),
        "192.168.0.2": str(TWO),
        "10.0.0.3": str(UUID(int=3)),
    }
    held = place.primaries("node1").holds("ks", np.array([-6, -5, -4, 7, 8], np.int64))
    assert held.tolist() == [True, True, False, False, True]


def test_tokens_of_another_partitioner_tell_nothing() -> None:
    other = (
        *LOCAL[:4],
        "org.apache.cassandra.dht.RandomPartitioner",
        {"170141183460469231731687303715884105727"},
        "5.0.9",
    )
    place = place_of(FakeSession(system__local=[other]), "node1")
    assert place.origin.cluster == "shop"
    with pytest.raises(UsageError, match=r"a row's token is Murmur3's.*RandomPartitioner"):
        place.primaries("node1")


@pytest.mark.parametrize("rows", [[], [(*LOCAL[:5], None, LOCAL[6])]])
def test_one_that_does_not_know_itself_yet(rows: list[tuple[Any, ...]]) -> None:
    with pytest.raises(SystemFailedError, match=r"does not say where it stands \(node1\)"):
        place_of(FakeSession(system__local=rows), "node1")


class Changing(FakeSession):
    """A keyspace is created between the reading of two tables; `for_ever`: again and again."""

    def __init__(self, *, for_ever: bool = False) -> None:
        super().__init__()
        self.asked = 0
        self._for_ever = for_ever

    def execute(self, query: str, *, timeout: float) -> Iterator[tuple[Any, ...]]:
        self.asked += 1
        name = query.rpartition(" ")[2]
        if name == "system.local" and (self.asked > 3 if not self._for_ever else True):
            number = self.asked if self._for_ever else 1
            self.answers["system.peers"] = [(TWO, "dc1", {str(number)}, "r2", "10.0.0.2", "192.168.0.2")]
        return super().execute(query, timeout=timeout)


def test_its_tables_are_taken_of_one_moment() -> None:
    session = Changing()
    assert place_of(session, "node1").others == (Host(str(TWO), "dc1", (1,), "r2"),)
    assert session.asked == 9


def test_a_ring_that_never_stays_the_same_is_not_taken() -> None:
    with pytest.raises(SystemFailedError, match="two equal readings"):
        place_of(Changing(for_ever=True), "node1")
