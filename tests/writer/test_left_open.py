"""No descriptor is left open where memory ends, or Ctrl-C comes, in the middle of any call to the disk."""

from __future__ import annotations

from contextlib import suppress

import pytest

from tailer.errors import CdcError
from tests.writer.crash.disk import Disk
from tests.writer.crash.files import Call, FakeFiles
from tests.writer.crash.session import FOLDER, open_log
from tests.writer.crash.tables import PLAIN, A, change_of
from writer_hooks.cap import Cap


def run(files: FakeFiles) -> None:
    """A log with segments, a drop at its cap, a discard, and an end, closed whatever comes."""
    log = open_log(files, cap=Cap(8192, "drop_oldest"))
    try:
        for number in range(8):
            log.append(change_of(A if number % 2 else PLAIN, (number,), 1600))
            log.sync()
        log.discard_before(log.end)
    finally:
        log.close()


def fresh() -> FakeFiles:
    disk = Disk()
    disk.make_folders(FOLDER)
    return FakeFiles(disk)


class Once(FakeFiles):
    """The disk, where the call of a number raises, once. Closing is not counted: the test would leave that open."""

    def __init__(self, disk: Disk, number: int, error: BaseException) -> None:
        super().__init__(disk, self._stop)
        self.seen = 0
        self.stopped: Call | None = None
        self.number = number
        self.error = error

    def _stop(self, call: Call) -> None:
        if call.name != "close":
            self.seen += 1
            if self.seen == self.number:
                self.stopped = call
                raise self.error


@pytest.mark.parametrize("error", [MemoryError, OSError], ids=lambda error: error.__name__)
@pytest.mark.parametrize("again", [False, True], ids=["a new log", "one that is recovered"])
def test_nothing_is_left_open(error: type[Exception], again: bool) -> None:
    first = fresh()
    if again:
        run(first)
    left = first.disk.snapshot()
    open_still = []
    number, ended = 0, False
    while not ended:
        number += 1
        files = Once(left.snapshot(), number, error("no more"))
        with suppress(error, CdcError):
            run(files)
        ended = files.seen < number
        if files.open_descriptors:
            open_still.append(f"{files.stopped}: {[path.name for path in files.open_descriptors]}")
    assert number > 100
    assert not open_still, "\n".join(open_still)
