"""A broker that is away under runs that go on by themselves, for a minute in `make soak`: they say so meanwhile, and
afterwards each row is there once. And one whose disk is full, which ends it.

A broker takes many seconds to start again: CI has the first of these alone.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.kafka_broker import Broker
from tests.helpers.kafka_topics import places, read
from tests.helpers.long_run import long_run
from tests.helpers.outage import DELIVERED, follower_says_it, outage, shipper_says_it
from tests.helpers.shipping import sent
from tests.helpers.small_disk import small_disk
from tests.helpers.steady_log import steady_log
from tests.server.kafka.logs import follow, log_of, positions, table, words
from tests.server.kafka.test_ship import files_of, ship, shipping

pytestmark = [pytest.mark.server, pytest.mark.slow]


def values(broker: Broker, topic: str) -> list[int]:
    return [each.row["columns"]["v"] for each in read(broker, topic)]


def test_under_a_follower_while_rows_come(broker: Broker, tmp_path: Path) -> None:
    with steady_log(tmp_path, table("away")) as log:
        command = [*words(broker, log.folder), "--create-topics", "--retry-for", "5min", "--metrics", "0"]
        with long_run([word for word in command if word != "--once"], tmp_path / "said") as run:
            run.await_that(lambda: run.metric(DELIVERED) > 20)
            outage(broker.kill, broker.start, lambda: follower_says_it(run, log.folder), run, log)
            run.await_that(lambda: run.metric(DELIVERED) > log.rows - 10)
            run.end()
    assert follow(broker, log.folder).code == 0
    assert values(broker, "ks.away") == list(range(log.rows))
    last = read(broker, "ks.away")[-1].row
    stands = places(broker, positions(log.folder))["n1"]["offset"]
    assert (stands["s"], stands["o"]) > (last["segment"], last["offset"])


@pytest.mark.soak
def test_under_a_shipper(broker: Broker, tmp_path: Path) -> None:
    log, out = log_of(tmp_path / "cdc_raw", table("ship_away"), 20), tmp_path / "out"
    files_of(log, out)
    with long_run([*shipping(broker, out), "--retry-for", "5min"], tmp_path / "said") as run:
        run.await_that(lambda: sent(out, "n1") > 0)

        def take() -> None:
            broker.kill()
            log_of(log, table("ship_away"), 20, first=20)
            files_of(log, out)

        before = sent(out, "n1")
        outage(take, broker.start, lambda: shipper_says_it(out), run, None)
        run.await_that(lambda: sent(out, "n1") > before)
        run.end()
    assert ship(broker, out).code == 0
    assert values(broker, "ks.ship_away") == list(range(40))


@pytest.mark.soak
def test_a_broker_that_ends_for_want_of_room(broker: Broker, tmp_path: Path) -> None:
    """Kafka shuts down when none of its log folders can be written: it is away, and nothing was committed by halves."""
    folder = log_of(tmp_path / "cdc_raw", table("room"), 200, 2)
    with small_disk(tmp_path / "disk", 300) as disk:
        small = Broker(disk.folder / "kafka")
        small.start()
        try:
            assert follow(small, folder).code == 0
            log_of(folder, table("room"), 200, 2, first=400)
            disk.fill()
            ran = follow(small, folder, "--retry-for", "2s")
            assert ran.code == 8, ran.err
            assert "No space left on device" in (small.folder / "broker.log").read_text(errors="replace")
            small.kill()
            disk.make_room()
            small.start()
            assert len(values(small, "ks.room")) in (400, 800)
            assert follow(small, folder).code == 0
            assert values(small, "ks.room") == list(range(800))
        finally:
            small.kill()
