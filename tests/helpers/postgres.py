"""A PostgreSQL server of its own for tests, as another user where we are root.

Its programs are this machine's, or Debian's packages unpacked into the cache.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.helpers.jvm.jars import cache

USER = "cdc"
PASSWORD = "only for tests"
START_SECONDS = 60
PACKAGES = ("postgresql-15", "postgresql-client-15", "libpq5")


class UnavailableError(Exception):
    """Why there is none here."""


class Postgres:
    """A running server, in a folder of its own in `parent`; it listens on this machine only.

    `url` is its JDBC URL, `to` the one for libpq; neither has a password. `fsync`: what it commits stays when the power
    goes.
    """

    def __init__(self, parent: Path | None = None, *, fsync: bool = False) -> None:
        self._programs = programs()
        self._as = unprivileged()
        self._fsync = fsync
        self.folder = Path(tempfile.mkdtemp(prefix="cdc-tail-postgres-", dir=parent))
        self.port = free_port()
        self.url = f"jdbc:postgresql://127.0.0.1:{self.port}/postgres"
        self.to = f"postgresql://{USER}@127.0.0.1:{self.port}/postgres"
        self.own(self.folder)
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        self._run("initdb", "-D", self._data, "-U", USER, "-A", "scram-sha-256", "--pwfile", str(secret), "-N")

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder}"
        options += "" if self._fsync else " -c fsync=off"
        self._run("pg_ctl", "-D", self._data, "-o", options, "-l", str(self.folder / "log"), "-w", "start")

    def stop(self) -> None:
        """As a crash: nothing is finished or written out, the next start recovers from its log."""
        self._run("pg_ctl", "-D", self._data, "-m", "immediate", "-w", "stop")

    def kill(self) -> None:
        """SIGKILL for the server and all its processes at once, as the kernel's killer or a power loss; gone when this
        returns."""
        head = psutil.Process(int((self.folder / "data" / "postmaster.pid").read_text().split()[0]))
        head.suspend()  # it starts no more of them
        processes = [head, *head.children(recursive=True)]
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        _, left = psutil.wait_procs(processes, timeout=START_SECONDS)
        assert all(process.status() == psutil.STATUS_ZOMBIE for process in left), left

    def remove(self) -> None:
        try:
            self.stop()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def own(self, folder: Path) -> None:
        """Give a folder to the server's user."""
        if self._as:
            user = pwd.getpwnam(self._as)
            os.chown(folder, user.pw_uid, user.pw_gid)

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
                env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "LD_LIBRARY_PATH": str(_libraries())},
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
    return brought()


def brought() -> Path:
    """Debian's packages, unpacked into the cache once: no rights of root are needed."""
    whole = _unpacked()
    if not whole.exists():
        partial = whole.with_name(f"{whole.name}.{os.getpid()}")
        partial.mkdir(parents=True)
        try:
            for package in PACKAGES:
                _tool(partial, "apt-get", "download", package)
            for deb in partial.glob("*.deb"):
                _tool(partial, "dpkg", "-x", str(deb), "root")
            partial.rename(whole)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return next((whole / "root" / "usr" / "lib" / "postgresql").glob("*/bin"))


def _unpacked() -> Path:
    # Not in root's home, which the server's user cannot read.
    folder = Path(tempfile.gettempdir()) / "cdc-tail-cache" if os.geteuid() == 0 else cache()
    return folder / "postgresql"


def _libraries() -> Path:
    return _unpacked() / "root" / "usr" / "lib" / f"{os.uname().machine}-linux-gnu"


def _tool(folder: Path, *command: str) -> None:
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=300)
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", None) or str(error)
        raise UnavailableError(f"no PostgreSQL server here (Debian: postgresql), and {command[0]}: {said}") from error


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


def started() -> Iterator[Postgres]:
    """For a fixture: a server that runs, and is removed behind the tests. Without PostgreSQL they are skipped."""
    try:
        server = Postgres()
        server.start()
    except UnavailableError as error:
        pytest.skip(str(error))
    yield server
    server.remove()
