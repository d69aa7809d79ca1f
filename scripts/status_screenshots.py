#!/usr/bin/env python3
"""Makes the pictures of the status page in docs/images, beside a workload that it runs itself.

    scripts/status_screenshots.py [--minutes 40] [--to FOLDER]

Two widths, two themes. The longer it runs the more of the consumers' last hour is there to be seen. Needs Chromium and
Pillow (which matplotlib brings).
"""

from __future__ import annotations

import argparse
import asyncio
import io
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Final

from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tailer.node_page.facts import Lease, NothingServed, Served
from tailer.node_page.look import StatusSource
from tests.helpers.chromium import available, tab
from tests.helpers.status_page import status_page
from tests.helpers.watched_node import WatchedNode
from tests.house.source_tree import ROOT

IMAGES: Final = Path("docs", "images")
WIDTHS: Final = (390, 1280)
HEIGHTS: Final = {390: 1500, 1280: 1800}
NODE: Final = "n1"
CAP: Final = 48 * 1024 * 1024
TURN_SECONDS: Final = 1.0
COLOURS: Final = 200


class Serving(NothingServed):
    """What a node would say that has served two readers since the workload began."""

    def __init__(self) -> None:
        self._began = time.time()

    def served(self) -> Served:
        ran = int(time.time() - self._began)
        leases = [
            Lease("billing", "spark, 10.0.4.17", self._began, time.time() + 41),
            Lease("search-index", "indexer, 10.0.4.23", self._began + ran / 2, time.time() + 55),
        ]
        return Served(
            ran * 61_234, {200: 4 * ran, 206: 11 * ran, 304: ran // 25, 416: ran // 90}, 2, leases, connections=5
        )


class Workload:
    """Consumers of several habits: one keeps up, one pauses, one reads in batches, one has been stopped."""

    def __init__(self, folder: Path) -> None:
        self.node = WatchedNode(folder, NODE)
        for consumer in ("billing", "search-index", "warehouse", "audit"):
            self.node.read(consumer)
        self.node.stop("audit")
        self._turns = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self.node.close()

    def _run(self) -> None:
        while not self._stop.wait(TURN_SECONDS):
            self._turn()
            self._turns += 1

    def _turn(self) -> None:
        turn, node = self._turns, self.node
        node.write(60)
        if turn % 75 == 74:
            node.roll()
        if turn % 400 == 30:
            node.write_unknown(2)
        node.read("billing")
        # Away for some minutes now and then, the second time for longer.
        if not (400 < turn % 1100 < 520 or 700 < turn % 1100 < 940):
            node.read("search-index")
        if turn % 170 == 0:
            node.read("warehouse")
        if turn % 600 == 599:
            # It is behind, is started for a moment, and stays behind again.
            node.read("audit")
            node.stop("audit")
            node.clean()


def small(picture: bytes) -> bytes:
    """The same with as many colours as such a page needs."""
    made = io.BytesIO()
    few = Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(made, "PNG", optimize=True)
    return made.getvalue()


async def pictures(address: str, folder: Path, profile: Path) -> None:
    async with tab(profile) as page:
        for width in WIDTHS:
            for dark in (False, True):
                await page.open(address, width, dark=dark)
                await page.until("document.querySelectorAll('#consumers tbody tr').length > 0")
                await page.until("document.querySelectorAll('.spark path[d]').length > 0")
                await asyncio.sleep(0.5)
                file = folder / f"status-{width}-{'dark' if dark else 'light'}.png"
                file.write_bytes(small(await page.screenshot(HEIGHTS[width])))
                print(f"{file}: {file.stat().st_size} bytes")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=40.0, help="for how long the workload runs before")
    parser.add_argument("--to", metavar="FOLDER", type=Path, default=ROOT / IMAGES)
    given = parser.parse_args()
    if (reason := available()) is not None:
        print(f"no Chromium: {reason}")
        return 1
    given.to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        workload = Workload(Path(place, "cassandra"))
        try:
            source = StatusSource(workload.node.folder, node=NODE, cap=CAP, facts=Serving())
            with status_page(source) as address:
                print(address, flush=True)
                time.sleep(60 * given.minutes)
                asyncio.run(pictures(address, given.to, Path(place)))
        finally:
            workload.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
