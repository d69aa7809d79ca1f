"""`ship --to kafka`: the rows of data files in a real broker's topics, each once, and how far the shipper is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.cli import Result, run_cli
from tests.helpers.data_files import indexes, lines_of
from tests.helpers.kafka_broker import Broker
from tests.helpers.kafka_topics import make_topic, places, read, set_bound
from tests.server.kafka.logs import log_of, table

pytestmark = [pytest.mark.server, pytest.mark.slow]


def files_of(log: Path, folder: Path, *more: str) -> None:
    """A run that writes data files of what is new, a file for each batch."""
    words = ["follow", log, "--once", "--node", "n1", "--consumer", "c", "--to", f"files:{folder}", "--roll-bytes", "1"]
    ran = run_cli([*words, *more])
    assert ran.code == 0, ran.err


def shipping(broker: Broker, folder: Path) -> list[str]:
    """The words of a shipper that goes on and on."""
    words = ["ship", str(folder), "--to", "kafka", "--brokers", broker.bootstrap, "--keep", "100"]
    return [*words, "--positions-topic", f"positions-{folder.parent.name}", "--create-topics"]


def ship(broker: Broker, folder: Path, *more: str) -> Result:
    return run_cli([*shipping(broker, folder), "--once", *more])


@pytest.mark.parametrize("form", ["rows", "arrow"])
def test_each_row_once_as_follow_sends_it(broker: Broker, tmp_path: Path, form: str) -> None:
    name = f"ship_{form}"
    log, out = log_of(tmp_path / "cdc_raw", table(name), 20), tmp_path / "out"
    files_of(log, out, "--format", form)
    assert ship(broker, out, "--commit-rows", "7", "--partitions", "2").code == 0
    sent = read(broker, f"ks.{name}")
    assert sorted(message.row["columns"]["v"] for message in sent) == list(range(20))
    newest = indexes(out / "n1")[-1]
    stands = places(broker, f"positions-{tmp_path.name}")["n1"]
    assert stands["offset"] == {"file": newest["number"], "rows": newest["rows"], "whole": True, "v": 1}
    # The same messages as straight from the log: keys, values and headers.
    straight = ["follow", log, "--once", "--node", "n1", "--consumer", "straight", "--to", "kafka"]
    straight += ["--brokers", broker.bootstrap, "--topic", f"straight.{name}", "--create-topics", "--partitions", "2"]
    assert run_cli([*straight, "--positions-topic", f"positions-{tmp_path.name}"]).code == 0
    assert {(each.key, each.value) for each in read(broker, f"straight.{name}")} == {(m.key, m.value) for m in sent}
    log_of(log, table(name), 5, first=20)
    files_of(log, out, "--format", form)
    for _ in range(2):
        assert ship(broker, out, "--partitions", "2").code == 0
        assert sorted(each.row["columns"]["v"] for each in read(broker, f"ks.{name}")) == list(range(25))


def test_a_shipper_that_forgot_goes_by_what_the_broker_has(broker: Broker, tmp_path: Path) -> None:
    """As after a kill between the broker's commit and the shipper's file."""
    log, out = log_of(tmp_path / "cdc_raw", table("ship_forgot"), 20), tmp_path / "out"
    files_of(log, out)
    assert ship(broker, out).code == 0
    file = out / ".cdc_tail" / "consumers" / "ship.json"
    file.write_text(file.read_text().replace(f'"upto": {len(indexes(out / "n1"))}', '"upto": 0'))
    log_of(log, table("ship_forgot"), 5, first=20)
    files_of(log, out)
    assert ship(broker, out).code == 0
    assert sorted(each.row["columns"]["v"] for each in read(broker, "ks.ship_forgot")) == list(range(25))


def test_a_target_that_has_nothing_of_what_was_sent(broker: Broker, tmp_path: Path) -> None:
    log, out = log_of(tmp_path / "cdc_raw", table("ship_other"), 5), tmp_path / "out"
    files_of(log, out)
    assert ship(broker, out).code == 0
    told = ship(broker, out, "--positions-topic", f"others-{tmp_path.name}")
    assert (told.code, "has none of the data files of node n1" in told.err) == (6, True)


def test_a_row_that_is_too_large_ends_it_and_stays(broker: Broker, tmp_path: Path) -> None:
    """A shipper has no quarantine: the files stay, and go when the topic takes them."""
    log, out = log_of(tmp_path / "cdc_raw", table("ship_large"), 20), tmp_path / "out"
    files_of(log, out)
    make_topic(broker, "ks.ship_large", max_message_bytes="200")
    told = ship(broker, out)
    assert (told.code, "is too large for topic ks.ship_large: expected at most 200 bytes" in told.err) == (7, True)
    assert read(broker, "ks.ship_large", committed=False) == []
    assert len(lines_of(out / "n1")) == 20
    set_bound(broker, "ks.ship_large", 100_000)
    assert ship(broker, out).code == 0
    assert sorted(each.row["columns"]["v"] for each in read(broker, "ks.ship_large")) == list(range(20))
