"""Runs of images over log folders in this process, and every place at which one may be killed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailer.image_state.file import ImageFile
from tailer.image_state.one_transaction import ImageBatch, Transaction
from tailer.options.tail import TailOptions
from tailer.options.token_range import TokenRange
from tailer.schema.selection import Selection
from tailer.tail.deliver import deliver
from tailer.tail.images.feed import ImageFeed
from tailer.tail.images.stream import ImageStream
from tailer.tail.images.timers import Timers
from tailer.tail.tail import Tail
from tests.helpers.outlets import Killed
from tests.helpers.tails import tail_parts

NOW = 1_800_000_000.0


@dataclass
class Taker:
    """Whoever gets images. `fails`: asked before and after each batch, by its number among all calls."""

    lines: list[str] = field(default_factory=list)
    calls: int = 0
    fails: Callable[[int, str], None] = lambda number, when: None

    def give(self, batch: ImageBatch) -> bool:
        number, self.calls = self.calls, self.calls + 1
        self.fails(number, "before")
        self.lines += batch.rows(before=True).json_lines().decode().splitlines()
        self.fails(number, "after")
        return True

    @property
    def images(self) -> list[dict[str, Any]]:
        """All, in the order in which they came, repeated ones too."""
        return [json.loads(line) for line in self.lines]

    @property
    def once(self) -> list[dict[str, Any]]:
        """Each once by row and seq; the same one may have come again, no other one."""
        found: dict[str, str] = {}
        for line in self.lines:
            image = json.loads(line)
            key = json.dumps([image[name] for name in KEY])
            assert found.setdefault(key, line) == line, "another image under the same key"
        return [json.loads(line) for line in found.values()]


KEY = ("table_id", "token", "partition_key", "clustering", "is_static", "seq")


class DyingFile(ImageFile):
    """The file of a process that is killed at one of its transactions. `fails`: as of `Taker`."""

    def __init__(self, folder: Path, fails: Callable[[int, str], None], count: list[int]) -> None:
        super().__init__(folder)
        self._fails = fails
        self._count = count

    def write(self, work: Callable[[Transaction], Any]) -> Any:
        number = self._count[0]
        self._count[0] += 1

        def dying(transaction: Transaction) -> Any:
            made = work(transaction)
            self._fails(number, "before")
            return made

        made = super().write(dying)
        self._fails(number, "after")
        return made


@dataclass
class Runs:
    """Runs over the logs of some nodes under one consumer, each of which does not wait."""

    logs: Mapping[str, Path]
    folder: Path
    taker: Taker = field(default_factory=Taker)
    fails: Callable[[int, str], None] = lambda number, when: None
    transactions: list[int] = field(default_factory=lambda: [0])
    wall: Callable[[], float] = lambda: NOW
    tokens: TokenRange | None = None
    consumer: str = "c"
    gc_grace_seconds: int | None = None
    tables: tuple[str, ...] = ()
    said: list[str] = field(default_factory=list)

    def stream(self) -> ImageStream:
        return ImageStream(
            DyingFile(self.folder, self.fails, self.transactions),
            self.consumer,
            list(self.logs),
            self.taker.give,
            tokens="" if self.tokens is None else str(self.tokens),
            wall=self.wall,
            gc_grace_seconds=self.gc_grace_seconds,
            selection=Selection(self.tables).canonical,
        )

    def run(self, *nodes: str, **options: Any) -> None:
        """Each node's log to its end, one after the other."""
        with ExitStack() as end:
            stream = self.stream()
            # A process that is killed gives its file back, and does nothing else.
            end.callback(stream._file.close)
            stream.open()
            for node in nodes or self.logs:
                self.feed(stream, node, **options)
            self.ended()
            stream.close()

    def ended(self) -> None:
        """No more images come."""

    def feed(self, stream: ImageStream, node: str, **options: Any) -> None:
        chosen = TailOptions(
            consumer=self.consumer,
            node=node,
            tables=self.tables,
            settle_seconds=0.0,
            outlet=True,
            schema_changes=True,
            **options,
        )
        with Tail(tail_parts(self.logs[node], chosen, wall=self.wall), None) as tail:
            timers = Timers(stream, self.said.append)
            feed = ImageFeed(tail, stream, timers, self.said.append, tokens=self.tokens)
            deliver(feed, once=True, say=self.said.append)

    def until_done(self, **options: Any) -> int:
        """Runs until one is not killed; how many were."""
        for killed in range(200):
            try:
                self.run(**options)
            except Killed:
                continue
            return killed
        raise AssertionError("it never ends")
