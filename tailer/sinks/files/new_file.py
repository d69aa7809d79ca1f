"""A file that is written once, from its beginning to its end, and is durable before it gets its name."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any, Final

from tailer.on_disk import SafeOpen

DATA_FILES: Final = SafeOpen("the folder of data files")


class NewFile:
    """A stream of bytes, also for pyarrow. `bytes`: how many it was given. Failures are those of `SafeOpen`."""

    closed = False
    """For pyarrow, which asks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes = 0
        self._digest = hashlib.sha256()
        # Without a buffer: what is left in one would be tried again when a full disk is given up.
        self._file = os.fdopen(DATA_FILES.new(path), "wb", buffering=0)

    @property
    def sha256(self) -> str:
        """Of all that it was given, in hex."""
        return self._digest.hexdigest()

    def write(self, data: Any) -> int:
        left = memoryview(data).cast("B")
        length = len(left)
        self._digest.update(left)
        while left:
            left = left[self._file.write(left) :]
        self.bytes += length
        return length

    def tell(self) -> int:
        return self.bytes

    def flush(self) -> None:
        """Nothing is kept back."""

    def finish(self) -> None:
        """All of it is durable when this returns; its name is not."""
        os.fsync(self._file.fileno())
        self._file.close()

    def give_up(self) -> None:
        """Nobody wants it any more."""
        self._file.close()
        self.path.unlink(missing_ok=True)
