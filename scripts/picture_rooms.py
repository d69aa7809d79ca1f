"""What the architecture's picture shows: the rooms as boxes on levels, and which imports which. Knows no geometry."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from tests.house.import_graph import Arrow, Arrows, circles, floors, modules, reduced, room_arrows, room_of
from tests.house.levels import LEVELS

LEVEL_OF: Final = {name: level for level, names in enumerate(LEVELS, 1) for name in names}
BESIDE: Final = " · "
"""Between the names of what shares a box."""

DOOR: Final = "api"
"""The box that `tailer`'s own `__init__` belongs to."""

LOOSE: Final = "tailer/*.py"
"""The box of modules directly in `tailer` that have no level of their own."""


class Box(NamedTuple):
    """A room. `line` says what it does; empty where it does not say so itself."""

    name: str
    line: str
    level: int


def boxes(root: Path) -> tuple[dict[str, Box], Arrows]:
    """The boxes by name, and of the imports between them those that do not follow from others.

    Rooms that import each other share one box. A box lies on the level of the table that names it, but above all that
    it imports; one that the table does not name lies just above that.
    """
    rooms = {room_of(module) for module in modules(root)}
    name_of = {room: _box_of(room, root) for room in rooms}
    arrows = _renamed(room_arrows(root), name_of)
    together = {name: BESIDE.join(circle) for circle in circles(arrows) for name in circle}
    arrows = _renamed(arrows, {name: together.get(name, name) for name in name_of.values()})
    names = sorted({together.get(name, name) for name in name_of.values()})
    levels = _levels(names, arrows)
    return {name: Box(name, _line(name, root), levels[name]) for name in names}, reduced(arrows)


def _box_of(room: str, root: Path) -> str:
    name = room.removeprefix("tailer.")
    if room == "tailer":
        return DOOR
    if name in LEVELS[0]:
        return BESIDE.join(each for each in LEVELS[0] if (root / "tailer" / f"{each}.py").exists())
    is_loose = room != name and not (root / "tailer" / name).is_dir()
    return LOOSE if is_loose and name not in LEVEL_OF else name


def _renamed(arrows: Arrows, names: Mapping[str, str]) -> Arrows:
    renamed = (Arrow(names[importer], names[imported]) for importer, imported in arrows)
    return frozenset(arrow for arrow in renamed if arrow.importer != arrow.imported)


def _levels(names: list[str], arrows: Arrows) -> dict[str, int]:
    level: dict[str, int] = {}
    order = floors(names, arrows)
    for name in sorted(names, key=lambda name: (order[name], name)):
        below = max((level[imported] for importer, imported in arrows if importer == name), default=0)
        level[name] = max(LEVEL_OF.get(name.split(BESIDE)[0], 1), below + 1)
    return level


def _line(name: str, root: Path) -> str:
    """The first sentence of the module or the folder."""
    places = (root / "tailer" / f"{name}.py", root / "tailer" / name / "__init__.py", root / name / "__init__.py")
    file = next((place for place in places if place.exists()), None)
    told = ast.get_docstring(ast.parse(file.read_text("utf-8"))) if file else None
    return re.split(r"\.(?:\s|$)", " ".join((told or "").split()), maxsplit=1)[0].replace("`", "")
