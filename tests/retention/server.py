"""A server as a log folder shows it: links, sidecars in any order, late links, restarts that link anew. Made by hand.

Knows which sections of which segment hold captured changes: what consumers must have been given, in the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.helpers.log_writer import (
    LogFolder,
    SegmentWriter,
    completed,
    insert_payload,
    live,
    restarted,
    segment_of,
    simple_table,
)

PAYLOAD = insert_payload(simple_table("ks", "t"), 1, "a", 1)
FIRST = 1_700_000_000_001


@dataclass
class Made:
    """One segment of the server. `captured`: it holds changes of CDC tables; `closed`: nothing is written any more.

    `held`: it is in the server's own folder. `shown`: it was linked into cdc_raw at some time.
    """

    writer: SegmentWriter
    captured: bool = False
    synced: bool = False
    closed: bool = False
    held: bool = True
    shown: bool = False

    @property
    def id(self) -> int:
        return self.writer.segment


class MadeServer:
    """Each method is something that servers do; those that cannot happen now do nothing."""

    def __init__(self, path: Path) -> None:
        self.folder = LogFolder(path / "cdc_raw")
        self._own = LogFolder(path / "commitlog")
        self.all: dict[int, Made] = {}
        self._next = FIRST
        self.active = self._begin(shown=True)

    @property
    def path(self) -> Path:
        return self.folder.path

    def present(self) -> set[int]:
        """Ids of the logs in cdc_raw."""
        return {int(log.stem.split("-")[2]) for log in self.path.glob("*.log")}

    def write(self, captured: bool) -> None:
        """A section in the active segment, on disk but promised by nobody. Captured ones need the link in cdc_raw."""
        made = self.active
        if captured and not made.shown:
            return
        made.writer.section([PAYLOAD])
        made.captured = made.captured or captured
        self._append(made)

    def sync(self) -> None:
        self._publish(self.active, live(self.active.writer))

    def roll(self, shown: bool) -> None:
        """A new active segment, which may be linked into cdc_raw only later; the old one is closed when it is."""
        self.active = self._begin(shown)

    def link_late(self) -> None:
        """Space came free: the active segment is captured from now on."""
        self._show(self.active)

    def show_closing(self, number: int, *, closes: bool) -> None:
        """A segment that is no longer the active one gets its link late, and then holds changes too."""
        left = [made for made in self.all.values() if made is not self.active and not made.closed]
        waiting = [made for made in left if not made.shown]
        if waiting:
            made = waiting[number % len(waiting)]
            self._show(made)
            made.writer.section([PAYLOAD])
            made.captured = True
            self._append(made)
            if closes:
                made.closed = True
                self._publish(made, completed(made.writer))

    def close(self, number: int) -> None:
        """The flush thread closes one of the segments that were left, in any order."""
        closing = [made for made in self.all.values() if not made.closed and made is not self.active]
        if closing:
            made = closing[number % len(closing)]
            made.closed = True
            self._publish(made, completed(made.writer))

    def close_all(self) -> None:
        while any(not made.closed and made is not self.active for made in self.all.values()):
            self.close(0)

    def release(self, number: int, *, deletes_bare: bool) -> None:
        """The server needs a closed segment no more. One without captured changes it deletes in cdc_raw too, mostly."""
        ready = [made for made in self.all.values() if made.closed and made.held]
        if ready:
            self._let_go(ready[number % len(ready)], deletes_bare)

    def restart(self) -> None:
        """Killed and started again: all that is in its own folder is linked anew, completed, replayed, and let go."""
        for made in [made for made in self.all.values() if made.held]:
            if made.id not in self.present() and (made.shown or made.captured):
                (self.path / made.writer.name).hardlink_to(self._own.path / made.writer.name)
            made.closed = True
            self._publish(made, restarted(made.writer))
            self._let_go(made, deletes_bare=True)
        self.active = self._begin(shown=True)

    def _begin(self, shown: bool) -> Made:
        made = Made(segment_of(self._next, []))
        self._next += 1
        self.all[made.id] = made
        self._own.put(made.writer)
        if shown:
            self._show(made)
        return made

    def _show(self, made: Made) -> None:
        if not made.shown:
            (self.path / made.writer.name).hardlink_to(self._own.path / made.writer.name)
            made.shown = True

    def _append(self, made: Made) -> None:
        log = self._own.path / made.writer.name
        with log.open("r+b") as file:
            file.write(made.writer.data)

    def _publish(self, made: Made, text: str) -> None:
        if made.captured:
            self.folder.sidecar(made.writer, text)
            made.synced = True

    def _let_go(self, made: Made, deletes_bare: bool) -> None:
        (self._own.path / made.writer.name).unlink()
        made.held = False
        if deletes_bare and not made.captured:
            (self.path / made.writer.name).unlink(missing_ok=True)
