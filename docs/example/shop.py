"""A small service: orders in SQLite, and beside it the log from which others learn of them.

python shop.py FOLDER        # takes orders until it is stopped; also by kill -9, at any moment
"""

from __future__ import annotations

import random
import sqlite3
import sys
import time
from pathlib import Path

import msgspec

from tailer import Position
from writer_hooks import Replayed, SegmentLog, Table, group


class Order(msgspec.Struct):
    number: int
    article: str
    pieces: int
    status: str = "placed"


ORDERS = Table.of(Order, "shop.orders", key=["number"])


class Shop:
    """The log is written first, and is what counts; the store follows, and knows how far it has come."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.store = sqlite3.connect(folder / "shop.db", isolation_level=None)
        self.store.execute("CREATE TABLE IF NOT EXISTS orders (number INTEGER PRIMARY KEY, article, pieces, status)")
        self.store.execute("CREATE TABLE IF NOT EXISTS applied (segment INTEGER, offset INTEGER)")
        self.log = SegmentLog.open(folder, [ORDERS], sync=group(2), max_age=60)
        self.catch_up()

    def place(self, order: Order) -> None:
        """Returns when the order is safe: in the log first, then in the store."""
        self.log.append(ORDERS.insert(order)).wait()
        self.catch_up()

    def ship(self, number: int) -> None:
        self.log.append(ORDERS.update({"number": number, "status": "shipped"})).wait()
        self.catch_up()

    def catch_up(self) -> None:
        """What the log has and the store has not: one change after a write, more after a crash."""
        for change in self.log.replay(self.applied()):
            self.store.execute("BEGIN")
            self.apply(change)
            self.store.execute("DELETE FROM applied")
            self.store.execute("INSERT INTO applied VALUES (?, ?)", change.end)
            self.store.execute("COMMIT")

    def applied(self) -> Position:
        """Behind everything that the store has."""
        found = self.store.execute("SELECT segment, offset FROM applied").fetchone()
        return Position(0, 0) if found is None else Position(*found)

    def apply(self, change: Replayed) -> None:
        for row in change.rows():
            number = row.key["number"]
            self.store.execute("INSERT OR IGNORE INTO orders (number) VALUES (?)", [number])
            for name, value in row.columns.items():
                self.store.execute(f"UPDATE orders SET {name} = ? WHERE number = ?", [value, number])

    def tidy(self) -> None:
        """The store is durable up to here: the log's own segments behind it can go."""
        self.log.discard_before(self.applied())

    def last(self) -> int:
        number: int = self.store.execute("SELECT coalesce(max(number), 0) FROM orders").fetchone()[0]
        return number


def main() -> None:
    shop = Shop(Path(sys.argv[1]))
    print(f"open; the last order is {shop.last()}", flush=True)
    while True:
        number = shop.last() + 1
        shop.place(Order(number, random.choice(("tea", "ink", "pears")), random.randint(1, 9)))
        if number > 3:
            shop.ship(random.randint(number - 3, number))
        print(f"order {number} placed", flush=True)
        if number % 100 == 0:
            shop.tidy()
        time.sleep(0.2)


if __name__ == "__main__":
    main()
