"""Kafka Connect's runtime with its file sink, as a subprocess: a foreign reader of our topics. Jars from Maven."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from tests.helpers.jvm.jars import Artifact, cache, jars_of, lacking
from tests.helpers.jvm.program import Program, free_ports
from tests.helpers.kafka_broker import VERSION, Broker

START_SECONDS = 120

_RUNTIME = Artifact("org.apache.kafka", "connect-runtime", VERSION)
_FILE = Artifact("org.apache.kafka", "connect-file", VERSION)
_JSON = Artifact("org.apache.kafka", "connect-json", VERSION)


@functools.cache
def jars() -> Path:
    """Raises Unavailable."""
    return jars_of(cache() / "kafka-connect" / VERSION, _RUNTIME, _FILE, _JSON)


def available() -> str | None:
    """Why there can be none here, or None."""
    return lacking(jars)


class FileSink:
    """Connect, standalone, with one connector that appends the values of some topics to `file`, a line each.

    Keys are read as JSON, values as text; of transactions what was committed.
    """

    def __init__(self, folder: Path, broker: Broker, topics: Sequence[str]) -> None:
        self.file = folder / "sink.txt"
        self._folder = folder
        self._broker = broker
        self._topics = topics
        self._program: Program | None = None

    def start(self) -> None:
        """Returns once the worker runs; raises StartFailed."""
        port = free_ports(self._broker.address, 1)[0]
        worker = self._properties(
            "worker",
            {
                "bootstrap.servers": self._broker.bootstrap,
                "listeners": f"HTTP://{self._broker.address}:{port}",
                "key.converter": "org.apache.kafka.connect.json.JsonConverter",
                "key.converter.schemas.enable": "false",
                "value.converter": "org.apache.kafka.connect.storage.StringConverter",
                "offset.storage.file.filename": self._folder / "offsets",
                "offset.flush.interval.ms": 1000,
                "plugin.discovery": "service_load",
                "plugin.path": jars(),
                "consumer.isolation.level": "read_committed",
            },
        )
        sink = self._properties(
            "sink",
            {
                "name": "file",
                "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
                "topics": ",".join(self._topics),
                "file": self.file,
                "errors.tolerance": "none",
            },
        )
        main = "org.apache.kafka.connect.cli.ConnectStandalone"
        options = ("-Xmx256m", "-XX:+UseSerialGC")
        self._program = Program(self._folder / "connect.log", [f"{jars()}/*"], options, [main, str(worker), str(sink)])
        self._program.await_answer(self.file.exists, START_SECONDS)

    def said(self) -> str:
        assert self._program is not None
        return self._program.said()

    def kill(self) -> None:
        if self._program is not None:
            self._program.kill()

    def _properties(self, name: str, settings: dict[str, object]) -> Path:
        file = self._folder / f"{name}.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        return file
