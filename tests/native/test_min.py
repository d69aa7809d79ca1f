"""What stands before a sidecar's `min` is not read where rows of tables that capture alone are wanted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock
from uuid import UUID

import pytest

from tests.native.logs import rows_of
from writer_hooks import SegmentLog
from writer_hooks.declared_table import Column, Table

COLUMNS = [Column("id", "int", "partition_key"), Column("v", "text")]
TRACKED = Table("shop.t", COLUMNS, id=UUID(int=1))
OTHER = Table("shop.other", COLUMNS, cdc=False, id=UUID(int=2))

HEAD_ROWS, HEAD_BYTES = 3000, 1_000_000
"""What stands before the one captured row, and the least that it takes."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with SegmentLog.open(tmp_path, [TRACKED, OTHER]) as log:
        for number in range(HEAD_ROWS):
            log.append(OTHER.insert({"id": number, "v": "x" * 400}))
            if number % 100 == 0:
                log.sync()
        log.sync()
        log.append(TRACKED.insert({"id": 7, "v": "seven"})).wait()
    return tmp_path / "cdc_raw"


@contextmanager
def bytes_read() -> Iterator[list[int]]:
    """How many bytes each call to the system gave."""
    sizes: list[int] = []
    real = os.pread

    def pread(descriptor: int, size: int, at: int) -> bytes:
        data = real(descriptor, size, at)
        sizes.append(len(data))
        return data

    with mock.patch.object(os, "pread", pread):
        yield sizes


def sidecar_of(folder: Path) -> Path:
    (found,) = folder.glob("*_cdc.idx")
    return found


@pytest.mark.parametrize("tables", [[], ["shop.*"]], ids=["all", "glob"])
def test_the_head_is_not_read(folder: Path, tables: list[str]) -> None:
    first = int(sidecar_of(folder).read_text().split()[0])
    assert first > HEAD_BYTES
    with bytes_read() as sizes:
        rows = rows_of(folder, tables=tables)
    assert [row["partition_key"] for row in rows] == [{"id": 7}]
    assert sum(sizes) < HEAD_BYTES / 4


def test_a_table_that_does_not_capture_is_read_from_the_head(folder: Path) -> None:
    rows = rows_of(folder, tables=["shop.other"])
    assert [row["partition_key"]["id"] for row in rows] == list(range(HEAD_ROWS))
    assert len(rows_of(folder, tables=["shop.t", "shop.other"])) == HEAD_ROWS + 1


def test_a_min_at_which_no_section_begins_leaves_nothing_out(folder: Path) -> None:
    sidecar = sidecar_of(folder)
    first, *rest = sidecar.read_text().split(" ", 1)
    sidecar.write_text(f"{int(first) + 1} {rest[0]}")
    assert [row["partition_key"] for row in rows_of(folder)] == [{"id": 7}]
