"""`scripts/compare_rows.py`: a checkout reads like itself, and whatever a caller would notice is found."""

from __future__ import annotations

import json
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

COMPARE = ROOT / "scripts" / "compare_rows.py"
TAILER = """
import json
from pathlib import Path

import pyarrow as pa

SETS = json.loads(Path(__file__).with_name("sets.json").read_text())

class Log:
    def __init__(self, facts, options):
        self.notices, self.facts, self.options = facts["notices"], facts, options

    def read(self):
        prefix = "_" if "table" in self.options else ""
        for values in self.facts["batches"]:
            columns = {"v": pa.array(values, self.facts["type"]), prefix + "segment": pa.array([7] * len(values))}
            if not prefix:
                columns |= {"keyspace": ["shop"] * len(values), "table": ["orders"] * len(values)}
            yield pa.record_batch(columns)
        if self.facts["error"] and "stopped" not in self.options:
            raise ValueError(self.facts["error"])

def open(folder, **options):
    return Log(SETS[Path(folder).parent.name], options)
"""
"""A reader that gives rows of one table: for each set those that it is told."""

NAN = float("nan")
FACTS: dict[str, Any] = {"batches": [[1.5, None], [NAN]], "type": "float64", "notices": ["begins here"], "error": "cut"}
ALL = "16 readings, compiled, plain: {}/cdc_raw: all: "
CHANGED: dict[str, tuple[dict[str, Any], str]] = {
    "batches": ({"batches": [[1.5], [None, NAN]]}, "16 readings, equal"),
    "error": ({"error": None}, ALL + "error: ['ValueError', 'cut'] | None"),
    "notice": ({"notices": []}, ALL + "notices: begins here | None"),
    "null": ({"batches": [[1.5, 0.0], [NAN]]}, "; row 1 at [7]: v: [null] | [0]"),
    "row": ({"batches": [[1.5, None, NAN, 0.0]]}, ALL + "count: 3 | 4; row 3 at [7]: v: nothing | [0]; "),
    "sentence": ({"error": "torn"}, ALL + "error: cut | torn"),
    "type": ({"type": "float32"}, ALL + "columns: ['v', 'double', "),
    "value": ({"batches": [[1.5, None], [2.5]]}, "; row 2 at [7]: v: [nan] | [2.5]"),
}
"""For each set what the second checkout reads in another way, and what is said of it."""


def checkout(path: Path, sets: dict[str, Any]) -> Path:
    (path / "tailer").mkdir(parents=True)
    (path / "tailer" / "__init__.py").write_text(TAILER)
    (path / "tailer" / "sets.json").write_text(json.dumps(sets))
    return path


def compare(*arguments: object) -> tuple[int, list[str]]:
    command = [sys.executable, COMPARE, *arguments]
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


def test_differences_are_found(tmp_path: Path) -> None:
    for name in CHANGED:
        (tmp_path / "sets" / name / "cdc_raw").mkdir(parents=True)
    before = checkout(tmp_path / "before", dict.fromkeys(CHANGED, FACTS))
    after = checkout(tmp_path / "after", {name: {**FACTS, **facts} for name, (facts, _) in CHANGED.items()})
    code, lines = compare(before, after, "--sets", tmp_path / "sets")
    assert code == 1
    # In two forms of the reader: all rows and the table's, each once more in three ways after the error.
    assert lines[-1] == "8 sets: 384 rows in 128 readings, 7 different"
    for (name, (_, what)), line in zip(CHANGED.items(), lines[:-1], strict=True):
        assert line.startswith(f"{name}: 48 rows in 16 readings, ")
        assert what.format(name) in line


def test_no_other_checkout_is_read_in_place_of_one(tmp_path: Path) -> None:
    """As an editable install would be."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "sets" / "one" / "cdc_raw").mkdir(parents=True)
    command = [sys.executable, COMPARE, checkout(tmp_path / "before", {"one": FACTS}), tmp_path / "empty"]
    ran = subprocess.run([*map(str, command), "--sets", str(tmp_path / "sets")], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert str(tmp_path / "empty") in ran.stderr


def test_this_checkout_reads_like_itself(sets_root: Path, tmp_path: Path) -> None:
    (tmp_path / "gap").mkdir()
    (tmp_path / "gap" / "cdc_raw").symlink_to(Place("50-crash-gap", 0).folder(sets_root))
    code, (line, _) = compare(ROOT, ROOT, "--sets", tmp_path, "--only", "g*")
    assert code == 0
    assert line.startswith("gap: ")
    assert line.endswith(" rows in 4 readings, equal")
    assert not line.startswith("gap: 0 ")
