"""The cap on `cdc_raw`: how much lies there for readers, and what is done when it is too much.

Counted are the segments with a sidecar at their length, and at full size what is not yet ended; not the spare one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, NamedTuple

from tailer.errors import CdcError, RefusedError, UsageError
from writer_hooks.disk import Files, read_small, replace_durably, sync_folder, unlink_if_there, whole_number
from writer_hooks.open_segment import Segment
from writer_hooks.places import Places, log_ids, sidecar_ids
from writer_hooks.writer_errors import disk_error

LOOK_SECONDS: Final = 1.0
"""How often a log that is at its cap looks whether there is room again."""


class Cap(NamedTuple):
    """How many bytes `cdc_raw` may take. `on_full`: changes of cdc tables are refused (`block`), or the oldest
    segments deleted, whoever needs them (`drop_oldest`), which frees disk only for what was discarded too."""

    bytes: int
    on_full: Literal["block", "drop_oldest"] = "block"


def check_cap(cap: Cap | None, segment_bytes: int) -> None:
    if cap is None:
        return
    if cap.bytes < segment_bytes:
        raise UsageError("cap", expected=f"at least a segment ({segment_bytes} bytes)", found=cap.bytes)
    if cap.on_full not in ("block", "drop_oldest"):
        raise UsageError("cap", expected="block or drop_oldest", found=cap.on_full)


def read_dropped(files: Files, places: Places) -> int:
    """The highest id that was ever dropped; 0 where none was."""
    text = read_small(files, places.dropped)
    remedy = "Write the highest id below all segments of the folder into this file."
    what = "which segments were dropped is not known"
    return 0 if text is None else whole_number(text, places.dropped, what, remedy)


def finish_drops(files: Files, places: Places) -> None:
    """Deletes what a run before has noted as dropped and did not come to delete."""
    dropped = read_dropped(files, places)
    names = files.names(places.cdc_raw)
    for segment in sorted({*log_ids(names), *sidecar_ids(names)}):
        if segment <= dropped:
            unlink_if_there(files, places.raw(segment))
            unlink_if_there(files, places.sidecar(segment))


class Captured:
    """What lies in `cdc_raw`. `finished`: up to this id segments are ended."""

    def __init__(self, files: Files, places: Places, segment_bytes: int, finished: int) -> None:
        self._files = files
        self._places = places
        self._segment_bytes = segment_bytes
        self._sizes: dict[int, int] = {}
        self.finished = finished

    def ended(self, segment: Segment) -> None:
        self._sizes[segment.id] = segment.at
        self.finished = segment.id

    def sizes(self, current: int) -> dict[int, int]:
        """Bytes by segment."""
        names = self._files.names(self._places.cdc_raw)
        named = set(sidecar_ids(names))
        found: dict[int, int] = {}
        for segment in log_ids(names):
            if segment > self.finished:
                if segment <= current:
                    found[segment] = self._segment_bytes
            elif segment in named:
                found[segment] = self._size(segment)
        self._sizes = {segment: size for segment, size in found.items() if segment <= self.finished}
        return found

    def _size(self, segment: int) -> int:
        size = self._sizes.get(segment)
        if size is None:
            try:
                fd = self._files.open(self._places.raw(segment), write=False)
            except FileNotFoundError:
                return 0
            try:
                # Others may ask at once, and forget what they have no use for.
                self._sizes[segment] = size = self._files.size(fd)
            finally:
                self._files.close(fd)
        return size


class Guard:
    """Keeps `cdc_raw` under its cap. `abort` ends transactions that would lose changes up to a segment."""

    def __init__(
        self,
        files: Files,
        places: Places,
        captured: Captured,
        cap: Cap,
        clock: Callable[[], float],
        abort: Callable[[int], None],
    ) -> None:
        self._files = files
        self._places = places
        self._captured = captured
        self._cap = cap
        self._clock = clock
        self._abort = abort
        self._refused: float | None = None
        self.dropped = read_dropped(files, places)
        self.trouble: CdcError | None = None
        """Why the last attempt to drop failed; None after one that did not."""

    def permit(self, segment: Segment) -> None:
        """Raises RefusedError where a change of a cdc table must not go into that segment. Called under the lock."""
        if self._cap.on_full != "block":
            return
        now = self._clock()
        if self._refused is not None and now - self._refused < LOOK_SECONDS:
            raise self._full()
        try:
            used = sum(self._captured.sizes(segment.id).values())
        except OSError as error:
            raise disk_error("it cannot be told how full cdc_raw is", error, self._places.cdc_raw) from error
        if used > self._cap.bytes:
            self._refused = now
            raise self._full()
        self._refused = None

    def _full(self) -> RefusedError:
        return RefusedError(
            "cdc_raw is at its cap, and takes no changes of cdc tables",
            file=str(self._places.cdc_raw),
            expected=f"at most {self._cap.bytes} bytes with another segment",
            found="more",
            remedy="Let its readers catch up and `cdc-tail clean` run, or open the log with a larger cap.",
        )

    def drop(self, current: int) -> None:
        """Deletes the oldest segments that are too many, never one that is not ended. Not called under the lock.

        Raises SyncFailedError; any other failure of the disk is `trouble` until the next attempt.
        """
        if self._cap.on_full != "drop_oldest":
            return
        try:
            self._drop_oldest(current)
            self.trouble = None
        except OSError as error:
            self.trouble = disk_error("segments could not be dropped, it is tried again", error)

    def _drop_oldest(self, current: int) -> None:
        sizes = self._captured.sizes(current)
        too_much = sum(sizes.values()) - self._cap.bytes
        for segment in sorted(sizes):
            if too_much <= 0 or segment > self._captured.finished:
                break
            self._drop(segment)
            too_much -= sizes[segment]

    def _drop(self, segment: int) -> None:
        # Noted first: a reader that finds the segment gone must know that it was not cleaned.
        replace_durably(self._files, self._places.dropped, b"%d\n" % segment)
        self.dropped = segment
        self._abort(segment)
        unlink_if_there(self._files, self._places.raw(segment))
        unlink_if_there(self._files, self._places.sidecar(segment))
        sync_folder(self._files, self._places.cdc_raw)
