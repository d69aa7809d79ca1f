"""The benchmarks run and say what they promise to; nothing here measures anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tailer.demo.recording import load_recording
from tailer.demo.replay import write_recording
from tests.benchmarks import latency, throughput

pytestmark = pytest.mark.slow

FACTS = {"name", "question", "at", "commit", "python", "packages", "machine", "load_after", "repeat", "targets", "runs"}


def test_latency(capsys: pytest.CaptureFixture[str]) -> None:
    latency.main(["--rows", "5", "--repeat", "1", "--idle", "0.1"])
    result = json.loads(capsys.readouterr().out)
    assert result.keys() >= FACTS | {"rows", "gap_ms", "idle_seconds", "medians", "met"}
    assert result["medians"].keys() == result["met"].keys() == latency.WAYS.keys()
    for way in latency.WAYS:
        (run,) = result["runs"][way]
        assert run.keys() == {"follow_ms", "floor_ms", "p50_to_floor", "p99_to_floor", "idle_percent"}
        for who in ("follow_ms", "floor_ms"):
            assert run[who].keys() == {"p50", "p90", "p99", "max"}
            assert 0 < run[who]["p50"] <= run[who]["p99"] <= run[who]["max"]
        assert run["idle_percent"].keys() == {"follow", "floor"}


def test_throughput(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in write_recording(load_recording(), tmp_path):
        pass
    throughput.main([str(tmp_path / "cdc_raw"), "--repeat", "1"])
    result = json.loads(capsys.readouterr().out)
    assert result.keys() >= FACTS | {"read", "medians", "met"}
    (run,) = result["runs"]
    assert run["pipe"]["rows"] == run["start_up"]["rows"] > 0
    for way in ("pipe", "null"):
        assert run[way].keys() >= {"seconds", "cpu_seconds", "peak_mib", "rows_per_second", "rows_per_cpu_second"}
    assert 0 < run["start_up"]["first_row_seconds"] <= run["start_up"]["seconds"]
