"""`cdc_raw/NEWEST`: the newest segment that an entry was written into, so that an open notices when it is gone.

It lies beside the readers' names, as the writer's own folder may be gone as a whole. It is durable before the first
entry of its segment is written, and is lowered before a segment is deleted that came to no entry: at any crash the
segment that it names is there. A log of an earlier version has none.
"""

from __future__ import annotations

from collections.abc import Collection

from tailer.errors import LossError
from tailer.position import Position
from writer_hooks.disk import Files, read_small, replace_durably, whole_number
from writer_hooks.places import Places


def write_newest(files: Files, places: Places, segment: int) -> None:
    """Durable when this returns."""
    replace_durably(files, places.newest, b"%d\n" % segment)


def read_newest(files: Files, places: Places) -> int | None:
    """None where there is no such file. Raises RefusedError where it says nothing."""
    text = read_small(files, places.newest)
    if text is None:
        return None
    remedy = "If the log's own segments are all there, delete this file and open the log again."
    return whole_number(text, places.newest, "which segment was the newest is not known", remedy)


def check_newest(places: Places, newest: int | None, own: Collection[int], last: int | None) -> None:
    """`own`: the segments that the writer has; `last`: the newest of them that has an entry. Raises LossError where the
    newest segment, or all of them, are gone."""
    if not newest or newest in own:
        return
    if last is not None and last > newest:
        # An earlier version, which does not write NEWEST, wrote on and discarded it. Segments that are missing between
        # others show in the headers.
        return
    # A higher segment without an entry proves nothing: the spare is there after nearly every kill.
    raise LossError(
        "the newest segment of the log is gone",
        at=Position(newest, 0),
        file=str(places.own(newest)),
        expected="it, which has changes",
        found=f"{last} as the newest" if last else "no segment with changes",
        remedy=f"Restore what is missing: cp --link --no-clobber {places.cdc_raw}/CommitLog-*.log {places.commitlog}/ "
        f"where readers' names of it are left, else from a copy. Or delete {places.newest} to go on without it.",
    )
