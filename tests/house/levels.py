"""Who may import whom: the rooms by level, the lowest first. A room imports lower levels only."""

from __future__ import annotations

from typing import Final

LEVELS: Final[tuple[tuple[str, ...], ...]] = (
    ("errors", "limits", "on_disk", "paced_answer", "position", "system_errors", "typed_decode", "versions"),
    ("jit",),
    ("framing", "types"),
    ("scan",),
    ("schema", "segments"),
    ("rows", "options", "stores"),
    ("reading", "sinks", "rebuild", "state"),
    ("archive", "definitions", "images", "wire"),
    ("snapshot",),
    ("image_state", "planning", "remote"),
    ("comparing", "tail", "retention"),
    ("api", "metrics", "shipping", "spark"),
    ("node_page", "writer_hooks"),
    ("demo", "serve"),
    ("cli",),
)
LEVEL_OF: Final = {room: level for level, rooms in enumerate(LEVELS, 1) for room in rooms}


def room(module: str) -> str:
    """The room of one of our modules. The lowest level is one; the door (`tailer` itself) is above what it opens."""
    package, *rest = module.split(".")
    if package == "pyspark_cdc_tail":
        return "spark"
    if package == "tailer":
        name = rest[0] if rest and rest[0] in LEVEL_OF else "api"
        return LEVELS[0][0] if name in LEVELS[0] else name
    return package
