"""A snapshot that the process reads which has the state: asks for it, shows how far it is, and waits for its end."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from tailer.errors import RefusedError, UsageError
from tailer.image_state.asked import Asked, Reply, ask, replied, withdraw
from tailer.image_state.file import reading
from tailer.image_state.snapshots import snapshot_of, snapshots_in
from tailer.snapshot.progress import Show, Snapshot

TAKEN_SECONDS: Final = 30.0
LOOK_SECONDS: Final = 0.5


def snapshot_elsewhere(folder: Path, tables: tuple[str, ...], show: Show) -> list[Snapshot]:
    """The snapshots of these tables (names and globs; none for all), once they are at their end.

    RefusedError where nobody takes it, UsageError where the process cannot read them. `show`: called with how far
    each is.
    """
    before = _held(folder)
    asked = ask(folder, tables)
    reply = _reply(folder, asked)
    while True:
        said = replied(folder, asked)
        if said is not None and said.reason:
            raise UsageError(f"the process that has the state of images: {said.reason}", file=str(folder))
        # Without tables that the server does not have any more.
        reply = said or reply
        with reading(folder) as seen:
            found = [snapshot_of(seen, id) for id in reply.tables]
        news = [each for each in found if each is not None and each.id not in before]
        for each in news:
            show(each)
        if len(news) == len(reply.tables) and all(each.ended for each in news):
            return news
        time.sleep(LOOK_SECONDS)


def _held(folder: Path) -> set[str]:
    """The ids of the snapshots that are at their end."""
    with reading(folder) as seen:
        return {each.id for each in snapshots_in(seen) if each.ended}


def _reply(folder: Path, asked: Asked) -> Reply:
    deadline = time.monotonic() + TAKEN_SECONDS
    while (found := replied(folder, asked)) is None:
        if time.monotonic() > deadline:
            withdraw(folder)
            raise RefusedError(
                "the process that has the state of images does not take what it is asked",
                file=str(folder),
                remedy="Is it `follow --image` of this version, and no other snapshot under way? Look at what it says.",
            )
        time.sleep(LOOK_SECONDS)
    return found
