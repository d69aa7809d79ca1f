"""A checkout's imports as arrows, and what graphs tell: circles, floors, the arrows that follow from others.

An arrow leads from who imports to what is imported. Knows no folder's meaning and no law.
"""

from __future__ import annotations

from collections.abc import Iterable
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

from tests.house.source_tree import ROOT, imports, module_name, python_files


class Arrow(NamedTuple):
    """`importer` imports `imported`: modules, or rooms."""

    importer: str
    imported: str


Arrows = frozenset[Arrow]


def modules(root: Path = ROOT) -> frozenset[str]:
    return frozenset(module_name(file, root) for file in python_files(root))


def module_arrows(root: Path = ROOT) -> Arrows:
    """Between the modules of the packages; all imports count, those in functions and behind TYPE_CHECKING too."""
    known = modules(root)
    found = ((importer, _module_of(target, known)) for importer, target, _ in imports(root))
    return frozenset(Arrow(importer, to) for importer, to in found if to is not None and to != importer)


def room_of(module: str) -> str:
    """A folder or a module directly in `tailer` (`tailer` itself: its `__init__`), or a package beside it."""
    first, _, rest = module.partition(".")
    return f"{first}.{rest.partition('.')[0]}" if first == "tailer" and rest else first


def room_arrows(root: Path = ROOT) -> Arrows:
    rooms = (Arrow(room_of(importer), room_of(imported)) for importer, imported in module_arrows(root))
    return frozenset(arrow for arrow in rooms if arrow.importer != arrow.imported)


def circles(arrows: Arrows) -> list[tuple[str, ...]]:
    """Names that import each other, in one step or over others: each such set once."""
    within = _reach(arrows)
    together = {tuple(sorted(other for other in within[name] if name in within[other])) for name in within}
    return sorted(names for names in together if names)


def floors(names: Iterable[str], arrows: Arrows) -> dict[str, int]:
    """How many imports in a row lie below a name at most, from 1 on; a circle lies on one floor."""
    home = {name: circle[0] for circle in circles(arrows) for name in circle}
    below: dict[str, set[str]] = {home.get(name, name): set() for name in names}
    for importer, imported in arrows:
        if (lower := home.get(imported, imported)) != (upper := home.get(importer, importer)):
            below[upper].add(lower)
    floor: dict[str, int] = {}
    for name in TopologicalSorter(below).static_order():
        floor[name] = 1 + max((floor[lower] for lower in below[name]), default=0)
    return {name: floor[home.get(name, name)] for name in names}


def reduced(arrows: Arrows) -> Arrows:
    """Without those that follow from the others. There must be no circle."""
    out, within = _out(arrows), _reach(arrows)
    return frozenset(
        arrow for arrow in arrows if not any(arrow.imported in within[other] for other in out[arrow.importer])
    )


def _module_of(target: str, known: frozenset[str]) -> str | None:
    """The module that an import's name lies in, or is; None for a foreign one."""
    while target not in known and "." in target:
        target = target.rpartition(".")[0]
    return target if target in known else None


def _out(arrows: Arrows) -> dict[str, set[str]]:
    """What each name imports itself."""
    out: dict[str, set[str]] = {name: set() for arrow in arrows for name in arrow}
    for importer, imported in arrows:
        out[importer].add(imported)
    return out


def _reach(arrows: Arrows) -> dict[str, set[str]]:
    """What each name imports, in any number of steps."""
    out = _out(arrows)
    reach: dict[str, set[str]] = {name: set() for name in out}
    for name in out:
        waiting = [name]
        while waiting:
            new = out[waiting.pop()] - reach[name]
            reach[name] |= new
            waiting += new
    return reach
