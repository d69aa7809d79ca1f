#!/usr/bin/env python3
"""Draws `docs/architecture.svg` from the imports: the rooms on their levels, and who imports whom.

    scripts/draw_architecture.py [--check] [--root CHECKOUT]

`--check` writes nothing and exits 1 where the picture is not current.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.picture_rooms import boxes
from scripts.picture_svg import svg
from tests.house.source_tree import ROOT

PICTURE: Final = Path("docs", "architecture.svg")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Draws docs/architecture.svg from the imports.")
    parser.add_argument("--check", action="store_true", help="only say whether it is current")
    parser.add_argument("--root", metavar="CHECKOUT", type=Path, default=ROOT, help="default: this one")
    given = parser.parse_args(arguments)
    file, drawn = given.root / PICTURE, svg(*boxes(given.root))
    if not given.check:
        file.write_text(drawn, "utf-8")
    elif not file.exists() or file.read_text("utf-8") != drawn:
        print(f"{PICTURE} is not current: run scripts/draw_architecture.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
