"""Deleting the writer's own segments that its store does not need any more."""

from __future__ import annotations

from tailer.errors import UsageError
from tailer.position import Position
from writer_hooks.disk import Files, sync_folder, unlink_if_there
from writer_hooks.own_restart import own_segments, restart_at
from writer_hooks.places import Places, sidecar_ids


def discard(files: Files, places: Places, position: Position, end: Position, keep: int, finished: int) -> int:
    """How many segments were deleted.

    `keep`: the first segment that the log itself needs. `finished`: only up to this one are ends durably published.
    Whatever `replay(position)` reads stays: it begins where the oldest transaction did that was open there.
    """
    if position > end:
        raise UsageError(
            "a position to discard before lies behind the log's durable end",
            expected=f"{end} or less",
            found=position,
            remedy="Give what the store has made durable: a ticket's position once it is done, or the log's end.",
        )
    restart = restart_at(files, places, position)
    first_needed = min(position.segment, restart.segment, keep)
    gone = [segment for segment in own_segments(files, places) if segment < first_needed and segment <= finished]
    if not gone:
        return 0
    named = set(sidecar_ids(files.names(places.cdc_raw)))
    for segment in gone:
        unlink_if_there(files, places.own(segment))
        # Before the next one goes: a power loss keeps unsynced names in any order, and an older segment that came back
        # in front of a newer one that did not would be a gap, which `replay` takes for a loss.
        sync_folder(files, places.commitlog)
        if segment not in named:
            # It never had anything for readers, and lost its link when it ended: unless that was lost in a crash.
            unlink_if_there(files, places.raw(segment))
    return len(gone)
