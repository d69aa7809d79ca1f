"""A node's log over `https://`: `cdc-tail serve` in a process of its own, certificates on both sides, a link before it.

Knows the node's folder, and no reader.
"""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path

from tailer.state.log_folder import state_folder
from tests.helpers.certificate import Authority
from tests.helpers.cli import program
from tests.helpers.cut_proxy import CutProxy
from tests.helpers.jvm.program import free_ports
from tests.server.cluster.cluster import ClusterNode

CLIENT, PREFIX = "spark.test", "spark-"
START_SECONDS, END_SECONDS = 60.0, 30.0


class Serving:
    """One node's. `url`: where readers ask, through `link`. `failures`: ends that nobody asked for."""

    def __init__(self, node: ClusterNode, authority: Authority, work: Path) -> None:
        self.node = node
        self.failures: list[str] = []
        (self._port,) = free_ports(node.address, 1)
        self.link = CutProxy(self._port, node.address)
        self.url = f"https://{node.address}:{self.link.port}"
        self._errors = work / f"{node.name}-serve.stderr"
        self._process: subprocess.Popen[bytes] | None = None
        issued, clients = authority.issue(addresses=[node.address]), work / "clients.toml"
        clients.write_text(f'[spark]\ncertificate = "{CLIENT}"\nprefix = "{PREFIX}"\n')
        listen = ["--listen", f"{node.address}:{self._port}", "--status-listen", f"{node.address}:0"]
        secure = ["--cert", issued.cert, "--key", issued.key, "--client-ca", authority.ca, "--clients", clients]
        self._command = program(["serve", node.cdc_raw, *listen, *secure])

    @property
    def folders(self) -> list[Path]:
        """What only the node's own users may read."""
        return [self.node.cdc_raw, state_folder(self.node.cdc_raw)]

    def start(self) -> None:
        """Returns when it answers, and has its state, which it makes when it listens."""
        with self._errors.open("ab") as errors:
            self._process = subprocess.Popen(self._command, stdout=errors, stderr=errors)
        deadline = time.monotonic() + START_SECONDS
        while not (self._answers() and all(folder.is_dir() for folder in self.folders)):
            assert self._process.poll() is None, self._told()
            assert time.monotonic() < deadline, self._told()
            time.sleep(0.05)
        for folder in self.folders:
            folder.chmod(0o700)

    def kill(self) -> None:
        """SIGKILL; who asks then is refused, as by a machine where nobody listens."""
        self.link.close()
        process, self._process = self._process, None
        if process is not None:
            if process.poll() is not None:
                self.failures.append(f"serve of {self.node.name} ended with {process.returncode}: {self._told()}")
            process.kill()
            process.wait()

    def stop(self) -> None:
        """In order, and the link with it."""
        if self._process is not None and self._process.poll() is None:
            process, self._process = self._process, None
            process.terminate()
            code = process.wait(END_SECONDS)
            if code != 0:
                self.failures.append(f"serve of {self.node.name} ended after SIGTERM with {code}: {self._told()}")
        self.kill()
        self.link.close()

    def _answers(self) -> bool:
        try:
            socket.create_connection((self.node.address, self._port), timeout=1).close()
        except OSError:
            return False
        return True

    def _told(self) -> str:
        return self._errors.read_text(errors="replace")[-4000:]
