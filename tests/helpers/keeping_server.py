"""A web server that keeps each file that it is sent, under its key, on the disk before it answers: one to be killed.

    python -m tests.helpers.keeping_server PORT FOLDER

What comes again under a key takes the place of what was there, as `ship` has it (docs/files.md).
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote

from tests.helpers.cli import ROOT
from tests.helpers.jvm.program import free_ports
from tests.helpers.web_server import Reply, Request, Server

START_SECONDS = 30


class KeepingServer:
    """That process, on a port that stays. `folder`: what it has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        (self._port,) = free_ports("127.0.0.1", 1)
        self.url = f"http://127.0.0.1:{self._port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns once it listens."""
        words = [sys.executable, "-m", "tests.helpers.keeping_server", str(self._port), str(self.folder)]
        self._process = subprocess.Popen(words, cwd=ROOT)
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port), timeout=1).close()
                return
            except OSError:
                assert self._process.poll() is None, "it ended"
                assert time.monotonic() < deadline, "it does not listen"
                time.sleep(0.01)

    def kill(self) -> None:
        """SIGKILL, and gone when this returns."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def bodies(self) -> dict[str, bytes]:
        """By key."""
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if path.suffix != ".new"}


def keep(folder: Path, request: Request) -> Reply:
    name = quote(request.headers["Idempotency-Key"].strip('"'), safe="")
    with (folder / f"{name}.new").open("wb") as out:
        out.write(request.body)
        out.flush()
        os.fsync(out.fileno())
    (folder / f"{name}.new").replace(folder / name)
    return Reply()


if __name__ == "__main__":
    Server(lambda request: keep(Path(sys.argv[2]), request), port=int(sys.argv[1])).http.serve_forever()
