#!/usr/bin/env python3
"""Reads every recorded log in fresh processes, typed and generic, with the compiled reader: none may die.

    scripts/fresh_readers.py [--count 50] [--at-once 2] [--kept FILE] [--sets FOLDER] [--only GLOB] [--guard]

Memory is another one in each process, so a fault in memory shows in some of them only: each reads all sets in an order
of its own. `--guard`: behind each array of numpy is a page that may not be touched, so that such a fault always shows.
What is read is the same in all of them, or that is told too. Exit 1 where a process dies or reads something else.
`--kept`: a line of JSON for each process that ended, and a run that was stopped goes on behind them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.compare_rows import folders_of
from tests.helpers.sets import unpack

if TYPE_CHECKING:
    from scripts.read_rows import Folder

ROOT: Final = Path(__file__).resolve().parents[1]
_START: Final = "import runpy, sys; sys.argv = sys.argv[1:]; {}runpy.run_path(sys.argv[0], run_name='__main__')"
_GUARD: Final = "from tests.helpers.guarded_arrays import install; install(); "


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Reads every recorded log in fresh processes.")
    parser.add_argument("--count", type=int, default=50, help="processes; default: 50")
    parser.add_argument("--at-once", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--kept", metavar="FILE", type=Path, help="goes on behind what an earlier run kept here")
    parser.add_argument("--sets", metavar="FOLDER", type=Path, help="unpacked sets; default: fixtures/, unpacked")
    parser.add_argument("--only", metavar="GLOB", default="*", help="names of sets")
    parser.add_argument("--guard", action="store_true", help="a page that may not be touched behind each array")
    given = parser.parse_args(arguments)
    with ExitStack() as stack:
        root = given.sets or unpack(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cdc-tail-sets-"))))
        sets = {each.name: folders for each in sorted(root.resolve().glob(given.only)) if (folders := folders_of(each))}
        if not sets:
            parser.error(f"no recorded set {given.only} in {root}")
        return read_all(Readers(sets, given.guard), given.count, given.at_once, given.kept)


class Ended(msgspec.Struct, frozen=True):
    """How a process ended. `digests`: of what it read, by set. `asked`: the sets in its order, as one text."""

    number: int
    status: int
    digests: dict[str, str]
    asked: str


def read_all(readers: Readers, count: int, at_once: int, kept: Path | None) -> int:
    """Reads all sets in `count` processes. 0, or 1 where one died or read something else."""
    expected: dict[str, str] = {}
    wrong = 0
    for ended in _ended(readers, count, at_once, kept):
        names, digests = readers.names(ended.number), ended.digests
        differing = [name for name, digest in digests.items() if expected.setdefault(name, digest) != digest]
        unread = [name for name in names if name not in digests]
        print(
            f"process {ended.number}: status {ended.status}, {len(digests)} sets read, differing: {differing}, "
            f"not read: {unread}",
            flush=True,
        )
        wrong += bool(ended.status or differing or unread)
    print(f"{count} processes, {len(readers.sets)} sets: {wrong} died or read something else")
    return 1 if wrong else 0


def _ended(readers: Readers, count: int, at_once: int, kept: Path | None) -> Iterator[Ended]:
    """Of each process how it ended: first those of earlier runs, then the others as they end."""
    lines = kept.read_bytes().splitlines() if kept is not None and kept.exists() else []
    earlier = [each for each in (msgspec.json.decode(line, type=Ended) for line in lines) if each.number < count]
    earlier = [each for each in earlier if each.asked == readers.asked(each.number)]
    yield from earlier
    left = sorted(set(range(count)) - {each.number for each in earlier})
    with ThreadPoolExecutor(at_once) as pool:
        for done in as_completed([pool.submit(readers.read, number) for number in left]):
            ended = done.result()
            if kept is not None:
                with kept.open("ab") as file:
                    file.write(msgspec.json.encode(ended) + b"\n")
            yield ended


class Readers:
    """Processes, each with a number that says in which order it reads the sets."""

    def __init__(self, sets: dict[str, list[Folder]], guard: bool) -> None:
        self.sets = sets
        self._guard = guard

    def names(self, number: int) -> list[str]:
        return random.Random(number).sample(sorted(self.sets), len(self.sets))

    def asked(self, number: int) -> str:
        return f"{'guard ' if self._guard else ''}{' '.join(self.names(number))}"

    def read(self, number: int) -> Ended:
        names = self.names(number)
        status, digests = _read(self.sets, names, guard=self._guard)
        return Ended(number, status, digests, self.asked(number))


def _read(sets: dict[str, list[Folder]], names: list[str], *, guard: bool) -> tuple[int, dict[str, str]]:
    """How a process ended that read these sets in this order, and a digest of each that it read."""
    command = [sys.executable, "-P", "-c", _START.format(_GUARD if guard else ""), str(ROOT / "scripts/read_rows.py")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CDC_TAIL_JIT": "1"}
    asked = "".join(json.dumps(sets[name]) + "\n" for name in names)
    done = subprocess.run(command, env=environment, input=asked, stdout=subprocess.PIPE, text=True, check=False)
    answers = done.stdout.splitlines()[1:]
    return done.returncode, {
        name: blake2b(answer.encode(), digest_size=8).hexdigest() for name, answer in zip(names, answers, strict=False)
    }


if __name__ == "__main__":
    sys.exit(main())
