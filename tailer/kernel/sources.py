"""A number for the sources of the compiled code, which is a part of the name that it is kept under (`store`)."""

from __future__ import annotations

import pkgutil
from hashlib import blake2b
from typing import Final

_SOURCES: Final = {
    "tailer.kernel": (
        "aside", "blocks", "bounds", "chain", "columns", "crc", "flat", "folding", "ids", "inserts", "jit", "making",
        "mutations", "rows", "sections", "updates", "vints", "walk", "words",
    ),
    "tailer.kernel.records": (
        "cells", "entries", "flat", "heads", "ids", "kinds", "pieces", "rows", "short", "state", "times",
    ),
    "tailer.types.fast": ("digits", "floats", "memory", "plan", "runs", "scalars", "times", "token", "values"),
    "tailer.change.fast": ("arrays", "cells", "columns", "lines", "rows", "tables", "work"),
    "tailer.change.typed": ("decode", "deltas", "events", "fold", "narrow", "parts", "pick", "sparse"),
    "tailer.format": ("chain", "entry", "index", "record", "record_head", "section", "tables", "walk"),
    "tailer.format.native": ("cells", "rows", "scan", "times", "walk"),
    "tailer": ("limits",),
}  # fmt: skip


def sources_number() -> int:
    """63 bits of a digest of all files that the compiled code is made of."""
    digest = blake2b(digest_size=8)
    for package, modules in _SOURCES.items():
        for module in modules:
            digest.update(pkgutil.get_data(package, f"{module}.py") or b"")
    return int.from_bytes(digest.digest(), "big") >> 1


SOURCES: Final = sources_number()
