"""Looks at the built site (`make docs`) in Chromium: pictures of some pages, and what is wrong with any.

    python scripts/site_pictures.py [PAGE…] [--to FOLDER] [--widths 390 1440] [--dark]

PAGE is a file of the site, as `index.html`; without one no pictures are made. Every page is opened at each width. The
exit code is 1 if one is wider than the window, lacks a picture, asks another host for something, or if the search finds
nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.helpers.chromium import Tab, available, tab
from tests.house.source_tree import ROOT

SITE: Final = ROOT / "build" / "site"
WIDTHS: Final = (390, 1440)
FIRST_SCREEN: Final = 900
WHOLE: Final = 16_000

WRONG: Final = """(width => [
    ...document.documentElement.scrollWidth > width ? [`is ${document.documentElement.scrollWidth} wide`] : [],
    ...[...document.images].filter(each => each.complete && !each.naturalWidth).map(each => `lacks ${each.src}`),
    ...performance.getEntriesByType("resource").map(each => each.name).filter(name => /^https?:/.test(name))
        .map(name => `asks ${name}`),
])"""
"""What is wrong with the page that is open, as lines."""

STILL: Final = "document.head.insertAdjacentHTML('beforeend', '<style>* { transition: none !important }</style>')"
"""A picture shows how things end, not how they come."""


async def look(page: Tab, file: Path, given: argparse.Namespace) -> list[str]:
    """One page at each width."""
    found = []
    name = file.relative_to(SITE).as_posix()
    for width in given.widths:
        await page.open(file.as_uri(), width, FIRST_SCREEN, dark=given.dark)
        found += [f"{name} at {width}: {each}" for each in await page.value(f"{WRONG}({width})")]
        if name in given.pages:
            await page.value(STILL)
            picture = f"{name.removesuffix('.html').replace('/', '-')}-{width}{'-dark' if given.dark else ''}"
            (given.to / f"{picture}.png").write_bytes(await page.screenshot(WHOLE))
            (given.to / f"{picture}-first.png").write_bytes(await page.screenshot(FIRST_SCREEN))
    return found


async def look_at_all(files: list[Path], given: argparse.Namespace) -> list[str]:
    with tempfile.TemporaryDirectory() as profile:
        async with tab(Path(profile)) as page:
            await page.open(f"{(SITE / 'index.html').as_uri()}?q=snapshot", WIDTHS[0])
            await page.until("document.querySelectorAll('.md-search-result__item').length > 0")
            return [line for file in files for line in await look(page, file, given)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pages", metavar="PAGE", nargs="*", help="a page to take pictures of")
    parser.add_argument("--to", metavar="FOLDER", type=Path, default=ROOT / "build" / "pictures")
    parser.add_argument("--widths", metavar="PIXELS", type=int, nargs="+", default=WIDTHS)
    parser.add_argument("--dark", action="store_true", help="as a system shows it that prefers dark colours")
    given = parser.parse_args()
    if missing := [name for name in ("index.html", *given.pages) if not (SITE / name).is_file()]:
        parser.error(f"{SITE} has no {', '.join(missing)}: make docs")
    if (reason := available()) is not None:
        print(f"no Chromium: {reason}")
        return 1
    given.to.mkdir(parents=True, exist_ok=True)
    wrong = asyncio.run(look_at_all(sorted(SITE.rglob("*.html")), given))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
