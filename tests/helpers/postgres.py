"""A PostgreSQL server of its own for tests, from this machine's programs; as another user where we are root."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

USER = "cdc"
PASSWORD = "only for tests"
START_SECONDS = 60


class UnavailableError(Exception):
    """Why there is none here."""


class Postgres:
    """A running server; `url` is its JDBC URL. It listens on this machine only."""

    def __init__(self) -> None:
        self._programs = programs()
        self._as = unprivileged()
        self.folder = Path(tempfile.mkdtemp(prefix="cdc-tail-postgres-"))
        self.port = free_port()
        self.url = f"jdbc:postgresql://127.0.0.1:{self.port}/postgres"
        if self._as:
            user = pwd.getpwnam(self._as)
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        self._run("initdb", "-D", self._data, "-U", USER, "-A", "scram-sha-256", "--pwfile", str(secret), "-N")

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder} -c fsync=off"
        self._run("pg_ctl", "-D", self._data, "-o", options, "-l", str(self.folder / "log"), "-w", "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", self._data, "-m", "immediate", "-w", "stop")

    def remove(self) -> None:
        try:
            self.stop()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        if self._as:
            command = ["setpriv", f"--reuid={self._as}", "--regid=nogroup", "--clear-groups", *command]
        with (self.folder / "out").open("ab") as out:
            ran = subprocess.run(
                command,
                check=False,
                cwd=self.folder,
                env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=START_SECONDS,
            )
        if ran.returncode:
            told = (self.folder / "out").read_text("utf-8", "replace")
            raise UnavailableError(f"{program}: {told.strip()[-300:]}")


def programs() -> Path:
    """The folder of a server's programs."""
    there = [Path(path).resolve().parent for name in ("postgres",) if (path := shutil.which(name))]
    there += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in there:
        if all((folder / name).exists() for name in ("initdb", "pg_ctl", "postgres")):
            return folder
    raise UnavailableError("no PostgreSQL server here (Debian: postgresql)")


def unprivileged() -> str | None:
    """Whom to run it as: a server refuses root."""
    if os.geteuid() != 0:
        return None
    if shutil.which("setpriv") is None:
        raise UnavailableError("PostgreSQL does not run as root, and there is no setpriv")
    return "nobody"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
