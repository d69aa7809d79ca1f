"""Consumers that bring rows to targets, and what must hold there: each row is there once."""

from __future__ import annotations

import json
import socket
import sqlite3
import time
from base64 import b64encode
from collections.abc import Iterable, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, Final

import zstandard

from tests.simulation import commands
from tests.simulation.consumers import BUG, Comparing, Expected, ViolationError
from tests.simulation.disk import File, Folder
from tests.simulation.logged import row_of
from tests.simulation.world import World

_ROLL: Final = ("--roll-seconds", "1", "--roll-bytes", "2k")
_SHIP_AGAIN_SECONDS: Final = 1.0
HOST: Final = "127.0.0.1"
PORT: Final = 9050
_ANSWERS: Final = {"200 OK": 12, "503 Busy": 1, "429 Slow Down": 1, "lost": 1, "none": 1, "slow": 1}
"""How often each comes."""


class _RowTarget(Comparing):
    """A consumer of change rows by `cdc-tail follow --to`. `words`: what it is told beside its target."""

    what = "rows at the target"

    def __init__(self, name: str, folder: Path, expected: Expected, to: str, *words: str) -> None:
        super().__init__(name, folder)
        self._expected = expected
        named = [] if expected.node is None else ["--node", expected.node]
        self._words = ["follow", str(folder), "--consumer", name, *named, "--to", to, *words]

    def run(self) -> int:
        """One run: until it is killed, or ends with an exit code."""
        return self._feed(self._words)

    def state(self) -> tuple[int, ...]:
        return (self.taken, self._expected.count())

    def rows(self) -> Iterable[dict[str, Any]]:
        """What the target has, in its order."""
        raise NotImplementedError

    def compare(self) -> str | None:
        return self._differs(self.rows())

    def _differs(self, rows: Iterable[dict[str, Any]]) -> str | None:
        """How many rows are lacking. ViolationError where one is there twice, or in another order."""
        last, count = -1, 0
        for row in rows:
            number = self._expected.number_of(row)
            if number <= last and not self._expected.back:
                raise ViolationError(f"{self.name}: row {number} stands behind row {last}")
            last, count = number, count + 1
        expected = self._expected.count()
        return None if count == expected else f"expected {expected} rows, found {count}"


class RowTable(_RowTarget):
    """Rows in a table in SQLite: a transactional target."""

    def __init__(self, name: str, world: World, folder: Path, home: Path, expected: Expected, *words: str) -> None:
        self._world, self._file = world, home / f"{name}.db"
        more = "--into", "changes", "--commit-rows", "7", *words
        super().__init__(name, folder, expected, f"sqlite:{self._file}", *more)

    @property
    def taken(self) -> int:
        return self._world.files.changes(str(self._file))

    @property
    def expected(self) -> Expected:
        """The rows that must come."""
        return self._expected

    def behind(self, random: Random) -> int | None:
        """Some row that it has."""
        there = [self._expected.number_of(row) for row in self.rows()]
        return random.choice(there) if there else None

    def keep(self) -> None:
        """Take a backup of it."""
        self._world.files.keep(str(self._file))

    def put_back(self) -> None:
        """Put back the last backup, where there is one."""
        self._world.files.put_back(str(self._file))

    def rows(self) -> Iterable[dict[str, Any]]:
        with closing(sqlite3.connect(self._world.files.file(str(self._file)))) as database:
            database.row_factory = sqlite3.Row
            if database.execute("SELECT 1 FROM sqlite_master WHERE name = 'changes'").fetchone():
                yield from map(dict, database.execute("SELECT * FROM changes ORDER BY rowid"))


class Spool(_RowTarget):
    """Rows in files that roll, which two others ship on: into a folder, and over HTTP."""

    def __init__(self, name: str, world: World, folder: Path, home: Path, expected: Expected, *words: str) -> None:
        self._place = home / f"{name}.files"
        self._disk = world.machine("node").disk
        self._shipped = home / f"{name}.shipped"
        self.web = Web(Random(f"{world.seed} web"))
        super().__init__(name, folder, expected, f"files:{self._place}", *_ROLL, *words)

    @property
    def taken(self) -> int:
        there = sum(name.endswith(".idx.json") for names in self._folders() for name in names)
        return there + len(self.web.taken)

    def ship(self) -> int:
        """One run of the shipper into a folder."""
        return self._ship("--to", f"files:{self._shipped}")

    def post(self) -> int:
        """One run of the shipper over HTTP. The other one is registered first: else it lacks what came before."""
        if not self._disk.exists(f"{self._place}/.cdc_tail/consumers/ship.json"):
            time.sleep(_SHIP_AGAIN_SECONDS)
            return 0
        return self._ship("--to", f"http://{HOST}:{PORT}/changes", "--consumer", "web", "--retry-for", "10s")

    def _ship(self, *words: str) -> int:
        told: list[bytes] = []
        code = commands.run(["ship", str(self._place), *words], lambda line: None, told.append)
        if code == BUG:
            raise ViolationError(f"ship ended with exit {BUG}: {told[-1:]}")
        time.sleep(_SHIP_AGAIN_SECONDS)
        return code

    def compare(self) -> str | None:
        return super().compare() or self._lacking()

    def _lacking(self) -> str | None:
        """What did not come over HTTP. What the folder had before the second shipper was there never does."""
        files = {index["number"]: self._read(index) for index in self._indexes() if index["data"]}
        came = dict(sorted(self.web.taken.values()))
        if any(files.get(number) != body for number, body in came.items()):
            raise ViolationError(f"{self.name}: what came over HTTP is not what came into the folder")
        first = min(came, default=max(files, default=0))
        missing = [number for number in files if number >= first and number not in came]
        return f"the files {missing} did not come over HTTP" if missing else None

    def rows(self) -> Iterable[dict[str, Any]]:
        return _lines(self._read(index) for index in self._indexes() if index["data"])

    def _folders(self) -> Iterable[dict[str, Any]]:
        """What each node's folder has of what was shipped."""
        top = self._disk.find(str(self._shipped)) if self._disk.exists(str(self._shipped)) else None
        return (
            [each.entries for each in top.entries.values() if isinstance(each, Folder)]
            if isinstance(top, Folder)
            else []
        )

    def _indexes(self) -> Sequence[dict[str, Any]]:
        """Of the files that were shipped into the folder, in order."""
        found = []
        top = str(self._shipped)
        for node in self._names(top):
            folder = f"{top}/{node}"
            names = (name for name in self._names(folder) if name.endswith(".idx.json"))
            found += [{**json.loads(self._content(f"{folder}/{name}")), "folder": folder} for name in names]
        return sorted(found, key=lambda each: each["number"])

    def _names(self, path: str) -> Sequence[str]:
        if not self._disk.exists(path):
            return ()
        node = self._disk.find(path)
        return sorted(name for name in self._disk.names(node, path) if not name.startswith("."))

    def _read(self, index: dict[str, Any]) -> bytes:
        return self._content(f"{index['folder']}/{index['data']}")

    def _content(self, path: str) -> bytes:
        file = self._disk.find(path)
        assert isinstance(file, File), path
        return bytes(file.content)


def _lines(files: Iterable[bytes]) -> Iterable[dict[str, Any]]:
    for data in files:
        yield from map(row_of, zstandard.ZstdDecompressor().stream_reader(data).readall().splitlines())


class Web:
    """A service that takes files by POST: it is slow, answers that it has no time, or not at all, also when it has
    taken the file. What comes under a key that it has is nothing new."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self.is_well = False
        """Whether it answers at once from now on."""
        self.taken: dict[str, tuple[int, bytes]] = {}
        """By key: the number of the file, and its content."""

    def run(self) -> int:
        """One run of the service."""
        listening = socket.socket()
        listening.bind((HOST, PORT))
        listening.listen()
        while True:
            connection, _ = listening.accept()
            try:
                self._answer(connection)
            except OSError:
                # Who asked has gone.
                continue
            finally:
                connection.close()

    def _answer(self, connection: socket.socket) -> None:
        connection.settimeout(30.0)
        with connection.makefile("rb") as file:
            file.readline()
            headers = dict(iter(lambda: self._header(file.readline()), None))
            if "content-length" not in headers:
                return
            body = file.read(int(headers["content-length"]))
        (how,) = ["200 OK"] if self.is_well else self._random.choices((*_ANSWERS,), (*_ANSWERS.values(),))
        if how == "none":
            return
        if how == "slow":
            time.sleep(self._random.choice((1.0, 70.0)))
        if how in ("200 OK", "lost", "slow"):
            self._take(headers, body)
        if how != "lost":
            connection.sendall(f"HTTP/1.1 {'200 OK' if how == 'slow' else how}\r\nContent-Length: 0\r\n\r\n".encode())

    def _header(self, line: bytes) -> tuple[str, str] | None:
        if not line.strip():
            return None
        name, _, value = line.decode().partition(":")
        return name.lower(), value.strip()

    def _take(self, headers: dict[str, str], body: bytes) -> None:
        if len(body) != int(headers["content-length"]):
            raise OSError("the body ends early")
        key = headers["idempotency-key"]
        if f"sha-256=:{b64encode(sha256(body).digest()).decode()}:" != headers["repr-digest"]:
            raise ViolationError(f"the file {key} is not what its digest says")
        number = int(headers["cdc-tail-number"])
        if self.taken.setdefault(key, (number, body)) != (number, body):
            raise ViolationError(f"another file came as {key}")
