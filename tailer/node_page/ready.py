"""Whether a node's folder and state can be used now: sentences of what is wrong. Writes nothing to find out."""

from __future__ import annotations

import os
from typing import Final

from tailer.errors import CdcError
from tailer.limits import MIB
from tailer.node_page.look import StatusSource
from tailer.state.consumers import consumer_names
from tailer.state.log_folder import log_state
from tailer.system_errors import may, no_permission, told

FREE_MIN: Final = MIB
"""Bytes that the state's volume must have free: a position cannot be kept without."""


def unready(source: StatusSource) -> list[str]:
    """Why the folder cannot be listed, or the state not be read and written. For a thread: a disk may not answer."""
    wrong = []
    for check in (_folder, _state):
        try:
            wrong += check(source)
        except CdcError as error:
            wrong.append(error.sentence())
        except FileNotFoundError as error:
            wrong.append(f"{error.strerror}: {error.filename}")
    return wrong


def _folder(source: StatusSource) -> list[str]:
    with told("cannot list the log folder", source.folder), os.scandir(source.folder) as found:
        next(found, None)
    return []


def _state(source: StatusSource) -> list[str]:
    state = log_state(source.folder, source.state)
    consumer_names(state)
    place = next(each for each in (state, *state.parents) if each.exists())
    with told("cannot look at the state folder", place):
        volume = os.statvfs(place)
    wrong = []
    if not may(place, "rwx"):
        wrong.append(no_permission("cannot write the state", place, writes=True).sentence())
    elif volume.f_flag & os.ST_RDONLY:
        wrong.append(f"the state lies on a volume that cannot be written ({place})")
    if volume.f_bavail * volume.f_frsize < FREE_MIN:
        wrong.append(f"the state's volume is full ({place})")
    return wrong
