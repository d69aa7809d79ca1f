"""`scripts/compare_rows.py`: a checkout reads like itself, and whatever a caller would notice is found."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from scripts.read_rows import columns
from tests.helpers.sets import Place
from tests.house.source_tree import ROOT

TAILER = """
import pyarrow as pa

nan = float("nan")
FACTS = {facts!r}

class Log:
    notices = FACTS["notices"]

    def __init__(self, options):
        self.options = options

    def read(self):
        prefix = "_" if "table" in self.options else ""
        for values in FACTS["batches"]:
            columns = {{"v": pa.array(values, FACTS["type"]), prefix + "segment": pa.array([7] * len(values))}}
            if not prefix:
                columns |= {{"keyspace": ["shop"] * len(values), "table": ["orders"] * len(values)}}
            yield pa.record_batch(columns)
        if FACTS["error"] and "stopped" not in self.options:
            raise ValueError(FACTS["error"])

def open(folder, **options):
    return Log(options)
"""
FACTS: dict[str, Any] = {
    "batches": [[1.5, None], [float("nan")]],
    "type": "float64",
    "notices": ["begins here"],
    "error": "cut",
}


def checkout(path: Path, **facts: Any) -> Path:
    """A checkout whose reader gives rows of that one table."""
    (path / "tailer").mkdir(parents=True)
    (path / "tailer" / "__init__.py").write_text(TAILER.format(facts={**FACTS, **facts}))
    return path


def compare(*arguments: object) -> tuple[int, list[str]]:
    command = [sys.executable, ROOT / "scripts" / "compare_rows.py", *arguments]
    ran = subprocess.run([*map(str, command)], capture_output=True, text=True)
    assert ran.stderr == ""
    return ran.returncode, ran.stdout.splitlines()


VALUES = {
    "string": (pa.string(), ["a", None, "", "bc", "b", "c"]),
    "binary": (pa.binary(), [b"a", None, b"", b"\0"]),
    "boolean": (pa.bool_(), [True, None, False, True]),
    "float": (pa.float32(), [0.0, None, -0.0, 1.5]),
    "timestamp": (pa.timestamp("us", "UTC"), [0, None, 2**62]),
    "date": (pa.date32(), [0, None, 1]),
    "decimal": (pa.decimal128(38, 18), [Decimal(1), None, Decimal("1.1")]),
    "list": (pa.list_(pa.list_(pa.int16())), [[[1], [2]], None, [[1, 2]], [], [None], [[None]], [[]]]),
    "map": (pa.map_(pa.string(), pa.int32()), [[("a", 1)], None, [("b", 1)], [], [("a", 2)], [("a", None)]]),
    "struct": (
        pa.struct([("a", pa.string()), ("b", pa.int8())]),
        [{"a": "x", "b": 1}, None, {"a": "x", "b": None}, {"a": None, "b": 1}],
    ),
}


@pytest.mark.parametrize(("kind", "values"), VALUES.values(), ids=VALUES)
def test_a_digest_tells_values_apart_and_nothing_else(kind: pa.DataType, values: list[Any]) -> None:
    table = pa.table({"v": pa.array(values, kind)})
    pieces = pa.concat_tables(table.slice(n, 1) for n in range(len(values)))
    behind = pa.table({"v": pa.array(values[:2] + values, kind)}).slice(2)
    assert columns(table) == columns(pieces) == columns(behind) == [("v", str(kind), columns(table)[0][2])]
    others = [values[:n] + values[n + 1 :] for n in range(len(values))]
    others += [[*values[:n], values[n + 1], values[n], *values[n + 2 :]] for n in range(len(values) - 1)]
    digests = {str(columns(pa.table({"v": pa.array(other, kind)}))) for other in [values, *others]}
    assert len(digests) == 1 + len(others)


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    (tmp_path / "sets" / "one" / "cdc_raw").mkdir(parents=True)
    (tmp_path / "sets" / "one" / "live" / "00").mkdir(parents=True)
    return tmp_path / "sets"


def test_batch_boundaries_do_not_matter(sets: Path, tmp_path: Path) -> None:
    before = checkout(tmp_path / "before")
    after = checkout(tmp_path / "after", batches=[[1.5], [None, float("nan")]])
    # Two folders, two forms of the reader; all rows and the table's, each once more in three ways after the error.
    assert compare(before, after, "--sets", sets) == (
        0,
        ["one: 96 rows in 32 readings, equal", "1 sets: 96 rows in 32 readings, none different"],
    )


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"batches": [[1.5, None], [2.5]]}, "; row 2 at [7]: v: [nan] | [2.5]"),
        ({"batches": [[1.5, None, float("nan"), 0.0]]}, "count: 3 | 4; row 3 at [7]: v: nothing | [0]"),
        ({"batches": [[1.5, 0.0], [float("nan")]]}, "row 1 at [7]: v: [null] | [0]"),
        ({"type": "float32"}, "columns: ['v', 'double'"),
        ({"notices": []}, "notices: begins here | None"),
        ({"error": "torn"}, "error: cut | torn"),
        ({"error": None}, "error: ['ValueError', 'cut'] | None"),
    ],
    ids=["value", "row", "null", "type", "notice", "sentence", "error"],
)
def test_a_difference_is_found(facts: dict[str, Any], told: str, sets: Path, tmp_path: Path) -> None:
    code, lines = compare(checkout(tmp_path / "before"), checkout(tmp_path / "after", **facts), "--sets", sets)
    assert code == 1
    assert lines[-1].endswith(" readings, 1 different")
    assert lines[0].startswith("one: 96 rows in 32 readings, compiled: one/cdc_raw: all: ")
    assert told in lines[0]


def test_the_other_checkout_is_not_read_in_place_of_one(sets: Path, tmp_path: Path) -> None:
    """As with an editable install of another checkout."""
    (tmp_path / "empty").mkdir()
    command = [sys.executable, "scripts/compare_rows.py", checkout(tmp_path / "before"), tmp_path / "empty"]
    ran = subprocess.run([*map(str, command), "--sets", str(sets)], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 1
    assert ran.stdout == ""


def test_this_checkout_reads_like_itself(sets_root: Path, tmp_path: Path) -> None:
    (tmp_path / "gap").mkdir()
    (tmp_path / "gap" / "cdc_raw").symlink_to(Place("50-crash-gap", 0).folder(sets_root))
    code, (line, _) = compare(ROOT, ROOT, "--sets", tmp_path, "--only", "g*")
    assert code == 0
    assert line.startswith("gap: ")
    assert line.endswith(" rows in 4 readings, equal")
    assert not line.startswith("gap: 0 ")
