"""A foreign reader: Kafka Connect's runtime, whose file sink writes what our topics hold."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.helpers.cli import run_cli
from tests.helpers.kafka_broker import Broker
from tests.helpers.kafka_connect import FileSink, available
from tests.server.kafka.logs import follow, log_of, table

pytestmark = [pytest.mark.server, pytest.mark.slow]

PATIENCE_SECONDS = 60


def test_its_file_sink_has_each_row_once(broker: Broker, tmp_path: Path) -> None:
    if reason := available():
        pytest.skip(f"no Kafka Connect: {reason}")
    folder = log_of(tmp_path / "cdc_raw", table("connected"), 30, 2)
    expected = run_cli(["follow", folder, "--once", "--node", "n1", "--output", "json"]).lines
    assert len(expected) == 60
    assert follow(broker, folder, "--commit-rows", "30").code == 0
    sink = FileSink(tmp_path, broker, ["ks.connected"])
    sink.start()
    try:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while len(sink.file.read_text().splitlines()) < len(expected):
            assert time.monotonic() < deadline, sink.said()
            time.sleep(0.1)
        time.sleep(0.5)
    finally:
        sink.kill()
    assert sink.file.read_text().splitlines() == expected
