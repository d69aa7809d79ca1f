"""The doors of a log for readers in its own process. Each loads what reads when it is first opened."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tailer.limits import MIB
from writer_hooks.subscribe import Subscribers

if TYPE_CHECKING:
    from tailer.tail.run import ChangeConsumer, Running
    from writer_hooks.consume import AsyncChangeConsumer
    from writer_hooks.subscription import Subscription

BUFFER_BYTES = 16 * MIB


class ReadHere(ABC):
    """What `SegmentLog` is for readers."""

    @abstractmethod
    def _readers(self) -> Subscribers:
        """Raises where nobody can read here."""

    def subscribe(
        self,
        start: str = "earliest",
        *,
        consumer: str | None = None,
        buffer_bytes: int = BUFFER_BYTES,
        **options: Any,
    ) -> Subscription:
        """The log's changes, for a thread or a task of this process: from memory, and from files where it falls behind.

        `start`: `earliest`, `latest` or `segment:offset`, for a first start; a `consumer` that has committed goes on
        behind that. `buffer_bytes`: how much of the newest is kept in memory for it. `options`: as in `tailer.open`
        (`tables`, `table`, `on_error`, …). Raises as that does.
        """
        return self._readers().subscribe(start, consumer, buffer_bytes, options)

    def run(
        self,
        consumer: ChangeConsumer,
        *,
        name: str | None = None,
        start: str = "earliest",
        buffer_bytes: int = BUFFER_BYTES,
        stopping: Callable[[], bool] = lambda: False,
        say: Callable[[str], None] = lambda line: None,
        **options: Any,
    ) -> None:
        """Hand the log's changes to `consumer`, as `tailer.run` does, right after their fsync, until `stopping()` says
        so or the log is closed and everything was handed out.

        Rows are decoded ahead in a thread, by a few batches. `name`: under which positions are kept, so that a later
        run goes on there; None keeps none. `say` takes notices, in that thread. The rest as in `subscribe`. Raises what
        the consumer raises, and `tailer.errors`.
        """
        from writer_hooks.consume import consume

        consume(self._readers().steps(start, name, buffer_bytes, options, say), consumer, stopping)

    def run_in_thread(
        self,
        consumer: ChangeConsumer,
        *,
        name: str | None = None,
        start: str = "earliest",
        buffer_bytes: int = BUFFER_BYTES,
        say: Callable[[str], None] = lambda line: None,
        **options: Any,
    ) -> Running:
        """`run`, in a thread of its own. Several stand side by side, each with its `name`.

        What keeps it from beginning is raised here; what is appended from now on it hands out before the log's end.
        """
        from tailer.tail.run import in_thread
        from writer_hooks.consume import consume

        steps = self._readers().steps(start, name, buffer_bytes, options, say)
        return in_thread(lambda stopping: consume(steps, consumer, stopping), f"cdc-{name or 'run'}")

    async def run_async(
        self,
        consumer: AsyncChangeConsumer,
        *,
        name: str | None = None,
        start: str = "earliest",
        buffer_bytes: int = BUFFER_BYTES,
        stopping: Callable[[], bool] = lambda: False,
        say: Callable[[str], None] = lambda line: None,
        **options: Any,
    ) -> None:
        """`run` for an event loop, which stays free: methods of `consumer` may be coroutines, and are called on it.

        Cancelled, it calls `stop` and saves nothing more than was said to be safe.
        """
        from writer_hooks.consume import consume_async

        readers = self._readers()
        await consume_async(lambda: readers.steps(start, name, buffer_bytes, options, say), consumer, stopping)
