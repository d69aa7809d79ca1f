"""Who reads the live log in the benchmark: each with its processes, started, watched, asked at the end what came."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import psutil

from tests.benchmarks.measured import FOLLOW, ROOT, environment
from tests.benchmarks.peers.debezium import TOPICS, Debezium
from tests.helpers.jvm.program import running
from tests.helpers.kafka_broker import Broker
from tests.server.harness import Node

PATIENCE_SECONDS = 60


class Arrived(NamedTuple):
    """When a row came, and, where the message says so, when it was handed to Kafka (milliseconds since 1970)."""

    seconds: float
    sent: int | None


class Consumer:
    """An `arrivals` process and, for CPU, the processes that bring it rows; `rows` once it is closed."""

    def __init__(self, out: Path, *words: str) -> None:
        self._out = out
        command = [sys.executable, "-m", "tests.benchmarks.peers.arrivals", str(out), *words]
        self._process = subprocess.Popen(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        if self._process.stdout.readline() != b"ready\n":
            raise RuntimeError(f"{' '.join(words)}: ended with {self._process.wait()}")

    @property
    def process(self) -> psutil.Process:
        return psutil.Process(self._process.pid)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(PATIENCE_SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()
        if code:
            raise RuntimeError(f"a consumer ended with {code}: {self._out.name}")

    def rows(self) -> dict[int, Arrived]:
        """By the row's number; of one that came more than once, the first time."""
        found: dict[int, Arrived] = {}
        for number, seconds, sent in json.loads(self._out.read_text()):
            found.setdefault(number, Arrived(seconds, sent))
        return found


class Reader(NamedTuple):
    """A running reader: who notes its rows, and whose processor time counts as its own."""

    consumer: Consumer
    processes: Mapping[str, psutil.Process]

    def cpu(self) -> dict[str, float]:
        """Seconds of processor until now, by process."""
        return {name: sum(process.cpu_times()[:2]) for name, process in self.processes.items()}


class Bench(NamedTuple):
    """What all readers are given."""

    node: Node
    broker: Broker
    parent: Path
    keyspace: str
    table: str

    @property
    def topic(self) -> str:
        return f"{TOPICS}.{self.keyspace}.{self.table}"

    def make_topic(self, name: str) -> None:
        """Makes a topic with one partition, so that it is there before the first row."""
        from confluent_kafka.admin import AdminClient, NewTopic

        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap})
        for made in admin.create_topics([NewTopic(name, num_partitions=1, replication_factor=1)]).values():
            made.result(30)


@contextmanager
def follow(bench: Bench, here: Path) -> Iterator[Reader]:
    """`cdc-tail follow --output json`, its lines read from a pipe."""
    command = [*FOLLOW, str(bench.node.cdc_raw), "--output", "json", "--table", f"{bench.keyspace}.{bench.table}"]
    with _consumer(here, "lines", *command, "--state", str(here / "state")) as consumer:
        (child,) = consumer.process.children()
        yield Reader(consumer, {"follow": child})


@contextmanager
def python(bench: Bench, here: Path) -> Iterator[Reader]:
    """`tailer.open(...).follow()`, typed, in the consumer's own process."""
    with _consumer(
        here, "python", str(bench.node.cdc_raw), f"{bench.keyspace}.{bench.table}", str(here / "state")
    ) as made:
        yield Reader(made, {"python": made.process})


@contextmanager
def debezium(bench: Bench, here: Path) -> Iterator[Reader]:
    """The connector, a Kafka broker, and a consumer of it in Python."""
    with (
        running(Debezium(here / "connector", bench.node, bench.broker, bench.node.cdc_raw)) as connector,
        _consumer(here, "kafka", bench.broker.bootstrap, bench.topic) as consumer,
    ):
        processes = {"connector": connector.pid, "broker": bench.broker.pid}
        named = {name: psutil.Process(pid) for name, pid in processes.items()}
        yield Reader(consumer, {**named, "consumer": consumer.process})


@contextmanager
def outlet(bench: Bench, here: Path, *more: str) -> Iterator[Reader]:
    """`cdc-tail follow --to kafka`, a Kafka broker, and a consumer of it in Python, which reads committed messages."""
    topic = f"{here.parent.name}-{here.name}"
    bench.make_topic(topic)
    words = ["--node", "n1", "--consumer", "bench", "--state", str(here / "state"), "--topic", topic]
    words += ["--table", f"{bench.keyspace}.{bench.table}", "--to", "kafka", "--brokers", bench.broker.bootstrap]
    command = [*FOLLOW, str(bench.node.cdc_raw), *words, "--create-topics", *more]
    with (here / "said.txt").open("wb") as said, _consumer(here, "kafka", bench.broker.bootstrap, topic) as consumer:
        process = subprocess.Popen(command, cwd=ROOT, env=environment(), stderr=said)
        try:
            named = {"follow": process.pid, "broker": bench.broker.pid}
            yield Reader(
                consumer, {**{name: psutil.Process(pid) for name, pid in named.items()}, "consumer": consumer.process}
            )
            assert process.poll() is None, (here / "said.txt").read_text()
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)


def outlet_at_least_once(bench: Bench, here: Path) -> AbstractContextManager[Reader]:
    """The same without transactions."""
    return outlet(bench, here, "--at-least-once")


@contextmanager
def _consumer(here: Path, *words: str) -> Iterator[Consumer]:
    with ExitStack() as ends:
        consumer = Consumer(here / "arrivals.json", *words)
        ends.callback(consumer.close)
        yield consumer


READERS: Mapping[str, Callable[[Bench, Path], AbstractContextManager[Reader]]] = {
    "follow": follow,
    "python": python,
    "debezium": debezium,
    "outlet": outlet,
    "outlet_at_least_once": outlet_at_least_once,
}
