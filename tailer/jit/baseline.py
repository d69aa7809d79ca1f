"""Object code that a wheel carries: for which machines it is made, and whether this one is such a machine.

It is made where a wheel is built (`scripts/object_code.py`), for Linux on x86-64-v2 with carry-less multiplication,
which nearly every processor since 2011 is at least. The code names nothing of Python's and nothing of the C library's
but `memcpy` and `memset`: every Python there can load it. Knows no numba.
"""

from __future__ import annotations

import os
import platform
import sys
from hashlib import blake2b
from pathlib import Path
from typing import Final

from tailer.jit.sources import SOURCES

CARRIED: Final = Path(__file__).resolve().parent / "object_code"
"""Where a wheel puts it, in a folder of the name `baseline_name`. A clone has none."""

VARIABLES: Final = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")
"""They name another processor to compile for than the one that is there."""

_PROCESSOR: Final = "x86-64-v2"
_FEATURES: Final = {
    "cx16": "cx16",
    "pclmul": "pclmulqdq",
    "popcnt": "popcnt",
    "sahf": "lahf_lm",
    "sse3": "pni",
    "sse4.1": "sse4_1",
    "sse4.2": "sse4_2",
    "ssse3": "ssse3",
}
"""What such a processor can beyond every other of 64 bits: as LLVM names it, and as Linux does."""


def made_for() -> dict[str, str]:
    """The variables with which numba compiles for these processors."""
    return dict(zip(VARIABLES, (_PROCESSOR, ",".join(f"+{name}" for name in _FEATURES)), strict=True))


def baseline_name() -> str:
    """Names the machines and the sources that the code is for: code of other sources is not found."""
    digest = blake2b(repr((made_for(), SOURCES)).encode(), digest_size=8)
    return f"linux-{_PROCESSOR}-{digest.hexdigest()}"


def is_such_a_machine(processor: str) -> bool:
    """Whether the code runs here. `processor`: what Linux tells of the processor, its features among it."""
    if any(variable in os.environ for variable in VARIABLES):
        return False
    if sys.platform != "linux" or platform.machine() != "x86_64" or sys.maxsize < 1 << 32:
        return False
    return set(processor.split()) >= set(_FEATURES.values())
