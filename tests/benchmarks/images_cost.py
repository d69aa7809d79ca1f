"""What does an image cost?

Batches of change rows of five columns merged into a state of images on disk, its commit included: rows that are new,
rows that change, the same rows again from another node (whose mark is new) and from the same one (nothing is). In small
partitions, of one row, and in one big partition. The compiled merge, and beside it in the same run `Merger` alone with
fewer of the same rows. Counted is CPU a change row, from the index of cells to the images in the outbox.

    python -m tests.benchmarks.images_cost --repeat 3 --keep                      # about two minutes
"""

from __future__ import annotations

import itertools
import random
import struct
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import psutil

from tailer.image_state.compiled import lane
from tailer.image_state.file import ImageFile
from tailer.image_state.one_transaction import Transaction
from tailer.images import Merger, Settings
from tailer.images.encoded import EncodedImages
from tailer.rebuild import Table
from tailer.rows.generic.compiled.batch import ArrayBatch
from tailer.rows.generic.compiled.build import build
from tailer.rows.place import Place
from tailer.rows.prepared import prepare
from tailer.scan.mutation.compiled.scan import scan
from tailer.schema.model import Column, TableDefinition
from tests.benchmarks.measured import medians, pin
from tests.benchmarks.script import Begun, publish, script_parser
from tests.helpers.logs.model import Cell, Liveness, Row, Update
from tests.helpers.logs.model import Column as LogColumn
from tests.helpers.logs.model import Table as LogTable
from tests.helpers.logs.mutation import encode_mutation
from tests.helpers.logs.wire import i32

NAME = "images_cost"
QUESTION = "What does an image cost?"
TARGETS = {"changed_us": 15.0, "again_us": 4.0, "big_to_small": 2.0}

NODES: Final = ("a", "b", "c")
NOW_US: Final = 1_700_000_000_000_000
SEGMENT: Final = 7
KINDS: Final = ("new", "changed", "copied", "again")

_KEYS = (("k", "partition_key", "int", 0), ("x", "clustering", "int", 0))
_DATA = tuple((f"c{n}", "regular", text, -1) for n, text in enumerate(("int", "text", "bigint", "double", "text")))
_ID = UUID(int=1 << 64 | 0x11EE << 48 | 0x8888)
LOG_TABLE = LogTable(_ID, "ks", "t", tuple(LogColumn(*each) for each in (*_KEYS, *_DATA)))  # type: ignore[arg-type]
DEFINITION = TableDefinition(_ID.hex, "ks", "t", tuple(Column(*each) for each in (*_KEYS, *_DATA)), cdc=True)


class State:
    """A state on disk that is told batches. `big`: all rows are of one partition."""

    def __init__(self, folder: Path, *, big: bool, compiled: bool) -> None:
        self.file = ImageFile(folder)
        self._big, self._compiled = big, compiled
        self._merger: Merger | None = None
        self._offsets = itertools.count(64)
        self._prepared = prepare({DEFINITION.id: DEFINITION}, {DEFINITION.id})

    def payload(self, number: int, change: int) -> bytes:
        """A row as a client writes it for the `change`th time."""
        ts = NOW_US + change
        numbers = struct.pack(">q", change), struct.pack(">d", change / 7)
        values = i32(change % 997), b"some text %d" % (change % 9973), *numbers, b"more"
        cells = tuple((f"c{at}", Cell(value, ts, like_row=1)) for at, value in enumerate(values))
        key, clustering = (0, number) if self._big else (number, 0)
        row = Row((i32(clustering),), Liveness(ts), None, cells)
        return encode_mutation((Update(LOG_TABLE, i32(key), (row,)),))

    def batch(self, node: str, payloads: Sequence[bytes]) -> ArrayBatch:
        """Change rows as they come out of a log."""
        data, sizes = b"".join(payloads), list(map(len, payloads))
        starts = list(itertools.accumulate(sizes, initial=0))[:-1]
        offsets = list(itertools.islice(self._offsets, len(payloads)))
        place = Place(node, SEGMENT, offsets, keeps_source=True)
        made = build(scan(data, starts, sizes, self._prepared.scan_tables), data, self._prepared, place).batch
        assert isinstance(made, ArrayBatch)
        return made

    def merge(self, batch: ArrayBatch, now_us: int) -> tuple[int, float]:
        """How many images came of it, and µs of CPU a row."""

        def work(transaction: Transaction) -> int:
            if self._merger is None:
                self._merger = Merger(transaction.store, NODES, Settings(0))
                self._merger.define(Table.of(DEFINITION), created=True, cdc=True, now_us=NOW_US)
            images = EncodedImages()
            if self._compiled:
                lane.merge_batch(self._merger, transaction.store, batch, now_us, images)
            else:
                rows = batch.to_arrow().select(list(lane.COLUMNS)).to_pylist()
                for _, entry in itertools.groupby(rows, key=lambda row: row["offset"]):
                    images.add(self._merger.entry(list(entry), now_us))
            transaction.take_out(transaction.last)
            transaction.send(images)
            return len(images)

        began = time.process_time()
        count = self.file.write(work)
        return count, 1e6 * (time.process_time() - began) / len(batch)

    def bytes_a_row(self) -> float:
        """Of keys and values, the headers of partitions included."""
        _, rows, size = next(iter(self.file.read(lambda seen: seen.store.sizes()).values()))
        return size / rows


def measured(state: State, keys: int, rows: int, chance: random.Random, changes: int) -> dict[str, float]:
    """µs of CPU a row by kind, over a state of so many keys."""
    found = {}
    numbers = chance.sample(range(keys), rows)
    fresh = [state.payload(keys + changes + at, changes + at) for at in range(rows)]
    again = [state.payload(number, changes + rows + at) for at, number in enumerate(numbers)]
    batches = {"new": state.batch("a", fresh), "changed": state.batch("a", again), "copied": state.batch("b", again)}
    # The very rows that came before, as after a restart.
    batches["again"] = batches["copied"]
    for kind in KINDS:
        count, found[kind] = state.merge(batches[kind], NOW_US + changes)
        assert count == (rows if kind in ("new", "changed") else 0), (kind, count)
    return found


def run(repeat: int, rows: int, keys: int, plain_rows: int, changes: int) -> dict[str, Any]:
    begun = Begun(NAME, QUESTION, TARGETS, repeat)
    pin(0)
    states: dict[str, State] = {}
    runs: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="cdc-tail-images-") as parent:
        for form, partitions in itertools.product(("compiled", "plain"), ("small", "big")):
            name = f"{form} {partitions}"
            folder = Path(parent) / name.replace(" ", "-")
            states[name] = state = State(folder, big=partitions == "big", compiled=True)
            for first in range(0, keys, rows):
                some = range(first, min(first + rows, keys))
                state.merge(state.batch("a", [state.payload(number, 0) for number in some]), NOW_US)
            state._compiled = form == "compiled"
        for number in range(repeat):
            chance = random.Random(number)
            runs.append(
                {
                    name: measured(
                        state,
                        keys,
                        rows if name.startswith("compiled") else plain_rows,
                        chance,
                        10 * rows * (number + 1),
                    )
                    for name, state in states.items()
                }
            )
        middle = medians(runs)
        sizes = {name: round(state.bytes_a_row(), 1) for name, state in states.items()}
        flat = growth(states["compiled small"], keys, rows, changes)
        for state in states.values():
            state.file.close()
    small, big = middle["compiled small"], middle["compiled big"]
    ratios = {
        "big_to_small": round(big["changed"] / small["changed"], 2),
        **{f"plain_to_compiled {kind}": round(middle["plain small"][kind] / small[kind], 1) for kind in KINDS},
    }
    met = {
        "changed_us": small["changed"] <= TARGETS["changed_us"],
        "again_us": small["again"] <= TARGETS["again_us"],
        "big_to_small": ratios["big_to_small"] <= TARGETS["big_to_small"],
    }
    told = {"rows": rows, "keys": keys, "bytes_a_row": sizes, "growth": flat, "medians": middle, "ratios": ratios}
    return begun.result(**told, met=met, runs=runs)


def growth(state: State, keys: int, rows: int, changes: int) -> list[dict[str, float]]:
    """State and memory while that many changes of the same keys go by: at each tenth."""
    found, chance, process = [], random.Random(0), psutil.Process()
    for tenth in range(10):
        for first in range(0, changes // 10, rows):
            begun = 1_000_000_000 + tenth * changes + first
            some = [state.payload(chance.randrange(keys), begun + at) for at in range(rows)]
            state.merge(state.batch("a", some), NOW_US + begun)
        rss = process.memory_info()
        # The file is mapped: what of it is in memory is the system's to take back.
        own = rss.rss - rss.shared
        found.append({"rss_mib": round(own / 2**20, 1), "bytes_a_row": round(state.bytes_a_row(), 1)})
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = script_parser(NAME, QUESTION, repeat=3)
    parser.add_argument("--rows", type=int, default=10_000, help="in a batch (default: %(default)s)")
    parser.add_argument("--keys", type=int, default=100_000, help="rows of the state (default: %(default)s)")
    parser.add_argument("--plain-rows", type=int, default=500, help="in a batch of Merger alone (default: %(default)s)")
    parser.add_argument("--changes", type=int, default=200_000, help="that state and memory are held against")
    chosen = parser.parse_args(arguments)
    publish(run(chosen.repeat, chosen.rows, chosen.keys, chosen.plain_rows, chosen.changes), chosen.keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
