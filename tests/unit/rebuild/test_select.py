"""Tables rebuilt from their changes are what the server itself answered to SELECT, in every recorded set."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.rebuilt import INCOMPLETE, SETS, rebuilt, recorded, tables_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", SETS)
def test_every_table_is_what_select_shows(name: str, sets_root: Path) -> None:
    recording = recorded(name, sets_root)
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in recording.rows:
        rows[row["table_id"].replace("-", "")].append(row)
    wrong = {}
    for full, table in tables_of(recording).items():
        made = rebuilt(rows[table.definition.id], table, recording.at)
        if made != sorted(recording.shown[full]):
            wrong[full] = made
    assert set(wrong) == set(INCOMPLETE) & set(recording.shown)
    assert set(recording.shown) == set(tables_of(recording))
