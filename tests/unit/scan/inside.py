"""What is true of every index, whatever bytes it was made of."""

from __future__ import annotations

from tailer.scan.index import Index, Status


def check_inside(index: Index, size: int) -> None:
    """Cells lie in `size` bytes, rows' runs of lines in their arrays; where the scan failed nothing is there."""
    for cell in index.cells.tolist():
        assert 0 <= cell[5] <= cell[5] + cell[6] <= size
        assert 0 <= cell[7] <= cell[7] + cell[8] <= size
    for row in index.rows.tolist():
        assert row[8] + row[9] <= len(index.values)
        assert row[10] + row[11] <= len(index.cells)
    if index.stopped.status != Status.OK:
        assert len(index.updates) == len(index.rows) == len(index.values) == len(index.cells) == 0
