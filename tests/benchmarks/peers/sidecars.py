"""When was each sidecar written? A process that is told by inotify and does nothing else.

    python -m tests.benchmarks.peers.sidecars FOLDER        # a line for each: seconds, segment, number

It runs before all others where it may (`SCHED_FIFO`), so that its clock is read when the sidecar is closed and not when
a core is free. The clock is `perf_counter`, which all processes of a machine share.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import inotify_simple


def main(folder: Path) -> None:
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        sys.stderr.write("sidecars: runs as any other process, for it may not be put before them\n")
    watch = inotify_simple.INotify()
    watch.add_watch(str(folder), inotify_simple.flags.CLOSE_WRITE)
    os.write(1, b"ready\n")
    while True:
        for event in watch.read():
            now = time.perf_counter()
            if event.name.endswith("_cdc.idx"):
                number = (folder / event.name).read_bytes().split(b"\n")[0]
                segment = event.name.removesuffix("_cdc.idx").rpartition("-")[2]
                os.write(1, b"%.6f %s %s\n" % (now, segment.encode(), number or b"0"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
