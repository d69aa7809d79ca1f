"""The model of LMDB does what LMDB does: the same calls on both, both killed, and both on a disk that is full."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lmdb
import pytest

from tests.helpers.small_disk import small_disk
from tests.simulation.lmdb_model import MAP_SCALE, Environment

NAMES = (b"one", b"two")
KEYS = [bytes([first, second]) for first in b"abc" for second in b"123"] + [b"a", b"c3z"]

Open = Callable[[Path], Any]


def real(folder: Path) -> Any:
    return lmdb.open(str(folder), map_size=16 << 20, max_dbs=len(NAMES), mode=0o600)


def model(folder: Path) -> Any:
    return Environment(str(folder), map_size=(16 << 20) * MAP_SCALE, max_dbs=len(NAMES), mode=0o600)


BOTH = pytest.mark.parametrize("opened", [real, model])


def content(environment: Any) -> list[list[tuple[bytes, bytes]]]:
    tables = [environment.open_db(name) for name in NAMES]
    with environment.begin() as seen:
        return [list(seen.cursor(table)) for table in tables]


def calls(chance: random.Random) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """What one transaction does."""
    for _ in range(chance.randint(1, 8)):
        key, value = chance.choice(KEYS), chance.randbytes(chance.randint(0, 9))
        yield chance.choice(
            [
                ("put", (key, value)), ("put", (key, value)), ("get", (key,)), ("delete", (key,)),
                ("walk", (key,)), ("cut", (key,)), ("cut all", ()), ("last", ()), ("many", (sorted({key, KEYS[0]}),)),
                ("count", ()), ("put many", ([(key, value)],)), ("put", (b"k" * 512, b"")),
            ]
        )  # fmt: skip


def outcome(seen: Any, table: Any, what: str, given: tuple[Any, ...]) -> Any:
    """What a call gives, or the error that it raises."""
    try:
        if what in ("put", "get", "delete"):
            return getattr(seen, what)(*given, db=table)
        if what == "count":
            return seen.stat(table)["entries"]
        with seen.cursor(table) as cursor:
            return _by_cursor(cursor, what, given)
    except lmdb.Error as error:
        return type(error)


def _by_cursor(cursor: Any, what: str, given: tuple[Any, ...]) -> Any:
    match what:
        case "walk":
            told, there = [], cursor.set_range(*given)
            while there:
                told.append(cursor.item())
                there = cursor.next()
            return told
        case "cut":
            return cursor.set_range(*given), cursor.delete(), cursor.key()
        case "cut all":
            told, there = [], cursor.first()
            while there:
                told.append(cursor.delete())
                there = bool(cursor.key())
            return told
        case "last":
            return cursor.last(), cursor.key(), cursor.value()
        case "many":
            return cursor.getmulti(*given)
        case _:
            return cursor.putmulti(*given)


@pytest.mark.parametrize("seed", range(20))
def test_the_same_calls_give_the_same(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    environments = [real(tmp_path / "real"), model(tmp_path / "model")]
    for _ in range(30):
        tables = [[environment.open_db(name) for name in NAMES] for environment in environments]
        todo, number = [*calls(chance)], chance.randrange(len(NAMES))
        ends = chance.choice(("commit", "commit", "abort"))
        told = []
        for environment, mine in zip(environments, tables, strict=True):
            seen = environment.begin(write=True)
            told.append([outcome(seen, mine[number], *each) for each in todo])
            getattr(seen, ends)()
        assert told[0] == told[1], todo
        assert content(environments[0]) == content(environments[1])
        if chance.random() < 0.2:
            for environment in environments:
                environment.close()
            environments = [real(tmp_path / "real"), model(tmp_path / "model")]


@BOTH
def test_a_map_that_is_full_fails_the_transaction_alone(opened: Open, tmp_path: Path) -> None:
    environment = opened(tmp_path / "it")
    table = environment.open_db(NAMES[0])
    with environment.begin(write=True) as seen:
        seen.put(b"kept", b"1", db=table)
    with pytest.raises(lmdb.MapFullError):
        put_large(environment, table)
    assert content(environment)[0] == [(b"kept", b"1")]
    environment.set_mapsize(environment.info()["map_size"] * 8)
    put_large(environment, table)
    assert len(content(environment)[0]) == 41


def put_large(environment: Any, table: Any) -> None:
    with environment.begin(write=True) as seen:
        for number in range(40):
            seen.put(b"%d" % number, bytes(1 << 20), db=table)


PROGRAM = """
import sys
from pathlib import Path
from tests.simulation import test_lmdb_model as both
environment = getattr(both, sys.argv[1])(Path(sys.argv[2]))
table = environment.open_db(both.NAMES[0])
number = len(both.content(environment)[0])
while True:
    with environment.begin(write=True) as seen:
        seen.put(b"%09d" % number, b"v" * 500, db=table)
        seen.put(b"%09d" % (number + 1), b"v" * 500, db=table)
    number += 2
    print(number, flush=True)
"""


@BOTH
def test_what_was_committed_is_there_whenever_it_is_killed(opened: Open, tmp_path: Path) -> None:
    folder, chance, said = tmp_path / "it", random.Random(1), 0
    for _ in range(6):
        command = [sys.executable, "-c", PROGRAM, opened.__name__, str(folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            told = [process.stdout.readline()]
            time.sleep(chance.random() * 0.2)
            process.send_signal(signal.SIGKILL)
            told += process.stdout.readlines()
        assert process.returncode == -signal.SIGKILL
        said = int([line for line in told if line.endswith("\n")][-1])
        environment = opened(folder)
        there = len(content(environment)[0])
        environment.close()
        # The last commit may have been made, and not told.
        assert there in (said, said + 2)
    assert said > 12


@BOTH
def test_a_full_disk_fails_the_commit_alone(opened: Open, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1) as disk:
        environment = opened(disk.folder / "it")
        table = environment.open_db(NAMES[0])
        before, error = content(environment), None
        while error is None:
            before = content(environment)
            error = put_more(environment, table)
        assert not isinstance(error, lmdb.MapFullError)
        assert before[0]
        assert content(environment) == before
        with environment.begin(write=True) as seen:
            for key, _ in before[0]:
                seen.delete(key, db=table)
        assert content(environment) == [[], []]
        environment.close()


def put_more(environment: Any, table: Any) -> lmdb.Error | None:
    """Twenty keys more; the error of the commit, if there is one."""
    first = len(content(environment)[0])
    try:
        with environment.begin(write=True) as seen:
            for number in range(first, first + 20):
                seen.put(b"%09d" % number, bytes(1000), db=table)
    except lmdb.Error as error:
        return error
    return None
