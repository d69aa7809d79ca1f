"""A process that wants compiled code, or compiles it: the real thing, with one small function to compile.

    python -m tests.unit.scan.compiled.reader BESIDE [compile | choose]

SMALL in the environment is the tests' folder; PROCESSOR is what the system tells of its processor, where that is to be
another one. What a wheel has brought along lies in `object_code` beside BESIDE. Prints how it ended: what was said, and
whether the function works. With `choose` it is chosen and loaded as every room's are, and what is wrong with it is
mended.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from tailer.jit import ahead, ready, store

SECONDS = 60
SMALL = "tests.unit.scan.compiled.small"


def main(beside: Path, mode: str) -> int:
    ahead.COMPILED = ((SMALL, "twice"),)  # type: ignore[misc]
    ahead.COMMAND = ("-P", "-m", "tests.unit.scan.compiled.reader", str(beside), "compile")  # type: ignore[misc]
    ahead.LOOK_SECONDS = 0.1  # type: ignore[misc]
    store.BESIDE = beside  # type: ignore[misc]
    store.CARRIED = beside.with_name("object_code")  # type: ignore[misc]
    if "PROCESSOR" in os.environ:
        store._processor = lambda: os.environ["PROCESSOR"]
    return {"compile": ahead.main, "choose": choose, "": read}[mode]()


def choose() -> int:
    note_reader()
    ready._FIRST = SMALL  # type: ignore[misc]
    choice = ready.Choice("1")
    choice.expect(1)
    twin = choice.twin(SMALL)
    print(twin and twin.twice(21), *choice.take_notices(), sep="\n")
    return 0


def read() -> int:
    code = None if store.kept() else ahead.Compiling()
    begun = time.monotonic()
    while code is not None and not code.is_over():
        if time.monotonic() - begun > SECONDS:
            return 1
        time.sleep(0.01)
    if code is not None and not code.succeeded:
        print(code.notice)
        return 0
    note_reader()

    from tailer.jit import decorators

    decorators.only_load()
    from tests.unit.scan.compiled.small import twice

    print(f"{twice(21)} {store.take_news()}")
    return 0


def note_reader() -> None:
    with (Path(os.environ["SMALL"]) / "readers").open("a") as log:
        log.write(f"{os.getpid()}\n")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), "".join(sys.argv[2:])))
