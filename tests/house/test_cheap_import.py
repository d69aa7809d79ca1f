"""`import tailer` costs next to nothing: Spark and the command line start it many times."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.house.source_tree import ROOT

HEAVY = {"numpy", "pyarrow", "pyspark", "pandas", "cassandra", "cryptography", "rich"}


@pytest.mark.parametrize("module", ["tailer", "tailer.errors", "tailer.position"])
def test_import_loads_nothing_heavy(module: str) -> None:
    program = f"import {module}, sys; print(*{{name.split('.')[0] for name in sys.modules}})"
    output = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    assert set(output.stdout.split()) & HEAVY == set()
