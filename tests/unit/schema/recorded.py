"""The server's view of `system_schema` in a recorded set, as raw rows with positions. Decodes no segment."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tailer.position import Position
from tailer.schema.decode import RawCell, RawRow


def sets(root: Path) -> list[Path]:
    """Every recorded set that has the server's view."""
    return sorted(folder for folder in root.iterdir() if (folder / "expected").is_dir())


def schema_mutations(folder: Path) -> Iterator[tuple[Position, list[RawRow]]]:
    """Mutations with changes of `system_schema`, in log order; the position is the entry's end."""
    for file in sorted((folder / "expected").iterdir()):
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                if '"system_schema"' not in line:
                    continue
                mutation = json.loads(line)
                rows = [row for update in mutation["updates"] for row in _rows(update)]
                if rows:
                    yield Position(mutation["segment"], mutation["end"]), rows


def _rows(update: dict[str, Any]) -> Iterator[RawRow]:
    if update["keyspace"] != "system_schema":
        return
    table, key = update["table"], bytes.fromhex(update["key_hex"])
    if deletion := update.get("partition_deletion"):
        yield RawRow(table, key, partition_deletion=deletion["ts"])
    for row in update["unfiltereds"]:
        assert row["kind"] == "row", "no set has a range deletion in system_schema"
        yield RawRow(
            table,
            key,
            [str(value).encode() for value in row["clustering"]],
            row.get("liveness", {}).get("ts"),
            row.get("deletion", {}).get("ts"),
            cells=[
                RawCell(cell["column"], None, None if cell["tombstone"] else bytes.fromhex(cell["hex"]), cell["ts"])
                for cell in row["cells"]
            ],
        )
