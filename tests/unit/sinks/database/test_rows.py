"""What a database has is what the server saw, in the generic form; and each typed value is what it was."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import FreshFolder
from tests.helpers.cli import run_cli
from tests.helpers.compare import same_rows, without_truncates
from tests.oracle import expected
from tests.unit.sinks.database.followed import follow
from tests.unit.sinks.database.targets import GENERIC, JSON, NODE, Target

ORDINARY: dict[str, Any] = {
    "c_ascii": "abc",
    "c_bigint": 42,
    "c_blob": b"\xca\xfe",
    "c_boolean": True,
    "c_date": date(2024, 2, 29),
    "c_decimal": Decimal("1.5"),
    "c_double": 2.5,
    "c_duration": {"months": 14, "days": 3, "nanoseconds": 14706000000007},
    "c_float": 1.25,
    "c_inet": "127.0.0.9",
    "c_int": 7,
    "c_smallint": 5,
    "c_text": "hello",
    "c_time": ((12 * 60 + 34) * 60 + 56) * 10**9 + 789012345,
    "c_timestamp": datetime(2024, 2, 29, 12, 0, 0, 123000, UTC),
    "c_timeuuid": "d2177dd0-eaa2-11de-a572-001b779c76e3",
    "c_tinyint": 3,
    "c_uuid": "123e4567-e89b-42d3-a456-426614174000",
    "c_varint": 1000,
}
SPELLED: dict[str, dict[str, Any]] = {
    "postgresql": {},
    "duckdb": {"c_timestamp": 1_709_208_000_123_000},
    "sqlite": {
        "c_date": "2024-02-29",
        "c_decimal": "1.500000000000000000",
        "c_duration": '{"months":14,"days":3,"nanoseconds":14706000000007}',
        "c_timestamp": "2024-02-29 12:00:00.123Z",
        "c_varint": "1000",
    },
}
"""What a database has another type for."""


def lines_of(rows: Sequence[Sequence[Any]]) -> list[str]:
    """Rows as JSON lines again; the node is the one that the recording has."""
    return ["{" + ",".join(map(_field, GENERIC, row)) + "}" for row in rows]


def _field(name: str, value: Any) -> str:
    if name == "is_static":
        value = bool(value)
    if name == "node":
        value = "local"
    if name == "event_id":
        value = "local" + value.removeprefix(NODE)
    text = (value or "null") if name in JSON else json.dumps(value, ensure_ascii=False)
    return f'"{name}":{text}'


@pytest.mark.parametrize("name", ["50-cases", "41-lz4"])
def test_every_row_is_what_the_server_saw(
    name: str, target: Target, fresh_folder: FreshFolder, sets_root: Path
) -> None:
    folder = fresh_folder(name)
    assert follow(folder, target).code == 0
    same_rows(expected(sets_root / name, folder).rows, without_truncates(lines_of(target.rows("changes", GENERIC))))


class TestTyped:
    """One table, in columns of its own types."""

    def typed(self, target: Target, folder: Path, table: str, *more: str) -> None:
        ran = follow(folder, target, "--typed", table, *more, into="typed", consumer=table.replace(".", "-"))
        assert ran.code == 0, ran.err

    def printed(self, folder: Path, table: str, *more: str) -> list[dict[str, Any]]:
        command = ["follow", str(folder), "--once", "--stopped", "--node", NODE, "--typed", table, "--output", "json"]
        return [json.loads(line) for line in run_cli([*command, *more]).lines]

    @pytest.mark.parametrize("table", ["cdc.coll", "cdc.counters"])
    def test_each_value(self, table: str, target: Target, fresh_folder: FreshFolder) -> None:
        folder = fresh_folder("50-cases")
        self.typed(target, folder, table)
        have = target.ask('SELECT * FROM typed ORDER BY "_segment", "_offset", "_row"')
        want = self.printed(folder, table)
        assert len(have) == len(want) > 0
        for got, row in zip(have, want, strict=True):
            assert [_plain(value, wanted) for value, wanted in zip(got, row.values(), strict=True)] == list(
                row.values()
            )

    def test_every_scalar_type(self, target: Target, fresh_folder: FreshFolder) -> None:
        """The row of ordinary values, as the recorded statement has them; rows that a database refuses are aside."""
        self.typed(target, fresh_folder("50-cases"), "cdc.scalars", "--on-error", "quarantine")
        when = {"duckdb": "epoch_us(c_timestamp)"}.get(target.kind, "c_timestamp")
        names = [name if name != "c_timestamp" else when for name in ORDINARY]
        (have,) = target.ask(f"SELECT {', '.join(names)} FROM typed WHERE id = 0")
        assert dict(zip(ORDINARY, have, strict=True)) == ORDINARY | SPELLED[target.kind]


def _plain(value: Any, wanted: Any) -> Any:
    """A database's value as the JSON lines have it."""
    if value is None or wanted is None:
        return value
    if isinstance(wanted, bool):
        return bool(value)
    if isinstance(wanted, dict | list) and isinstance(value, str):
        return json.loads(value)
    if isinstance(wanted, dict):
        return {str(key): _plain(each, wanted[str(key)]) for key, each in value.items()}
    if isinstance(wanted, list):
        return [_plain(each, other) for each, other in zip(value, wanted, strict=True)]
    return value
