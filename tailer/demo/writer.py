"""A small shop that writes its orders to a log of its own, through `writer_hooks`. Knows no reader.

    FOLDER/commitlog/   the writer's own folder
    FOLDER/cdc_raw/     hard links of the same files, and the sidecars

`python -m tailer.demo.writer FOLDER` writes for as many seconds as a line on its standard input says, and prints a JSON
line for each change that is durable. Killed at any moment, it goes on where it stopped when it is started again.
"""

from __future__ import annotations

import json
import random
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import Final

import msgspec

from writer_hooks import SegmentLog, Table, Ticket, batch

SEGMENT_BYTES: Final = 128 * 1024
"""Small, so that some are finished while one looks."""
ACTS_A_SECOND: Final = 20

_ARTICLES: Final = ("tea", "coffee", "rye bread", "butter", "pears", "ink", "paper", "candles")
_CITIES: Final = ("Oslo", "Porto", "Kyiv", "Lyon", "Gdańsk", "Graz")


class Customer(msgspec.Struct):
    name: str
    city: str


class Order(msgspec.Struct):
    number: int
    status: str
    customer: Customer | None = None
    total: Decimal | None = None


class Line(msgspec.Struct):
    number: int
    line: int
    article: str
    pieces: int


ORDERS: Final = Table.of(Order, "shop.orders", key=["number"])
LINES: Final = Table.of(Line, "shop.lines", key=["number"], clustering=["line"])


class Shop:
    """Its orders live in the log alone: `last` is the highest number that a replay of it finds."""

    def __init__(self, folder: Path) -> None:
        self.log = SegmentLog.open(folder, tables=[ORDERS, LINES], sync=batch(), segment_bytes=SEGMENT_BYTES)
        self.last = max((row.key["number"] for change in self.log.replay() for row in change.rows()), default=0)
        self._random = random.Random(self.last)

    def act(self) -> Ticket | None:
        """One thing that happens in the shop; its ticket, None for an order that is given up before it is placed."""
        chance = self._random.random()
        if self.last > 3 and chance < 0.3:
            status = self._random.choice(("paid", "packed", "sent"))
            return self.log.append(ORDERS.update({"number": self._some(), "status": status}))
        if self.last > 8 and chance < 0.36:
            return self.log.append(LINES.delete({"number": self._some(), "line": 1}))
        transaction = self.log.begin()
        self.last += 1
        total = Decimal(0)
        for line in range(1, self._random.randint(2, 4)):
            pieces = self._random.randint(1, 9)
            transaction.append(LINES.insert(Line(self.last, line, self._random.choice(_ARTICLES), pieces)))
            total += pieces * Decimal("2.50")
        if chance > 0.95:
            transaction.rollback()
            return None
        customer = Customer(self._random.choice(("Ada", "Ole", "Inês", "Józef")), self._random.choice(_CITIES))
        transaction.append(ORDERS.insert(Order(self.last, "placed", customer, total)))
        return transaction.commit()

    def _some(self) -> int:
        return self._random.randint(max(1, self.last - 20), self.last)


def _tell(ticket: Ticket) -> None:
    """What is durable now, and since when."""
    segment, end = ticket.position
    sys.stdout.write(json.dumps({"segment": segment, "end": end, "at": time.time()}) + "\n")
    sys.stdout.flush()


def main() -> int:
    shop = Shop(Path(sys.argv[1]))
    sys.stdout.write(json.dumps({"orders": shop.last}) + "\n")
    _run(shop, 0.5)
    line = sys.stdin.readline()
    if line:
        _run(shop, float(line))
    shop.log.close()
    return 0


def _run(shop: Shop, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ticket = shop.act()
        if ticket is not None:
            ticket.wait()
            _tell(ticket)
        time.sleep(1 / ACTS_A_SECOND)


if __name__ == "__main__":
    sys.exit(main())
