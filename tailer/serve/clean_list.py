"""The list of cleaned segments as its readers elsewhere get it: its bytes, and a tag that changes with them. What
consumers lost each client is told of its own alone.

Any thread may ask. Decides nothing.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from tailer.serve.clients import Client
from tailer.state.cleaned import FILE_NAME, CleanedFile, decode_cleaned
from tailer.state.modes import open_to_read
from tailer.system_errors import told
from tailer.typed_decode import decode_json

NO_LIST: Final = "none"
"""The tag where there is no list yet: it is one too, for there may be one a moment later."""


@dataclass(frozen=True, slots=True)
class CleanedNow:
    """`text`: the file's bytes, none where there is no file."""

    tag: str
    text: bytes
    content: CleanedFile
    _shown: dict[str, bytes] = field(default_factory=dict)

    def shown_to(self, client: Client) -> bytes:
        """The file's bytes without the losses of other clients' consumers. Any thread may ask."""
        if all(map(client.owns, self.content.lost)):
            return self.text
        # By prefix: that alone decides what a client sees.
        if client.prefix not in self._shown:
            self._shown[client.prefix] = _without_others(self.text, client)
        return self._shown[client.prefix]


class CleanList:
    """Of one state folder."""

    def __init__(self, state: Path) -> None:
        self._path = state / FILE_NAME
        self._lock = threading.Lock()
        self._now = CleanedNow(NO_LIST, b"", CleanedFile())

    def refresh(self) -> CleanedNow:
        """The list as it is now: one `stat` where nothing has changed."""
        with self._lock, told("cannot read the state", self._path):
            try:
                tag = _tag(self._path.stat())
                if tag != self._now.tag:
                    self._now = self._read()
            except FileNotFoundError:
                self._now = CleanedNow(NO_LIST, b"", CleanedFile())
            return self._now

    def tag(self) -> str:
        """The tag of the list as it is now."""
        return self.refresh().tag

    def has(self, segment: int) -> bool:
        """Whether a segment is on record as cleaned now."""
        return segment in self.refresh().content

    def _read(self) -> CleanedNow:
        with os.fdopen(open_to_read(self._path), "rb") as file:
            text = file.read()
            tag = _tag(os.fstat(file.fileno()))
        return CleanedNow(tag, text.strip(), decode_cleaned(text, str(self._path)))


def _without_others(text: bytes, client: Client) -> bytes:
    said = decode_json(text, dict[str, msgspec.Raw])
    lost = decode_json(said["lost"], dict[str, msgspec.Raw])
    own = {name: ids for name, ids in lost.items() if client.owns(name)}
    return msgspec.json.encode({**said, "lost": own})


def _tag(status: os.stat_result) -> str:
    # Replaced whole at each change: a file that looks like this is this one.
    return f"{status.st_ino:x}-{status.st_mtime_ns:x}-{status.st_size:x}"
