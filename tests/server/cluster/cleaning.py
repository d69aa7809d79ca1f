"""`clean` for the nodes' log folders every few seconds, as a timer on each node would run it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tailer.retention.clean import clean
from tailer.retention.needed import Ages
from tests.helpers.again import again
from tests.server.cluster.cluster import ClusterNode

EVERY_SECONDS = 5.0
AGES: Final = Ages(captured=2.0, bare=60.0)
"""Not a minute: a small disk is to have room again while a test waits."""


class Cleaning:
    """Cleans `nodes`, which may be changed. `taken`: how many segments went."""

    def __init__(self) -> None:
        self.nodes: list[ClusterNode] = []
        self.taken: dict[str, int] = {}

    def clean(self) -> None:
        for node in list(self.nodes):
            gone = clean(node.cdc_raw, ages=AGES).logs
            self.taken[node.name] = self.taken.get(node.name, 0) + len(gone)


@contextmanager
def cleaning() -> Iterator[Cleaning]:
    """It cleans as long as the block lasts."""
    made = Cleaning()
    with again(made.clean, EVERY_SECONDS, "cleaning"):
        yield made
