"""A follower and `clean` over segments that roll, in a process of its own, and what they take in each tenth of them.

python -m tests.retention.rolled FOLDER SEGMENTS     # a JSON object

`cpu`: seconds a segment; `descriptors`, `resident`, `state`: the most at once, in bytes but for the first.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from tailer.options.tail import TailOptions
from tailer.retention.clean import clean
from tailer.retention.needed import Ages
from tailer.state.log_folder import state_folder
from tailer.tail.tail import Tail
from tests.helpers.log_writer import LogFolder, completed, create_payload, insert_payload, segment_of, simple_table
from tests.helpers.tails import open_tail

FIRST = 1_700_000_000_000
CLEANED_EACH = 20
AT_ONCE = Ages(0.0, 0.0)
HOUR_SECONDS = 3600.0
TABLE = simple_table("shop", "orders")


def roll(folder: LogFolder, number: int) -> None:
    """A finished segment with one row, as nobody has read it; the first one defines the table."""
    first = [create_payload(TABLE, 10)] if number == 0 else []
    writer = segment_of(FIRST + number, [[*first, insert_payload(TABLE, number, "c", number)]])
    folder.put(writer, completed(writer))


def read(tail: Tail) -> int:
    """All that is there, saved behind each step; its rows."""
    rows = 0
    while (step := tail.step()).tasks or step.moved:
        rows += sum(len(batch) for task in step.tasks for batch in tail.read(task))
        tail.advance(step)
        tail.save()
    return rows


def taken(folder: Path) -> dict[str, int]:
    """What this process and the state folder have now."""
    state = [file for file in state_folder(folder).rglob("*") if file.is_file()]
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return {
        "descriptors": sum(1 for _ in Path("/proc/self/fd").iterdir()),
        "resident": resident,
        "state": sum(file.stat().st_size for file in state),
    }


def main(path: Path, segments: int) -> None:
    folder = LogFolder(path)
    roll(folder, 0)
    rows, tenths = 0, []
    with open_tail(path, TailOptions(consumer="rolled")) as tail:
        for begin in range(0, segments, segments // 10):
            most: dict[str, float] = {}
            spent = 0.0
            for number in range(begin, begin + segments // 10):
                if number:
                    roll(folder, number)
                before = time.process_time()
                tail.wait(0.0)
                rows += read(tail)
                if number % CLEANED_EACH == 0:
                    clean(path, ages=AT_ONCE, clock=lambda: time.time() + HOUR_SECONDS)
                spent += time.process_time() - before
                if number % CLEANED_EACH in (0, CLEANED_EACH - 1):
                    now = taken(path)
                    most = {name: max(value, most.get(name, 0)) for name, value in now.items()}
            tenths.append({**most, "cpu": spent / (segments // 10)})
    left = sum(1 for _ in path.glob("*.log"))
    sys.stdout.write(json.dumps({"rows": rows, "tenths": tenths, "left": left}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
