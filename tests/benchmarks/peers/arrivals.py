"""A consumer as a process of its own: notes when each row came, and says so at its end (SIGTERM).

    python -m tests.benchmarks.peers.arrivals OUT lines COMMAND ...      # a command's standard output
    python -m tests.benchmarks.peers.arrivals OUT python FOLDER TABLE STATE  # tailer.open(...).follow()
    python -m tests.benchmarks.peers.arrivals OUT kafka BOOTSTRAP TOPIC  # a topic's messages

OUT becomes a JSON list of `[number, seconds, milliseconds]`: the row's key, when it was here (`perf_counter`), and for
Kafka's messages when they were given to the producer (their own timestamp). Nothing is parsed before the end.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

KEY = "seq"
"""The only key column of the table that is written."""

_NUMBER = re.compile(rb'"%s":\s*(\d+)' % KEY.encode())


class Ended(BaseException):
    """SIGTERM: what came until now is all."""


class Arrival(NamedTuple):
    """What came at once, when, and when it was sent; `numbers` where they are known already."""

    seconds: float
    data: bytes
    sent: int | None = None
    numbers: Sequence[int] | None = None


def lines(arrived: list[Arrival], *command: str) -> None:
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            ready()
            while data := os.read(process.stdout.fileno(), 1 << 20):
                arrived.append(Arrival(time.perf_counter(), data))
        finally:
            process.terminate()


def python(arrived: list[Arrival], folder: str, table: str, state: str) -> None:
    import tailer

    ready()
    for batch in tailer.open(Path(folder), table=table, state=Path(state)).follow():
        arrived.append(Arrival(time.perf_counter(), b"", numbers=batch.column(KEY).to_pylist()))


def kafka(arrived: list[Arrival], bootstrap: str, topic: str) -> None:
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "arrivals", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    ready()
    while True:
        # `consume` would wait until so many are there.
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            arrived.append(Arrival(time.perf_counter(), message.key(), sent=message.timestamp()[1]))


def ready() -> None:
    sys.stdout.write("ready\n")
    sys.stdout.flush()


def rows(arrived: Sequence[Arrival]) -> Iterator[tuple[int, float, int | None]]:
    """Each row with when it came: a line is there when its end is."""
    rest = b""
    for came in arrived:
        if came.numbers is not None:
            yield from ((number, came.seconds, None) for number in came.numbers)
        elif came.sent is not None:
            yield from ((int(number), came.seconds, came.sent) for number in _NUMBER.findall(came.data))
        else:
            *whole, rest = (rest + came.data).split(b"\n")
            for line in whole:
                yield from ((int(number), came.seconds, None) for number in _NUMBER.findall(line)[:1])


KINDS = {"lines": lines, "python": python, "kafka": kafka}


def main(out: Path, kind: str, words: Sequence[str]) -> None:
    def end(*_: object) -> None:
        raise Ended

    signal.signal(signal.SIGTERM, end)
    arrived: list[Arrival] = []
    with contextlib.suppress(Ended):
        KINDS[kind](arrived, *words)
    out.write_text(json.dumps(list(rows(arrived))))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
