"""How long from a durable section to the subscriber that waits for it, beside a bare `queue.Queue`?

One thread hands over one thing after another, with a pause in between, to another one that waits; counted is the time
from right before the hand-over to the moment when the waiting thread has it. (a) `queue.Queue`: put and get. (b) the
buffer that a log feeds after each fsync: feed and take, the section as it lies. (c) a whole subscription: the same, and
the section made into an Arrow batch. (d) a consumer object (`log.run`): the same, with rows decoded ahead in a thread
and handed to another one, which calls `on_changes`. Blocks of the four take turns.

    python -m tests.benchmarks.handover --keep
"""

from __future__ import annotations

import queue
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from tailer.position import Position
from tests.benchmarks.measured import figure, percentiles
from tests.benchmarks.script import Begun, publish, script_parser
from writer_hooks import SegmentLog, Table, batch
from writer_hooks.buffer import Absent, SectionBuffer, SyncedSection

NAME = "handover"
QUESTION = "How long from a durable section to its subscriber, beside a bare queue.Queue?"
TARGETS = {"p99_to_queue": 3.0}
BLOCK = 200
PAUSE_SECONDS = 0.001


class Row(msgspec.Struct):
    id: int
    text: str


TABLE = Table.of(Row, "shop.rows", key=["id"])


class Times:
    """When each thing was there."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def wait_for(self, count: int) -> None:
        while len(self.times) < count:
            time.sleep(0.0001)


class Waiting(Times):
    """A thread that takes what is handed over, and notes when it has it."""

    def __init__(self, take: Callable[[], object]) -> None:
        super().__init__()
        self._take = take
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while self._take() is not None:
            self.times.append(time.monotonic())


class BareQueue:
    """`queue.Queue`."""

    def __init__(self) -> None:
        self._queue: queue.Queue[int] = queue.Queue()
        self._waiting = Waiting(self._queue.get)

    def one(self, number: int) -> float:
        began = time.monotonic()
        self._queue.put(number)
        self._waiting.wait_for(number + 1)
        return self._waiting.times[number] - began


class Fed:
    """The buffer by itself: what a sync does behind its fsync, and what a subscriber waits in."""

    def __init__(self) -> None:
        self._at = Position(1, 50)
        self._buffer = SectionBuffer(self._at)
        self._buffer.hold(1 << 20)
        self._waiting = Waiting(self._take)

    def one(self, number: int) -> float:
        end = Position(1, self._buffer.end.offset + 308)
        began = time.monotonic()
        prev = self._buffer.end
        self._buffer.feed(SyncedSection(prev, prev, end, prev.offset, end.offset, bytes(300), end, time.monotonic()))
        self._waiting.wait_for(number + 1)
        return self._waiting.times[number] - began

    def _take(self) -> object:
        while True:
            found = self._buffer.take(self._at, 10)
            if isinstance(found, SyncedSection):
                self._at = found.end
                return found
            if found is not Absent.WAIT:
                return None


class Read(ABC):
    """A log and who reads it; counted from the moment when the fsync has returned."""

    def __init__(self, log: SegmentLog) -> None:
        self._log = log
        self._synced = 0.0
        log.hooks.append(self._note)
        self.waiting = self.read(log)

    @abstractmethod
    def read(self, log: SegmentLog) -> Times: ...

    def one(self, number: int) -> float:
        self._log.append(TABLE.insert(Row(number, "x" * 150))).wait()
        self.waiting.wait_for(number + 1)
        return self.waiting.times[number] - self._synced

    def _note(self, section: SyncedSection) -> None:
        self._synced = section.synced


class Subscribed(Read):
    """By a subscription."""

    def read(self, log: SegmentLog) -> Waiting:
        return Waiting(log.subscribe("latest").take)


class Consumer(Times):
    """A `ChangeConsumer` that notes when it has a row."""

    def start(self, state: object) -> None: ...

    def on_definitions(self, changes: object) -> None: ...

    def on_changes(self, batch: object) -> bool:
        self.times.append(time.monotonic())
        return True

    def stop(self) -> None: ...


class Handed(Read):
    """To a consumer object."""

    def read(self, log: SegmentLog) -> Consumer:
        consumer = Consumer()
        log.run_in_thread(consumer, start="latest")
        return consumer


def measure(rounds: int, folder: Path) -> dict[str, list[float]]:
    """Seconds of every hand-over, by case."""
    for name in ("subscription", "consumer"):
        (folder / name).mkdir()
    with (
        SegmentLog.open(folder / "subscription", [TABLE], sync=batch()) as log,
        SegmentLog.open(folder / "consumer", [TABLE], sync=batch()) as other,
    ):
        cases: dict[str, Callable[[int], float]] = {
            "queue": BareQueue().one,
            "buffer": Fed().one,
            "subscription": Subscribed(log).one,
            "consumer object": Handed(other).one,
        }
        found: dict[str, list[float]] = {name: [] for name in cases}
        for block in range(rounds):
            for name, one in cases.items():
                for number in range(block * BLOCK, (block + 1) * BLOCK):
                    found[name].append(one(number))
                    time.sleep(PAUSE_SECONDS)
    # The first ones load what is loaded once.
    return {name: times[BLOCK:] if rounds > 1 else times for name, times in found.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = script_parser(NAME, QUESTION)
    parser.add_argument("--rounds", type=int, default=20, help="blocks of each case (default: %(default)s)")
    options = parser.parse_args(arguments)
    begun = Begun(NAME, QUESTION, TARGETS, options.rounds, Path("a log of its own"))
    with tempfile.TemporaryDirectory() as folder:
        found = measure(options.rounds, Path(folder))
    milliseconds = {name: percentiles(times) for name, times in found.items()}
    figures = []
    for name in ("buffer", "subscription", "consumer object"):
        for share in ("p50", "p99"):
            ratio = {"median": milliseconds[name][share] / milliseconds["queue"][share]}
            most = TARGETS["p99_to_queue"] if (name, share) == ("buffer", "p99") else None
            figures.append(figure(f"hand-over by {name}, {share}", "x queue.Queue", ratio, at_most=most))
    made = begun.result(figures=figures, runs=milliseconds)
    publish(made, options.keep)


if __name__ == "__main__":
    main()
