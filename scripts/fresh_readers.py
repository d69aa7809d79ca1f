#!/usr/bin/env python3
"""Reads every recorded log in fresh processes, typed and generic, with the compiled reader: none may die.

    scripts/fresh_readers.py [--count 50] [--sets FOLDER] [--only GLOB] [--guard]

Memory is another one in each process, so a fault in memory shows in some of them only: each reads all sets in an order
of its own. `--guard`: behind each array of numpy is a page that may not be touched, so that such a fault always shows.
What is read is the same in all of them, or that is told too. Exit 1 where a process dies or reads something else.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final

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
    parser.add_argument("--sets", metavar="FOLDER", type=Path, help="unpacked sets; default: fixtures/, unpacked")
    parser.add_argument("--only", metavar="GLOB", default="*", help="names of sets")
    parser.add_argument("--guard", action="store_true", help="a page that may not be touched behind each array")
    given = parser.parse_args(arguments)
    with ExitStack() as stack:
        root = given.sets or unpack(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cdc-tail-sets-"))))
        sets = {each.name: folders for each in sorted(root.resolve().glob(given.only)) if (folders := folders_of(each))}
        if not sets:
            parser.error(f"no recorded set {given.only} in {root}")
        return read_all(sets, given.count, guard=given.guard)


def read_all(sets: dict[str, list[Folder]], count: int, *, guard: bool) -> int:
    """Reads all sets in `count` processes, one after the other. 0, or 1 where one died or read something else."""
    expected: dict[str, str] = {}
    wrong = 0
    for number in range(count):
        names = random.Random(number).sample(sorted(sets), len(sets))
        status, digests = _read(sets, names, guard=guard)
        differing = [name for name, digest in digests.items() if expected.setdefault(name, digest) != digest]
        where = f", in {names[len(digests)]}" if status and len(digests) < len(names) else ""
        print(f"process {number}: status {status}{where}, {len(digests)} sets read, differing: {differing}", flush=True)
        wrong += bool(status or differing)
    print(f"{count} processes, {len(sets)} sets: {wrong} died or read something else")
    return 1 if wrong else 0


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
