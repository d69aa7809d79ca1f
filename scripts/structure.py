#!/usr/bin/env python3
"""Measures how checkouts of this project are built: rooms, imports, sizes, and how often one thing is stated.

    scripts/structure.py [CHECKOUT ...] [--json FILE]

A checkout is read, never imported, and none of its folders is known here: so one before a change and one after it can
stand side by side. Without a name: the one this script lies in.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.statements import Words, files_with_type, option_places, options
from tests.house.import_graph import circles, floors, module_arrows, modules, room_arrows, room_of
from tests.house.source_tree import ROOT, python_files, tree

LONG_FUNCTION_LINES: Final = 40

Measures = dict[str, Any]
"""By a measure's name a number, or several by their names; `details` is for reading on, not for the table."""


def measure(root: Path, asked: set[Words]) -> Measures:
    """`asked`: the options whose places are counted."""
    types, stated = files_with_type(root), option_places(root, asked)
    places = [found["places"] for found in stated.values()]
    sizes, details = _sizes(root)
    graph, more = _graph(root)
    return {
        **graph,
        "files that name a CQL type": {
            "min": min(types.values()),
            "median": median(types.values()),
            "max": max(types.values()),
        },
        "places of an option": {"median": median(places or [0]), "max": max(places, default=0)},
        **sizes,
        "details": {**more, **details, "types": types, "options": stated},
    }


def _graph(root: Path) -> tuple[Measures, Measures]:
    files = python_files(root)
    loose = [file.name for file in files if file.parent == root / "tailer" and file.name != "__init__.py"]
    between_files, between_rooms = module_arrows(root), room_arrows(root)
    rooms = {room_of(module) for module in modules(root)}
    rounds = circles(between_files)
    measures = {
        "loose modules": len(loose),
        "folders with Python files": len({file.parent for file in files}),
        "rooms (a loose module is one)": len(rooms),
        "floors of rooms": max(floors(rooms, between_rooms).values(), default=0),
        "arrows between rooms": len(between_rooms),
        "arrows between files": len(between_files),
        "circles of files": len(rounds),
        "circles of rooms": len(circles(between_rooms)),
    }
    return measures, {"loose": loose, "rooms": sorted(rooms), "circles": rounds}


def _sizes(root: Path) -> tuple[Measures, Measures]:
    files = {str(file.relative_to(root)): _lines(file) for file in python_files(root)}
    functions = {
        f"{file.relative_to(root)}:{node.lineno} {node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for file in python_files(root)
        for node in ast.walk(tree(file))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    long = {name: lines for name, lines in functions.items() if lines > LONG_FUNCTION_LINES}
    source, tests = sum(files.values()), sum(map(_lines, (root / "tests").rglob("*.py")))
    measures = {
        "files": len(files),
        "source lines": source,
        "test lines": tests,
        "tests ÷ source": round(tests / source, 2),
        "lines of a file": _spread(list(files.values())),
        "lines of a function": _spread(list(functions.values())),
        f"functions over {LONG_FUNCTION_LINES} lines": len(long),
    }
    return measures, {"long functions": long}


def _lines(file: Path) -> int:
    return len(file.read_text("utf-8").splitlines())


def _spread(numbers: list[int]) -> dict[str, float]:
    ordered = sorted(numbers)
    return {"median": median(ordered), "p90": ordered[len(ordered) * 9 // 10], "max": ordered[-1]}


def table(names: Sequence[str], measured: Sequence[Measures]) -> str:
    """A line a measure, a column a checkout."""
    rows = [["", *names]]
    for name, first in measured[0].items():
        if name != "details":
            told = f"{name} ({' / '.join(first)})" if isinstance(first, dict) else name
            rows.append([told, *(_told(measures[name]) for measures in measured)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows
    )


def _told(value: Any) -> str:
    return " / ".join(f"{number:g}" for number in value.values()) if isinstance(value, dict) else f"{value:,}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measures how checkouts of this project are built.")
    parser.add_argument("checkouts", metavar="CHECKOUT", nargs="*", type=Path, default=[ROOT])
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all measures there, with what they count")
    given = parser.parse_args(arguments)
    roots = [root.resolve() for root in given.checkouts]
    # The same ones in each, or a checkout that hides its options would look better.
    asked = set().union(*map(options, roots))
    names, measured = [root.name for root in roots], [measure(root, asked) for root in roots]
    if given.json:
        told = [{"checkout": name, **measures} for name, measures in zip(names, measured, strict=True)]
        given.json.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(table(names, measured))
    return 0


if __name__ == "__main__":
    sys.exit(main())
