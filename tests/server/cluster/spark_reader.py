"""One Spark query over `https://` to all nodes, driver and executors a user's who may read none of their folders.

The executors are processes of their own (`local-cluster`). Whose user the query is, and where it keeps its things, is
this module's; what serves a node's log is `serving.py`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import psutil

from tests.helpers.certificate import Authority
from tests.helpers.users import PROGRAM, Shared, User, users
from tests.server.cluster.awaited import awaited
from tests.server.cluster.cluster import ClusterNode
from tests.server.cluster.serving import CLIENT, PREFIX, Serving
from tests.server.cluster.spark_command import Checkpoint, SparkCommand
from tests.spark.cluster import spark_home

MASTER = "local-cluster[1,2,1024]"
CONSUMER = f"{PREFIX}lake"
LEAVE_SECONDS, GONE_SECONDS = 180.0, 30.0
QUICK = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
"""For executors that live for minutes, among servers that need the processors too."""


class Query(SparkCommand):
    """`cdc-tail stream` as a user, again and again over one checkpoint below `home`, which is the user's."""

    what = "the query over a cluster"

    def __init__(self, work: Path, shared: Shared, user: User, authority: Authority) -> None:
        super().__init__("spark", interrupted=False)
        self._out, self._errors = work / "spark.jsonl", work / "spark.stderr"
        self.home = shared.path / "spark"
        self.checkpoint = Checkpoint(self.home / "checkpoint")
        installed = self.home / "installed"
        installed.mkdir(parents=True)
        issued = authority.issue(CLIENT)
        self._files = [Path(shutil.copy(file, self.home)) for file in (authority.ca, issued.cert, issued.key)]
        for path in (self.home, installed, *self._files):
            os.chown(path, user.uid, user.gid)
            path.chmod(0o700 if path.is_dir() else 0o600)
        self._python = shared.python
        places = {"TMPDIR": str(self.home), "SPARK_LOCAL_DIRS": str(self.home), "SPARK_HOME": spark_home(installed)}
        self._how = shared.how(user, places)

    def run(self, path: str, removed: Sequence[str]) -> None:
        """From where it stopped, over these nodes."""
        ca, cert, key = self._files
        conf = {"spark.master": MASTER, "spark.executor.extraJavaOptions": QUICK}
        words = ["stream", path, "--to", "console", "--output", "json", "--consumer", CONSUMER]
        words += ["--checkpoint", self.checkpoint.folder, "--node-ca", ca, "--node-cert", cert, "--node-key", key]
        words += [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
        words += [word for name in removed for word in ("--removed-nodes", name)]
        self._command = [str(self._python), "-c", PROGRAM, *map(str, words)]
        self._run()


class SparkReader:
    """A `Reader`. Everything that it makes is gone behind `stop`."""

    def __init__(self, work: Path) -> None:
        self._work = work
        self._stack = ExitStack()
        self._authority = Authority(work / "tls")
        self._served: dict[str, Serving] = {}
        self._left: list[str] = []
        self._told: list[str] = []
        self._query: Query | None = None

    @property
    def failures(self) -> list[str]:
        theirs = [] if self._query is None else self._query.failures
        return [*self._told, *theirs, *(told for serving in self._served.values() for told in serving.failures)]

    def start(self, nodes: Sequence[ClusterNode]) -> None:
        (self._user,) = self._stack.enter_context(users(f"cdc-tail-{os.getpid()}-k"))
        self._shared = Shared()
        self._stack.callback(self._shared.close)
        self._query = Query(self._work, self._shared, self._user, self._authority)
        for node in nodes:
            self._serve(node)
        self._query.run(self._path(), self._left)

    def rows_so_far(self, after: int = 0) -> list[str]:
        assert self._query is not None
        return self._query.rows()[after:]

    def stop(self) -> None:
        with self._stack:
            if self._query is not None:
                self._look_at_executors()
                self._query.stop()
                self._await_gone()
            for serving in self._served.values():
                serving.stop()

    def add(self, node: ClusterNode) -> None:
        self._serve(node)
        self._again()

    def remove(self, node: ClusterNode) -> None:
        """All that its log has is read; then nobody serves it, and a later path is without it.

        A server that was decommissioned does not finish its last segment: the node leaves a minute behind its last row.
        """
        assert self._query is not None
        query, end = self._query, node.end()
        awaited(
            lambda: query.checkpoint.read_to(node.name, end) or not query.running,
            f"{node.name} is read to {end}",
            LEAVE_SECONDS,
        )
        self._left.append(node.name)
        self._again()
        awaited(
            lambda: "removed" in query.checkpoint.nodes().get(node.name, {}) or not query.running,
            f"{node.name} is given up",
            LEAVE_SECONDS,
        )
        gone = self._served.pop(node.name)
        gone.stop()
        self._told += gone.failures

    def kill_server(self, node: ClusterNode) -> None:
        self._served[node.name].kill()

    def restart_server(self, node: ClusterNode) -> None:
        self._served[node.name].start()
        self._served[node.name].link.reopen()

    def slow(self, node: ClusterNode, bytes_a_second: float | None) -> None:
        self._served[node.name].link.rate = bytes_a_second

    def full(self, node: ClusterNode, is_full: bool) -> None:
        """The query has nothing on that disk, and what serves the node's log goes on."""

    def _serve(self, node: ClusterNode) -> None:
        serving = self._served[node.name] = Serving(node, self._authority, self._work)
        serving.start()
        for folder in serving.folders:
            listed = subprocess.run(["ls", folder], capture_output=True, check=False, **self._shared.how(self._user))
            assert b"Permission denied" in listed.stderr, (folder, listed)

    def _path(self) -> str:
        return ",".join(f"{name}={serving.url}" for name, serving in self._served.items())

    def _again(self) -> None:
        assert self._query is not None
        self._query.stop()
        self._query.run(self._path(), self._left)

    def _look_at_executors(self) -> None:
        running = [process for process in self._processes() if "CoarseGrainedExecutorBackend" in " ".join(process[1])]
        if not running:
            self._told.append("there was no executor in a process of its own")

    def _processes(self) -> list[tuple[psutil.Process, list[str]]]:
        """The user's, with their command lines."""
        found = []
        for process in psutil.process_iter(["uids", "cmdline"]):
            # One that has ended, or is a zombie, has no command line.
            if process.info["cmdline"] and (uids := process.info["uids"]) is not None and uids.real == self._user.uid:
                found.append((process, process.info["cmdline"]))
        return found

    def _await_gone(self) -> None:
        """An executor ends a moment after its driver."""
        deadline = time.monotonic() + GONE_SECONDS
        while (left := self._processes()) and time.monotonic() < deadline:
            time.sleep(0.1)
        for process, words in left:
            self._told.append(f"left behind: {process.pid} {' '.join(words)[:300]}")
            process.kill()
