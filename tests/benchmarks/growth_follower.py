"""A follower that tells what each thing cost it, for `growth.py`: one command a line, one JSON object back.

    python -m tests.benchmarks.growth_follower FOLDER IDLE_SECONDS     # "row", "look", "idle" on standard input

`cpu`: seconds of processor of this process; `mib`: the most memory it had so far.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from tailer.options.tail import TailOptions
from tailer.tail.follow import WAIT_SECONDS
from tailer.tail.tail import Tail
from tests.benchmarks.growth_cases import CONSUMER
from tests.helpers.tails import open_tail


def read(tail: Tail) -> int:
    """All that is there now, delivered and saved; bytes of its lines."""
    found = 0
    while True:
        step = tail.step()
        if not (step.tasks or step.moved):
            return found
        found += sum(len(batch.json_lines()) for task in step.tasks for batch in tail.read(task))
        tail.advance(step)
        tail.save()


def idle(tail: Tail, seconds: float) -> None:
    """What `follow` does while nothing comes."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        tail.step()
        tail.wait(WAIT_SECONDS)


def tell(before: float) -> None:
    spent = time.process_time() - before
    # Not `ru_maxrss`: that of whoever started this process is in it.
    status = Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    sys.stdout.write(json.dumps({"cpu": spent, "mib": peak / 1024}) + "\n")
    sys.stdout.flush()


def main(folder: Path, idle_seconds: float) -> None:
    before = time.process_time()
    with open_tail(folder, TailOptions(consumer=CONSUMER)) as tail:
        read(tail)
        # As `follow` does when there is nothing more: from here on changes are heard of.
        tail.wait(0.0)
        read(tail)
        tell(before)
        for command in sys.stdin:
            before = time.process_time()
            if command.strip() == "look":
                tail.step()
            elif command.strip() == "idle":
                idle(tail, idle_seconds)
            else:
                while not read(tail):
                    pass
            tell(before)


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
