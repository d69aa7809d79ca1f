"""The numbers of a node as metrics: what a look has seen, and what the node says of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tailer.metrics import declared as m
from tailer.metrics.samples import Sample
from tailer.node_page.facts import Served
from tailer.node_page.look import Look
from tailer.node_page.shown import CONSUMERS_MAX, worst


class NodeFigures:
    """A source of samples; for any thread. `look`: the last one, None where the folder cannot be looked at."""

    def __init__(
        self, node: str, look: Callable[[], Look | None], served: Callable[[], Served], wall: Callable[[], float]
    ) -> None:
        self._node = node
        self._look = look
        self._served = served
        self._wall = wall

    def samples(self) -> Iterator[Sample]:
        look = self._look()
        yield Sample(m.FOLDER_READABLE, (self._node,), look is not None)
        if look is not None:
            yield from self._folder(look)
            yield from self._consumers(look)
        yield from self._service(self._served())

    def _folder(self, look: Look) -> Iterator[Sample]:
        node, status = (self._node,), look.status
        yield Sample(m.FOLDER_BYTES, node, status.bytes)
        yield Sample(m.FOLDER_SEGMENTS, node, len(status.segments))
        yield Sample(m.FOLDER_CAP, node, status.cap.bytes)
        yield Sample(m.CLEANABLE, node, status.clean.bytes)
        yield Sample(m.VOLUME_FREE, node, look.volume_free)
        yield Sample(m.STATE_BYTES, node, status.state.bytes)
        yield Sample(m.STATE_PROBLEMS, node, len(look.problems))
        yield Sample(m.LOOKED, node, max(self._wall() - look.at, 0.0))

    def _consumers(self, look: Look) -> Iterator[Sample]:
        for each in worst(look.status.consumers):
            labels = each.consumer, each.node
            yield Sample(m.LAG_BYTES, labels, each.lag.bytes)
            yield Sample(m.LAG_SEGMENTS, labels, each.lag.segments)
            yield Sample(m.LAG_SECONDS, labels, each.lag.seconds)
            yield Sample(m.HOLDS, labels, each.holds.bytes)
            yield Sample(m.RUNNING, labels, each.running)
        kept: dict[tuple[str, str], int] = {}
        for key, entries in look.quarantine.items():
            labels = _label(key.consumer or m.NO_CONSUMER), key.node
            kept[labels] = kept.get(labels, 0) + entries
        for labels in sorted(kept)[:CONSUMERS_MAX]:
            yield Sample(m.KEPT, labels, kept[labels])

    def _service(self, served: Served) -> Iterator[Sample]:
        node = (self._node,)
        yield Sample(m.SERVED_BYTES, node, served.bytes)
        yield Sample(m.READERS, node, served.readers)
        yield Sample(m.CONNECTIONS, node, served.connections)
        yield Sample(m.LEASES, node, len(served.leases))
        for status, count in sorted(served.requests.items()):
            yield Sample(m.REQUESTS, (*node, str(status)), count)
        for kind, count in sorted(served.errors.items()):
            yield Sample(m.SERVED_ERRORS, (*node, kind), count)
        now = self._wall()
        for lease in served.leases[:CONSUMERS_MAX]:
            yield Sample(m.LEASE, (lease.consumer, *node), max(lease.ends - now, 0.0))


def _label(name: str) -> str:
    """A file's name may hold bytes that are no text, which no label can have."""
    return name.encode("utf-8", "replace").decode()
