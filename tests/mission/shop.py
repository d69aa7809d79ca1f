"""A service's log, written through `writer_hooks`, and the rows that `cdc-tail follow` gives of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from tests.helpers.cli import run_cli
from writer_hooks import SegmentLog, Table


class Order(msgspec.Struct):
    number: int
    article: str = "tea"


ORDERS = Table.of(Order, "shop.orders", key=["number"])
NOTES = Table.of(Order, "shop.notes", key=["number"], cdc=False)
SEGMENT_BYTES = 8192


def opened(folder: Path, **more: Any) -> SegmentLog:
    """The log of both tables; the folder is made."""
    folder.mkdir(exist_ok=True)
    return SegmentLog.open(folder, [ORDERS, NOTES], **{"segment_bytes": SEGMENT_BYTES, **more})


def write(log: SegmentLog, *numbers: int, size: int = 3) -> None:
    """Append rows, and wait until they are durable."""
    for number in numbers:
        log.append(ORDERS.insert(Order(number, "t" * size))).wait()


def rows(folder: Path, *words: str) -> list[dict[str, Any]]:
    """What one run of `follow --once` gives."""
    ran = run_cli(["follow", folder, "--once", "--output", "json", *words])
    assert ran.code == 0, ran.err
    return [json.loads(line) for line in ran.lines]


def numbers(found: list[dict[str, Any]]) -> list[int]:
    return [row["partition_key"]["number"] for row in found]


def idx_files(folder: Path) -> dict[int, list[str]]:
    """The words of each idx file of a log folder, by segment."""
    return {
        int(file.name.split("-")[2].removesuffix("_cdc.idx")): file.read_text().split()
        for file in sorted((folder / "cdc_raw").glob("*_cdc.idx"))
    }
