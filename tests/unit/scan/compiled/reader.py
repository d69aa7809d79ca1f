"""A process that wants compiled code, or compiles it: the real thing, with one small function to compile.

    python -m tests.unit.scan.compiled.reader BESIDE [compile]

SMALL in the environment is the tests' folder. Prints how it ended: what was said, and whether the function works.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from tailer.jit import ahead, store

SECONDS = 60


def main(beside: Path, compiles: bool) -> int:
    ahead.COMPILED = (("tests.unit.scan.compiled.small", "twice"),)  # type: ignore[misc]
    ahead.COMMAND = ("-P", "-m", "tests.unit.scan.compiled.reader", str(beside), "compile")  # type: ignore[misc]
    ahead.LOOK_SECONDS = 0.1  # type: ignore[misc]
    store.BESIDE = beside  # type: ignore[misc]
    return ahead.main() if compiles else read()


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
    with (Path(os.environ["SMALL"]) / "readers").open("a") as log:
        log.write(f"{os.getpid()}\n")

    from tailer.jit import decorators

    decorators.only_load()
    from tests.unit.scan.compiled.small import twice

    print(f"{twice(21)} {store.take_news()}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), len(sys.argv) > 2))
