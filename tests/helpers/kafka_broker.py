"""A real Kafka broker in KRaft mode, one process that is broker and controller, as a subprocess.

Kept in one folder, on a loopback address with free ports; killed and started again it has what it had. Knows nothing of
who writes to it or reads from it.
"""

from __future__ import annotations

import functools
import importlib.util
import socket
import subprocess
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from pathlib import Path

from tests.helpers.certificate import make_certificate
from tests.helpers.jvm.jars import Artifact, cache, jars_of, java, lacking
from tests.helpers.jvm.program import Program, StartFailed, free_ports, own_address

VERSION = "4.1.0"
START_SECONDS = 90

_KAFKA = Artifact("org.apache.kafka", "kafka_2.13", VERSION)
_LOGGING = Artifact("org.apache.logging.log4j", "log4j-slf4j-impl", "2.24.3")
_LOG4J = """rootLogger.level = WARN
rootLogger.appenderRef.out.ref = out
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{HH:mm:ss.SSS} %-5p %c{1} - %m%n
"""


@functools.cache
def jars() -> Path:
    """The broker's jars; raises Unavailable."""
    java()
    return jars_of(cache() / "kafka" / VERSION, _KAFKA, _LOGGING)


def available() -> str | None:
    """Why there can be no broker and no client of it here, or None. Brings the jars at the first call (a minute)."""
    if importlib.util.find_spec("confluent_kafka") is None:
        return "the Python package confluent-kafka is not installed"
    return lacking(jars)


class Broker:
    """One broker in `folder`. `settings` are properties of server.properties over ours.

    `users`: with their passwords; there is a second listener then, for them alone (TLS with `certificate`, SASL PLAIN),
    and they may do nothing but what an ACL says. Whoever comes by the first listener may do everything.
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, object] | None = None,
        *,
        heap: str = "512m",
        users: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder.resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.address = own_address()
        self.port, self._controller_port, self._users_port = free_ports(self.address, 3)
        self._options = (f"-Xmx{heap}", "-XX:+UseSerialGC", f"-Dlog4j2.configurationFile={self._file('log4j2')}")
        self._program: Program | None = None
        self.certificate: Path | None = None
        self._file("log4j2").write_text(_LOG4J)
        made = self._settings() | self._for_users(users or {}) | dict(settings or {})
        self._file("server").write_text("".join(f"{name}={value}\n" for name, value in made.items()))

    @property
    def bootstrap(self) -> str:
        """What a client is given: `HOST:PORT`."""
        return f"{self.address}:{self.port}"

    @property
    def for_users(self) -> str:
        """What a client is given that has a user's name and password."""
        return f"{self.address}:{self._users_port}"

    @property
    def running(self) -> bool:
        return self._program is not None and self._program.running

    @property
    def pid(self) -> int:
        assert self._program is not None
        return self._program.pid

    def start(self) -> None:
        """Runs the broker until it takes connections; raises StartFailed. A new folder is formatted first."""
        if self.running:
            raise RuntimeError("the broker is running already")
        if not (self.folder / "data" / "meta.properties").exists():
            self._format()
        self._program = Program(
            self.folder / "broker.log",
            [f"{jars()}/*"],
            self._options,
            ["kafka.Kafka", str(self._file("server"))],
        )
        self._program.await_answer(self._answers, START_SECONDS)

    def kill(self) -> None:
        """SIGKILL, and gone when this returns. Nothing to do if it is not running."""
        if self._program is not None:
            self._program.kill()

    def stop(self) -> None:
        """Ends the broker in an orderly way."""
        if self._program is not None:
            self._program.stop()

    def _answers(self) -> bool:
        try:
            socket.create_connection((self.address, self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def _format(self) -> None:
        """As `kafka-storage.sh format`: a data folder without an id is refused by the broker."""
        # An id may begin with a hyphen; the tool takes such a one for an option of its own, so Kafka makes none.
        cluster = "c" + urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")[1:]
        words = ["kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(self._file("server"))]
        command = [str(java()), *self._options, "-cp", f"{jars()}/*", *words]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=START_SECONDS)
        if ran.returncode != 0:
            raise StartFailed(f"the broker's folder could not be formatted:\n{ran.stdout}{ran.stderr}")

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.properties"

    def _settings(self) -> dict[str, object]:
        return {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@{self.address}:{self._controller_port}",
            "listeners": f"PLAINTEXT://{self.bootstrap},CONTROLLER://{self.address}:{self._controller_port}",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": self.folder / "data",
            "num.partitions": 1,
            # A lone broker: it holds every replica, and no group need wait for a second member.
            "default.replication.factor": 1,
            "offsets.topic.replication.factor": 1,
            "offsets.topic.num.partitions": 1,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "transaction.state.log.num.partitions": 1,
            "group.initial.rebalance.delay.ms": 0,
        }

    def _for_users(self, users: Mapping[str, str]) -> dict[str, object]:
        if not users:
            return {}
        self.certificate, both = make_certificate(self.folder, self.address)
        ours = self._settings()
        login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
        known = " ".join(f'user_{name}="{password}"' for name, password in users.items())
        return {
            "listeners": f"{ours['listeners']},SASL_SSL://{self.for_users}",
            "advertised.listeners": f"{ours['advertised.listeners']},SASL_SSL://{self.for_users}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": both,
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_ssl.plain.sasl.jaas.config": f"{login} {known};",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }
