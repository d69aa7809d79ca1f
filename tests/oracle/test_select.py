"""The oracle's rows, put together again, are what the server answers to SELECT."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.oracle import expected, recording
from tests.oracle.jsontext import Json, Real, dumps, loads
from tests.oracle.rebuild import Table, UnsupportedError
from tests.oracle.schema import Definition, Follower

ODD = {"cdc.toggled", "cdc.truncated"}
"""Tables whose SELECT tells more or less than their changes: without cdc for a time, emptied without a mutation."""

JAVA_DIGITS = {"5.0E-324": "4.9E-324", "1.0E-45": "1.4E-45"}
"""Java writes two digits where one would tell the number."""


@pytest.mark.parametrize(
    ("name", "least"),
    [("50-cases", 40), ("50-cases-v8", 40), ("41-cases", 40), ("40-cases", 40), ("50-lz4", 19), ("40-aes", 19)],
)
def test_rebuilt_tables_are_what_select_shows(name: str, least: int, sets_root: Path) -> None:
    set_dir = sets_root / name
    shown = _selected(set_dir)
    desc = _descending(set_dir)
    changes: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in expected(set_dir, set_dir / "cdc_raw", stopped=True).rows:
        changes[row.data["table_id"]].append(row.data)
    compared = 0
    for identity, definition in Follower(recording(set_dir).final).definitions.items():
        full = f"{definition.keyspace}.{definition.table}"
        if full in ODD or full not in shown or not _scalar(definition):
            continue
        table = Table(desc[definition.keyspace, definition.table, column] for column, _ in definition.clustering)
        try:
            for change in changes[identity]:
                table.change(change)
            rebuilt = Counter(_spelled(row) for row in table.rows())
        except UnsupportedError:
            continue
        assert rebuilt == shown[full], full
        compared += 1
    assert compared >= least


def _scalar(definition: Definition) -> bool:
    texts = [text for _, text in (*definition.partition_key, *definition.clustering, *definition.columns)]
    plain = not any(mark in text for text in texts for mark in "<'\"") and not {"counter", "empty"} & set(texts)
    return plain and not set(texts) & {name for name, _ in definition.types}


def _selected(set_dir: Path) -> dict[str, Counter[str]]:
    shown: dict[str, Counter[str]] = defaultdict(Counter)
    for line in (set_dir / "select.jsonl").read_bytes().splitlines():
        told = loads(line)
        row = {_bare(name): cell for name, cell in told["row"].items()}
        shown[told["table"].replace('"', "")][_spelled(row)] += 1
    return shown


def _bare(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def _spelled(row: dict[str, Json]) -> str:
    """One spelling for both sides; what the server shows as null (NaN) or nothing is left out."""
    return dumps({name: text for name in sorted(row) if (text := _plain(row[name])) is not None})


def _plain(value: Json) -> str | None:
    if value is None or value in ("NaN", "Infinity", "-Infinity"):
        return None
    if isinstance(value, Real):
        return JAVA_DIGITS.get(value.text(), value.text())
    text = dumps(value)
    if text.startswith('"-292275055-'):  # the server drops the sign of such a year
        return text.replace("-292275055", "+292275056")
    return '""' if text == '"0s"' else text


def _descending(set_dir: Path) -> dict[tuple[str, str, str], bool]:
    found = {}
    for line in recording(set_dir).every_line():
        for update in line["updates"]:
            if update["keyspace"] == "system_schema" and update["table"] == "columns":
                for row in update["unfiltereds"]:
                    order = [cell["value"] for cell in row["cells"] if cell["column"] == "clustering_order"]
                    if order:
                        found[update["key"]["keyspace_name"], *row["clustering"]] = order[0] == "desc"
    return found


def test_select_lines_are_read(sets_root: Path) -> None:
    first = json.loads((sets_root / "50-cases" / "select.jsonl").read_bytes().splitlines()[0])
    assert set(first) == {"table", "row"}
