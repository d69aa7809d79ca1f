"""`clean` for the nodes' log folders every few seconds, as a timer on each node would run it."""

from __future__ import annotations

import threading
from typing import Final

from tailer.retention.clean import clean
from tailer.retention.needed import Ages
from tests.server.cluster.cluster import ClusterNode

EVERY_SECONDS = 5.0
AGES: Final = Ages(captured=2.0, bare=60.0)
"""Not a minute: a small disk is to have room again while a test waits."""


class Cleaning:
    """Runs as long as its block lasts, over `nodes`, which may be changed. `taken`: how many segments went."""

    def __init__(self) -> None:
        self.nodes: list[ClusterNode] = []
        self.taken: dict[str, int] = {}
        self._failure: Exception | None = None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="cleaning")

    def __enter__(self) -> Cleaning:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            while not self._end.wait(EVERY_SECONDS):
                for node in list(self.nodes):
                    gone = clean(node.cdc_raw, ages=AGES).logs
                    self.taken[node.name] = self.taken.get(node.name, 0) + len(gone)
        except Exception as failure:
            self._failure = failure
