"""Histories that once found a fault of the product: each stays, as a file of the folder `regressions`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.simulation.runs import Plan

FOLDER: Final = Path(__file__).with_name("regressions")


def plans() -> Iterator[tuple[str, Plan]]:
    """By name. A file has what a history is drawn from, and `fault`: what it found, in words."""
    for file in sorted(FOLDER.glob("*.json")):
        given = json.loads(file.read_text("utf-8"))
        del given["fault"]
        given["only"] = tuple(given["only"]) if "only" in given else None
        yield file.stem, Plan(**given)
