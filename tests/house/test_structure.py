"""`scripts/structure.py` and the graph of imports below it: a small checkout whose measures can be counted by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.structure import main, measure
from tests.house.import_graph import Arrow, circles, floors, reduced
from tests.house.small_tree import small_tree

FILES = {
    "tailer/errors.py": '"""Errors."""\n',
    "tailer/tail.py": "def tail(on_error):\n    from tailer.types import kinds\n    return kinds, on_error\n",
    "tailer/types/kinds.py": 'from tailer.errors import Bad\nKINDS = ("int", "text")\n',
    "tailer/types/order.py": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from tailer.rows.rows import Row\n"
        'ORDERED = "int, text"\n'
    ),
    "tailer/rows/rows.py": 'import tailer.types.order\nimport numpy\n\n\nOPTION = "--on-error"\nTEXT = "text"\n',
    "writer_hooks/values.py": "from tailer.types.kinds import KINDS\nKIND = 'int'\n" + "\n" * 5,
    "tests/test_all.py": "assert True\n" * 9,
    "README.md": "`--on-error` is `onError` in Spark, `class OnError`, and no `on_errors`.\n",
    "docs/spark.md": "| option | default | |\n|---|---|---|\n| `maxBytesPerTrigger`, `server` | | |\n\n| `other` | |\n",
}


def arrows(*pairs: str) -> frozenset[Arrow]:
    return frozenset(Arrow(*pair) for pair in pairs)


def test_graph() -> None:
    graph = arrows("ab", "bc", "ac", "cd", "dc", "de", "fa")
    assert circles(graph) == [("c", "d")]
    assert floors("abcdefg", graph) == {"a": 4, "b": 3, "c": 2, "d": 2, "e": 1, "f": 5, "g": 1}
    assert reduced(arrows("ab", "bc", "ac", "cd", "ad", "be")) == arrows("ab", "bc", "cd", "be")


def test_measures(tmp_path: Path) -> None:
    found = measure(small_tree(tmp_path, FILES), {("on", "error"), ("max", "bytes", "per", "trigger")})
    details = found.pop("details")
    assert found == {
        "loose modules": 2,
        "folders with Python files": 4,
        "rooms (a loose module is one)": 6,  # With `tailer` itself.
        "floors of rooms": 3,
        "arrows between rooms": 5,
        "arrows between files": 5,
        "circles of files": 1,
        "circles of rooms": 1,
        "files that name a CQL type": {"min": 0, "median": 0, "max": 2},
        "places of an option": {"median": 3.5, "max": 6},
        "files": 10,
        "source lines": 23,
        "test lines": 9,
        "tests ÷ source": 0.39,
        "lines of a file": {"median": 1.5, "p90": 7, "max": 7},
        "lines of a function": {"median": 3, "p90": 3, "max": 3},
        "functions over 40 lines": 0,
    }
    assert details["loose"] == ["errors.py", "tail.py"]
    assert details["circles"] == [("tailer.rows.rows", "tailer.types.order")]
    assert details["options"]["on_error"] == {"places": 6, "files": 3}
    assert {name: count for name, count in details["types"].items() if count} == {"int": 2, "text": 2}


def test_checkouts_stand_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small_tree(tmp_path / "before", FILES)
    small_tree(
        tmp_path / "after",
        {name.replace("tail.py", "tail/tail.py"): text for name, text in FILES.items() if not name.endswith(".md")},
    )
    assert main([str(tmp_path / "before"), str(tmp_path / "after"), "--json", str(tmp_path / "told.json")]) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[0].split() == ["before", "after"]
    assert table[1].split() == ["loose", "modules", "2", "1"]
    before, after = json.loads((tmp_path / "told.json").read_text("utf-8"))
    # What is no option of the second any more is looked for there all the same.
    assert (
        set(before["details"]["options"]) == set(after["details"]["options"]) == {"on_error", "max_bytes_per_trigger"}
    )
    assert after["details"]["options"]["on_error"] == {"places": 3, "files": 2}
