"""A number for the sources of the compiled code, which is a part of the name that it is kept under (`store`)."""

from __future__ import annotations

import pkgutil
from hashlib import blake2b
from typing import Final

_SOURCES: Final = {
    "tailer": ("limits",),
    "tailer.jit": ("decorators", "memory", "vints", "with_numba", "words"),
    "tailer.framing": ("chain", "entry", "section"),
    "tailer.framing.compiled": ("blocks", "chain", "crc", "folding", "lz4", "sections"),
    "tailer.scan": ("index", "tables"),
    "tailer.scan.compiled": ("block", "lines", "one_row"),
    "tailer.scan.mutation": ("flags", "walk"),
    "tailer.scan.mutation.compiled": (
        "bounds", "columns", "flat", "ids", "mutations", "rows", "straight", "straight_timed", "straight_values",
        "times", "updates",
    ),
    "tailer.scan.record": ("cells", "head", "heads", "record", "rows", "scan", "times", "walk"),
    "tailer.scan.record.compiled": (
        "cells", "entries", "flat", "heads", "ids", "kinds", "pieces", "rows", "state", "straight", "times",
    ),
    "tailer.types": ("forms", "kinds", "printed", "token"),
    "tailer.types.compiled": ("counters", "digits", "floats", "plan", "runs", "scalars", "times", "token", "values"),
    "tailer.rows.generic.compiled": (
        "arrays", "cells", "columns", "lines", "ranges", "rows", "tables", "times", "work",
    ),
    "tailer.rows.typed.compiled": (
        "chosen", "decimals", "decode", "deltas", "events", "parts", "sparse", "sparse_cells", "straight",
        "straight_multi", "weave",
    ),
    "tailer.rebuild": ("facts",),
    "tailer.images": ("image", "packed"),
    "tailer.images.compiled": ("lines",),
    "tailer.snapshot.compiled": ("split",),
    "tailer.image_state.compiled": (
        "above", "elements", "facts", "image", "keys", "merge", "pack", "served", "served_block", "served_keys",
        "standing", "values", "view", "whole", "work",
    ),
}  # fmt: skip


def sources_number() -> int:
    """63 bits of a digest of all files that the compiled code is made of."""
    digest = blake2b(digest_size=8)
    for package, modules in _SOURCES.items():
        for module in modules:
            digest.update(pkgutil.get_data(package, f"{module}.py") or b"")
    return int.from_bytes(digest.digest(), "big") >> 1


SOURCES: Final = sources_number()
