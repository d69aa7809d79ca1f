"""The floor: the least that any follower of a folder must do for a row. Shares no code with `tailer`.

Waits for inotify, reads the sidecar, reads what it newly promises with `pread`, prints one line: the end reached and
how many bytes it saw. No poll, no check, no position. `python floor.py FOLDER SEGMENT_FILE_NAME`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import inotify_simple


def main(folder: Path, log_name: str) -> None:
    sidecar = folder / log_name.replace(".log", "_cdc.idx")
    log = os.open(folder / log_name, os.O_RDONLY)
    watch = inotify_simple.INotify()
    watch.add_watch(str(folder), inotify_simple.flags.CLOSE_WRITE)
    os.write(1, b"ready\n")
    reached = 0
    while True:
        watch.read()
        first_line = sidecar.read_bytes().split(b"\n")[0]
        end = int(first_line or b"0")
        if end > reached:
            data = os.pread(log, end - reached, reached)
            reached = end
            os.write(1, b"%d %d\n" % (end, len(data)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
