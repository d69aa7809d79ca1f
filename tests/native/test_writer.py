"""Logs of the real writer, random transactions among changes that count at once, against a list kept beside it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import tailer
from tailer.options.tail import TailOptions
from tailer.retention.clean import CleanOptions, clean
from tailer.retention.needed import Ages
from tests.helpers.tails import open_tail
from tests.native.logs import as_rows
from writer_hooks import SegmentLog
from writer_hooks.declared_table import Table
from writer_hooks.table_model import Column
from writer_hooks.transaction import Transaction

TRACKED = Table("shop.t", [Column("id", "int", "partition_key"), Column("v", "text")], id=UUID(int=1))
OTHER = Table("shop.other", [Column("id", "int", "partition_key"), Column("v", "text")], cdc=False, id=UUID(int=2))


class Model:
    """What readers must see: changes of TRACKED as (id, transaction or not), in the order in which they count."""

    def __init__(self) -> None:
        self.counted: list[tuple[int, bool]] = []
        self.open: dict[int, list[int]] = {}
        self.saved: dict[int, dict[str, int]] = {}


def work(log: SegmentLog, model: Model, random_: random.Random, open_: dict[int, Transaction], steps: int) -> None:
    """Random steps; numbers of rows go on from run to run."""
    for _ in range(steps):
        number = random_.randrange(1 << 30)
        kind = random_.choice("ccuubtttttoosrkkK")
        if kind in "cu":
            log.append((TRACKED if kind == "c" else OTHER).insert({"id": number, "v": "x" * random_.randrange(300)}))
            if kind == "c":
                model.counted.append((number, False))
        elif kind == "b" and len(open_) < 6:
            txn = log.begin()
            open_[txn.id], model.open[txn.id], model.saved[txn.id] = txn, [], {}
        elif kind == "k" and random_.random() < 0.5:
            log.sync()
        elif open_ and kind not in "bk":
            one(open_, model, kind, number, random_)


def one(open_: dict[int, Transaction], model: Model, kind: str, number: int, random_: random.Random) -> None:
    """A step of one of the open transactions."""
    id_ = random_.choice(sorted(open_))
    txn, rows, saved = open_[id_], model.open[id_], model.saved[id_]
    name = random_.choice("ab")
    if kind in "to":
        txn.append((TRACKED if kind == "t" else OTHER).insert({"id": number, "v": "y" * random_.randrange(300)}))
        if kind == "t":
            rows.append(number)
    elif kind == "s":
        txn.savepoint(name)
        saved.pop(name, None)
        saved[name] = len(rows)
    elif kind == "r" and name in saved:
        txn.rollback_to(name)
        del rows[saved[name] :]
        for later in list(saved)[list(saved).index(name) + 1 :]:
            del saved[later]
    elif kind == "K":
        if random_.random() < 0.7:
            txn.commit()
            model.counted += [(each, True) for each in rows]
        else:
            txn.rollback()
        del open_[id_]


def seen(rows: list[dict[str, Any]]) -> list[tuple[int, bool]]:
    return [(row["partition_key"]["id"], row["txn"] is not None) for row in rows]


@pytest.mark.parametrize("compression", [None, "lz4"])
@pytest.mark.parametrize("seed", range(2))
def test_readers_see_what_was_committed(tmp_path: Path, seed: int, compression: Any) -> None:
    """One that follows in small steps with a consumer, begun anew each time, while `clean` runs; one at the end."""
    random_ = random.Random(f"{seed} {compression}")
    model = Model()
    followed: list[dict[str, Any]] = []
    for _ in range(3):
        # A run that ends without committing leaves nothing of its transactions.
        with SegmentLog.open(
            tmp_path, [TRACKED, OTHER], threads=False, segment_bytes=32768, compression=compression
        ) as log:
            open_: dict[int, Transaction] = {}
            for _ in range(6):
                work(log, model, random_, open_, 90)
                if random_.random() < 0.7:
                    log.sync()
                with open_tail(tmp_path / "cdc_raw", TailOptions(consumer="c", settle_seconds=0.0)) as tail:
                    for _ in range(random_.randrange(12)):
                        step = tail.step(random_.choice((1, 500, 20_000)))
                        assert step.error is None
                        followed += as_rows(batch.to_arrow() for task in step.tasks for batch in tail.read(task))
                        tail.advance(step)
                        tail.save()
                    spared = clean(tmp_path / "cdc_raw", CleanOptions(dry_run=True), ages=Ages(0.0, 0.0))
                    assert all(held.segment < tail.restart().segment for held in spared.logs)
    followed += as_rows(tailer.open(tmp_path / "cdc_raw", consumer="c").follow(once=True))
    whole = as_rows(tailer.open(tmp_path / "cdc_raw").read())
    assert seen(whole) == model.counted
    assert len(whole) > 200
    assert followed == whole
    assert len({row["event_id"] for row in whole}) == len(whole)
