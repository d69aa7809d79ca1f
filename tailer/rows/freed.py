"""Memory that a build has freed is kept for the next one. Importing this is enough."""

from __future__ import annotations

from typing import Final

import numpy as np

from tailer.limits import MIB

_LARGE_BYTES: Final = 31 * MIB


def _keep_freed_memory() -> None:
    """Makes glibc keep what is freed for the next build instead of giving it back to the system each time.

    Fresh memory costs several times what is done with it. glibc learns from the largest block freed, up to 32 MiB;
    this one is never touched.
    """
    np.empty(_LARGE_BYTES, np.uint8)


_keep_freed_memory()
