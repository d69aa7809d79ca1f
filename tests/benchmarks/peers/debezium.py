"""Debezium's connector for Cassandra 5 as a subprocess beside a node of `tests/server`: Maven's jars, a real Kafka.

It reads the schema over CQL from the live node, and the segments of a `cdc_raw` that its own copy of cassandra.yaml
names, which may be another folder than the node's. It moves each finished segment out of there.
"""

from __future__ import annotations

import functools
import json
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from tests.helpers.jvm.jars import Artifact, cache, jars_of, lacking
from tests.helpers.jvm.program import Program, free_ports
from tests.helpers.kafka_broker import Broker
from tests.server.harness import JAVA_17, Node

VERSION = "3.4.1.Final"
TOPICS = "peer"
"""The first part of every topic's name: `peer.KEYSPACE.TABLE`."""
START_SECONDS = 120

# Confluent's converters are not on Maven Central; the connector's own are Kafka's, which write JSON.
_CONNECTOR = Artifact("io.debezium", "debezium-connector-cassandra-5", VERSION, without=("io.confluent",))
# Maven takes the older of two, which Kafka's converter does not work with; Debezium's own parts bring this one.
_JACKSON = Artifact("com.fasterxml.jackson.core", "jackson-databind", "2.19.2")

TUNED = {
    # Segments are read while the server writes them, and looked at a thousand times a second: both defaults are ten
    # seconds, and to wait until the segment is full.
    "commit.log.real.time.processing.enabled": "true",
    "commit.log.marked.complete.poll.interval.ms": 1,
    "cdc.dir.poll.interval.ms": 1,
    "poll.interval.ms": 1,
    "kafka.producer.linger.ms": 0,
    # By default it writes its position behind every single row.
    "offset.flush.interval.ms": 1000,
    "max.offset.flush.size": 1_000_000,
}
"""What differs from its defaults for the sake of speed."""

FOR_A_BACKLOG = {
    **TUNED,
    "max.queue.size": 65_536,
    "max.batch.size": 16_384,
    "kafka.producer.linger.ms": 5,
    "kafka.producer.batch.size": 262_144,
}

_LOGBACK = """<configuration>
  <appender name="out" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d{HH:mm:ss.SSS} %-5level %logger{0} - %msg%n%ex{3}</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="out"/></root>
</configuration>
"""


@functools.cache
def jars() -> Path:
    """The connector's jars; raises Unavailable."""
    return jars_of(cache() / "debezium" / VERSION, _CONNECTOR, _JACKSON)


def available() -> str | None:
    """Why the connector cannot run here, or None."""
    return lacking(jars)


class Debezium:
    """The connector, with its offsets and what it moved away in `folder`."""

    def __init__(
        self,
        folder: Path,
        node: Node,
        broker: Broker,
        cdc_raw: Path,
        settings: Mapping[str, object] = TUNED,
        *,
        heap: str = "1g",
    ) -> None:
        self.folder = folder
        self._address = node.address
        (self._port,) = free_ports(node.address, 1)
        self._heap = heap
        self._program: Program | None = None
        folder.mkdir(parents=True)
        self._write_conf(node, broker, cdc_raw, settings)

    @property
    def pid(self) -> int:
        assert self._program is not None
        return self._program.pid

    @property
    def running(self) -> bool:
        return self._program is not None and self._program.running

    def start(self) -> None:
        """Runs the connector until it reads the log; raises StartFailed."""
        options = [
            f"-Xmx{self._heap}",
            "-XX:+UseSerialGC",
            *JAVA_17,
            f"-Dlogback.configurationFile={self._file('logback.xml')}",
            f"-Dcassandra.storagedir={self._file('storage')}",
        ]
        words = ["io.debezium.connector.cassandra.CassandraConnectorTask", str(self._file("connector.properties"))]
        self._program = Program(self._file("connector.log"), [f"{jars()}/*"], options, words)
        self._program.await_answer(self._answers, START_SECONDS)

    def kill(self) -> None:
        """SIGKILL, and gone when this returns. Nothing to do if it is not running."""
        if self._program is not None:
            self._program.kill()

    def log(self) -> str:
        return self._file("connector.log").read_text(errors="replace")

    def _answers(self) -> bool:
        """Its web server is the last part that starts."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/ping", timeout=1):
                return True
        except OSError:
            return False

    def _file(self, name: str) -> Path:
        return self.folder / name

    def _write_conf(self, node: Node, broker: Broker, cdc_raw: Path, settings: Mapping[str, object]) -> None:
        yaml = json.loads((node.folder / "conf" / "cassandra.yaml").read_text())
        self._file("cassandra.yaml").write_text(json.dumps({**yaml, "cdc_raw_directory": str(cdc_raw)}, indent=1))
        self._file("logback.xml").write_text(_LOGBACK)
        self._file("driver.conf").write_text(
            "datastax-java-driver {\n"
            f'  basic.contact-points = ["{node.address}:{node.cql_port}"]\n'
            "  basic.load-balancing-policy.local-datacenter = datacenter1\n"
            "}\n"
        )
        given = {
            "topic.prefix": TOPICS,
            "snapshot.mode": "NEVER",
            "cassandra.config": self._file("cassandra.yaml"),
            "cassandra.driver.config.file": self._file("driver.conf"),
            "cassandra.cluster.name": yaml["cluster_name"],
            "cassandra.node.id": "local",
            "http.port": self._port,
            "offset.backing.store.dir": self._file("offsets"),
            "commit.log.relocation.dir": self._file("relocated"),
            "commit.log.post.processing.enabled": "false",
            "kafka.producer.bootstrap.servers": broker.bootstrap,
            **{
                f"{part}.converter{more}": value
                for part in ("key", "value")
                for more, value in (("", "org.apache.kafka.connect.json.JsonConverter"), (".schemas.enable", "false"))
            },
            **settings,
        }
        self._file("connector.properties").write_text("".join(f"{name}={value}\n" for name, value in given.items()))
