"""The benchmark of snapshots runs on a small table; what it measures then says nothing."""

from __future__ import annotations

import json

import pytest

from tests.benchmarks import snapshot
from tests.server.library import available

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.soak]


def test_a_small_table(capsys: pytest.CaptureFixture[str]) -> None:
    if reason := available():
        pytest.skip(f"not measured: {reason}")
    assert snapshot.main(["--rows", "2000", "--pace", "1000", "--repeat", "1"]) == 0
    result = json.loads(capsys.readouterr().out)
    by_us = {"reader", "snapshot, 1 reader", "snapshot, 2 readers", "snapshot, 3 readers", "paced"}
    assert result["speeds"].keys() == {"select", "select by ranges", *by_us}
    assert {taken["rows"] for runs in result["runs"].values() for taken in runs} == {2000}
