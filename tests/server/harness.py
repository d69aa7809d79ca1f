"""A real Cassandra server with CDC, 5.0 or an older one, as a subprocess: start, commands, kill -9, start again, stop.

It is a cluster of its own unless its settings say otherwise (`cluster/` has several). It listens on a loopback address
of its own with free ports, and keeps everything in one folder. `Node.java` beside this
file is the process; `library.py` says whether this machine can run it. Knows nothing of the log's format.
"""

from __future__ import annotations

import collections
import os
import queue
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from tests.helpers.jvm.program import StartFailed, free_ports, own_address
from tests.server.cql import cql_session
from tests.server.library import NEWEST, Library, available, library
from tests.server.settings import yaml_of

__all__ = ["JAVA_17", "CommandFailed", "Node", "StartFailed", "available", "library"]

START_SECONDS = 600
COMMAND_SECONDS = 120
# Lets a server start over a torn sync marker that a kill left (4.1 and later); see Node.start_again.
FORGIVE_TORN_MARKER = "-Dcassandra.commitlog.allow_ignore_sync_crc=true"

# Cassandra's own launcher gives these for Java 17 (conf/jvm17-server.options of the distribution). Those of 4.0 and 4.1
# know no such Java, and their servers need the same.
_EXPORTS = [
    "java.base/java.lang.ref",
    "java.base/jdk.internal.misc",
    "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.server",
    "java.sql/java.sql",
    "jdk.unsupported/sun.misc",
]
_OPENS = [
    *(f"java.base/java.{name}" for name in ("io", "lang", "lang.module", "lang.reflect", "net", "nio", "util")),
    *(f"java.base/java.util.concurrent{name}" for name in ("", ".atomic")),
    *(f"java.base/jdk.internal.{name}" for name in ("loader", "math", "module", "ref", "reflect", "util.jar")),
    "java.base/sun.nio.ch",
    "java.rmi/sun.rmi.transport.tcp",
    "jdk.management/com.sun.management.internal",
]
JAVA_17 = (
    *(f"--add-exports={package}=ALL-UNNAMED" for package in _EXPORTS),
    *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENS),
)
"""What any program that uses Cassandra's classes must open to them."""
# A lone node need not wait for gossip, the ring or a superuser; the rest is what the launcher would set.
_PROPERTIES = {
    "cassandra-foreground": "true",
    "cassandra.ring_delay_ms": "0",
    "cassandra.skip_wait_for_gossip_to_settle": "0",
    "cassandra.superuser_setup_delay_ms": "0",
    "java.security.manager": "allow",
}
_LOGBACK = """<configuration>
  <appender name="file" class="ch.qos.logback.core.FileAppender">
    <file>{file}</file>
    <encoder><pattern>%d{{HH:mm:ss.SSS}} %-5level %logger{{0}} - %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="file"/></root>
</configuration>
"""


class CommandFailed(Exception):
    """The node answered a command with an error, or ended before it answered."""


class Node:
    """One server in `folder`. `settings` are cassandra.yaml keys over ours (None takes a key away), spelled as in 5.0.

    `version`: one of `library.VERSIONS`.
    `address`, `ports` (of CQL, of the other nodes): where it listens, instead of any free place. `logs`: the folder of
    its commit log and of `cdc_raw`, which links to it and so has to be on the same file system.
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, object] | None = None,
        *,
        version: str = NEWEST,
        heap: str = "1g",
        options: Sequence[str] = (),
        address: str | None = None,
        ports: Sequence[int] | None = None,
        logs: Path | None = None,
    ) -> None:
        self.folder = folder.resolve()
        self.version = version
        self.address = address or own_address()
        self.cql_port, self.storage_port = ports or free_ports(self.address, 2)
        self._logs = logs or self.folder
        self.drained = False
        self._heap = heap
        self._options = tuple(options)
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._write_conf(dict(settings or {}))

    @property
    def cdc_raw(self) -> Path:
        return self._logs / "cdc_raw"

    @property
    def commitlog(self) -> Path:
        return self._logs / "commitlog"

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    # --- life ---

    def start(self, *options: str) -> None:
        """Runs the server (with more JVM options) until its CQL port answers; raises StartFailed."""
        if self.running:
            raise RuntimeError("the node is running already")
        self._answers = queue.SimpleQueue()
        self.drained = False
        with (self.folder / "stderr.log").open("ab") as errors:
            self._process = subprocess.Popen(
                self._command(library(self.version), options),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                bufsize=1,
                start_new_session=True,  # Ctrl-C in the terminal is for the tests: they stop the node themselves
            )
        assert self._process.stdout is not None
        threading.Thread(target=_pump, args=(self._process.stdout, self._answers), daemon=True).start()
        try:
            self._await("@ready", START_SECONDS)
            self._await_port()
        except CommandFailed as failed:
            self.kill()
            raise StartFailed(f"{failed}; the end of its logs:\n{self.log_tail()}") from failed

    def start_again(self) -> bool:
        """Starts after a kill; True if a torn sync marker had to be forgiven for it (a kill leaves one, seldom).

        4.0 cannot forgive one: StartFailed, as long as the torn eight bytes are not zeroed by hand.
        """
        try:
            self.start()
        except StartFailed as failed:
            if "invalid CRC" not in str(failed) or self.version == "4.0":
                raise
            self.start(FORGIVE_TORN_MARKER)
            return True
        return False

    def kill(self) -> None:
        """SIGKILL, and gone when this returns. Nothing to do if it is not running."""
        if self._process is not None:
            self._process.kill()
            self._reap(self._process)

    def stop(self) -> None:
        """Ends the process in an orderly way (its shutdown hook drains it)."""
        if not self.running:
            self.kill()
            return
        assert self._process is not None
        self.command("quit")
        try:
            self._process.wait(COMMAND_SECONDS)
        finally:
            self.kill()

    # --- commands ---

    def sync(self) -> None:
        """Returns when all that was written is under a marker, fsynced, and in the sidecars."""
        self.command("sync")

    def recycle(self) -> None:
        """Closes the current segment and begins a new one."""
        self.command("recycle")

    def flush(self, keyspace: str) -> None:
        self.command("flush", keyspace)

    def drain(self) -> None:
        """As nodetool's: no writes any more, everything flushed, the current segment closed. `dump` still works."""
        self.command("drain")
        self.drained = True

    def dump(self, segment: Path, out: Path) -> int:
        """Writes the mutations of a segment, one a line, as the server's reader sees them *with the schema of now*.

        Gives their number. Where the reader stops at bytes it refuses, the last line is `{"problem": text}`.
        """
        return int(self.command("dump", str(segment), str(out))[0])

    def time(self, segment: Path, runs: int) -> list[tuple[int, float]]:
        """Reads a segment `runs` times with a handler that only counts: (mutations, seconds) of each."""
        words = self.command("time", str(segment), str(runs), seconds=COMMAND_SECONDS + 10.0 * runs)
        return [(int(count), float(taken)) for count, taken in zip(words[::2], words[1::2], strict=True)]

    def command(self, *words: str, seconds: float = COMMAND_SECONDS) -> list[str]:
        """Sends one command and gives the words of its answer; raises CommandFailed."""
        process = self._process
        if process is None or process.stdin is None or process.poll() is not None:
            raise CommandFailed(f"{words[0]}: the node is not running")
        process.stdin.write("\t".join(words) + "\n")
        process.stdin.flush()
        return self._await("@ok", seconds).split("\t")[1:]

    @contextmanager
    def session(self) -> Iterator[Any]:
        """A CQL session of cassandra-driver, for as long as the block lasts."""
        with cql_session([self.address], self.cql_port) as session:
            yield session

    def log_tail(self, lines: int = 25) -> str:
        """The last lines of the server's log and of its standard error."""
        found: collections.deque[str] = collections.deque(maxlen=2 * lines)
        for name in ("system.log", "stderr.log"):
            file = self.folder / name
            if file.exists():
                found.extend(file.read_text(errors="replace").splitlines()[-lines:])
        return "\n".join(found)

    # --- inside ---

    def _await(self, word: str, seconds: float) -> str:
        """The next answer, which must begin with `word`; lines that are no answers are passed over."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                line = self._answers.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise CommandFailed(f"no answer in {seconds:.0f} s") from None
            if line is None:
                raise CommandFailed("the process ended")
            if line.split("\t")[0] == word:
                return line
            if line.startswith("@error"):
                raise CommandFailed(line)

    def _await_port(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                socket.create_connection((self.address, self.cql_port), timeout=1).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise CommandFailed(f"{self.address}:{self.cql_port} did not answer in {START_SECONDS} s")

    def _reap(self, process: subprocess.Popen[str]) -> None:
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()

    def _command(self, found: Library, options: Sequence[str]) -> list[str]:
        properties = _PROPERTIES | {
            "cassandra.config": (self.folder / "conf" / "cassandra.yaml").as_uri(),
            "cassandra.storagedir": str(self.folder),
        }
        return [
            str(found.java),
            f"-Xmx{self._heap}",
            "-XX:+UseSerialGC",
            # A full disk may end a JVM that has its log mapped.
            f"-XX:ErrorFile={self.folder}/hs_err_%p.log",
            f"-javaagent:{found.agent}",
            *JAVA_17,
            *(f"-D{name}={value}" for name, value in properties.items()),
            *self._options,
            *options,
            "-cp",
            os.pathsep.join([str(self.folder / "conf"), str(found.classes), f"{found.jars}/*"]),
            "Node",
        ]

    def _write_conf(self, settings: dict[str, object]) -> None:
        conf = self.folder / "conf"
        conf.mkdir(parents=True, exist_ok=True)
        keys: dict[str, object] = {
            "cluster_name": "cdc-tail",
            "num_tokens": 1,
            "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
            "endpoint_snitch": "SimpleSnitch",
            "seed_provider": [
                {
                    "class_name": "org.apache.cassandra.locator.SimpleSeedProvider",
                    "parameters": [{"seeds": f"{self.address}:{self.storage_port}"}],
                }
            ],
            "listen_address": self.address,
            "rpc_address": self.address,
            "storage_port": self.storage_port,
            "native_transport_port": self.cql_port,
            "data_file_directories": [str(self.folder / "data")],
            "commitlog_directory": str(self.commitlog),
            "cdc_raw_directory": str(self.cdc_raw),
            "hints_directory": str(self.folder / "hints"),
            "saved_caches_directory": str(self.folder / "saved_caches"),
            "commitlog_sync": "periodic",
            "commitlog_sync_period": "200ms",
            "commitlog_segment_size": "1MiB",
            "memtable_allocation_type": "heap_buffers",
            "cdc_enabled": True,
            "auto_snapshot": False,
        }
        (conf / "cassandra.yaml").write_text(yaml_of(keys | settings, self.version))
        (conf / "logback.xml").write_text(_LOGBACK.format(file=self.folder / "system.log"))


def _pump(lines: TextIO, answers: queue.SimpleQueue[str | None]) -> None:
    """Hands on what the process says, and None at its end, so that a wait never blocks on a dead process."""
    try:
        for line in lines:
            answers.put(line.rstrip("\n"))
    except ValueError:
        pass  # kill() closed the pipe under us: the process is gone
    answers.put(None)
