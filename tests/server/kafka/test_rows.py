"""Rows in a real broker's topics: each once, in the order of its key, with the position in the same transaction."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli import run_cli
from tests.helpers.kafka_broker import Broker
from tests.helpers.kafka_topics import Read, make_topic, places, producer, read, settings_of
from tests.server.kafka.logs import FIRST, follow, log_of, positions, table, words

pytestmark = [pytest.mark.server, pytest.mark.slow]


def values(messages: list[Read]) -> list[int]:
    return [message.row["columns"]["v"] for message in messages]


def test_each_row_once_in_the_order_of_its_key_with_the_position_behind_it(broker: Broker, tmp_path: Path) -> None:
    folder = log_of(tmp_path / "cdc_raw", table("rows"), 50)
    assert follow(broker, folder, "--partitions", "3", "--commit-rows", "7").code == 0
    messages = read(broker, "ks.rows")
    assert sorted(values(messages)) == list(range(50))
    assert len({message.partition for message in messages}) > 1
    for key in range(7):
        own = [each for each in messages if each.row["partition_key"] == {"pk": key}]
        assert len({each.partition for each in own}) == 1
        assert values(own) == list(range(key, 50, 7))
    first = min(messages, key=lambda each: each.row["offset"])
    assert first.key == b'{"pk":0,"ck":"c0"}'
    place = f"{first.row['segment']}:{first.row['offset']}"
    assert first.headers == {"event_id": f"n1:{place}:0".encode(), "node": b"n1", "position": place.encode()}
    stands = places(broker, positions(folder))["n1"]
    assert (stands["v"], stands["generation"], stands["offset"]["s"]) == (1, 1, FIRST)
    assert stands["offset"]["o"] > max(message.row["offset"] for message in messages)


def test_a_later_run_brings_what_is_new(broker: Broker, tmp_path: Path) -> None:
    folder = log_of(tmp_path / "cdc_raw", table("later"), 5)
    for _ in range(2):
        assert follow(broker, folder).code == 0
        assert values(read(broker, "ks.later")) == [0, 1, 2, 3, 4]
    log_of(folder, table("later"), 5, first=5)
    assert follow(broker, folder).code == 0
    assert values(read(broker, "ks.later")) == list(range(10))


def test_topics_are_made_when_that_is_asked_for(broker: Broker, tmp_path: Path) -> None:
    folder = log_of(tmp_path / "cdc_raw", table("made"), 3)
    own = positions(folder)
    told = run_cli(words(broker, folder))
    assert (told.code, f"has no topic {own}, where positions stand" in told.err) == (2, True)
    assert f"kafka-topics.sh --create --topic {own} --partitions 1" in told.err
    make_topic(broker, own, cleanup_policy="compact")
    told = run_cli(words(broker, folder, "--topic", "x-{node}.{table}"))
    assert (told.code, "has no topic x-n1.made" in told.err) == (7, True)
    assert follow(broker, folder, "--topic", "x-{node}.{table}", "--partitions", "4").code == 0
    assert sorted(values(read(broker, "x-n1.made"))) == [0, 1, 2]
    again = log_of(tmp_path / "again" / "cdc_raw", table("made"), 3)
    assert follow(broker, again).code == 0
    assert settings_of(broker, positions(again))["cleanup.policy"] == "compact"


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
def test_a_topic_that_does_not_keep_positions_is_refused(broker: Broker, tmp_path: Path, policy: str) -> None:
    folder = log_of(tmp_path / "cdc_raw", table("policy"), 3)
    make_topic(broker, positions(folder), cleanup_policy=policy)
    told = follow(broker, folder)
    assert told.code == 2
    assert f"expected cleanup.policy=compact, found {policy}" in told.err
    assert "kafka-configs.sh --alter" in told.err
    assert read(broker, "ks.policy") == []


def test_a_node_without_a_name_writes_to_no_kafka(broker: Broker, tmp_path: Path) -> None:
    folder = log_of(tmp_path / "cdc_raw", table("unnamed"), 3)
    told = run_cli(words(broker, folder, node="local"))
    assert (told.code, "Name it: --node NAME" in told.err) == (2, True)


def test_at_least_once_keeps_the_position_in_the_state_alone(broker: Broker, tmp_path: Path) -> None:
    folder = log_of(tmp_path / "cdc_raw", table("at_least"), 20)
    for _ in range(2):
        assert run_cli(words(broker, folder, "--at-least-once", "--topic", "ks.at_least", "--create-topics")).code == 0
        assert values(read(broker, "ks.at_least")) == list(range(20))
    assert read(broker, positions(folder)) == []


def test_a_client_that_has_its_hands_full_is_waited_for(broker: Broker, tmp_path: Path) -> None:
    folder = log_of(tmp_path / "cdc_raw", table("full"), 200)
    env = {"CDC_TAIL_KAFKA_QUEUE_BUFFERING_MAX_MESSAGES": "10"}
    assert follow(broker, folder, env=env).code == 0
    assert values(read(broker, "ks.full")) == list(range(200))


def test_two_nodes_in_one_process_each_with_a_position_of_its_own(broker: Broker, tmp_path: Path) -> None:
    one = log_of(tmp_path / "one" / "cdc_raw", table("two"), 10)
    other = log_of(tmp_path / "other" / "cdc_raw", table("two"), 10, first=10)
    both = ["follow", f"n1={one},n2={other}", "--once", "--consumer", "c", "--to", "kafka", "--create-topics"]
    told = run_cli([*both, "--brokers", broker.bootstrap, "--positions-topic", "positions-two"])
    assert told.code == 0, told.err
    assert sorted(values(read(broker, "ks.two"))) == list(range(20))
    assert set(places(broker, "positions-two")) == {"n1", "n2"}


def restored(broker: Broker, topic: str, value: Any) -> None:
    """A position as it was earlier stands there again, under the key of the last."""
    key = read(broker, topic)[-1].key
    with producer(broker) as other:
        other.produce(topic, json.dumps(value).encode(), key, 0)


def test_what_a_restored_target_has_lost_comes_again(broker: Broker, tmp_path: Path) -> None:
    folder = log_of(tmp_path / "cdc_raw", table("restored"), 5, 4)
    assert follow(broker, folder, "--commit-rows", "5").code == 0
    stood = [each.row for each in read(broker, positions(folder))]
    assert len(stood) >= 3
    restored(broker, positions(folder), stood[1])
    lost = [each for each in read(broker, "ks.restored") if each.row["segment"] > stood[1]["offset"]["s"]]
    assert 0 < len(lost) < 20
    assert follow(broker, folder).code == 0
    found = read(broker, "ks.restored")
    assert values(found) == list(range(20)) + values(lost)
    assert places(broker, positions(folder))["n1"]["offset"]["s"] == stood[-1]["offset"]["s"]


def test_a_target_that_keeps_no_position_of_a_consumer_that_has_moved_is_another_one(
    broker: Broker, tmp_path: Path
) -> None:
    folder = log_of(tmp_path / "cdc_raw", table("emptied"), 5)
    assert follow(broker, folder).code == 0
    told = follow(broker, folder, "--positions-topic", "positions-emptied")
    assert (told.code, "keeps no position of this consumer" in told.err) == (6, True)


def test_a_position_of_a_later_version_is_refused(broker: Broker, tmp_path: Path) -> None:
    folder = log_of(tmp_path / "cdc_raw", table("version"), 5)
    assert follow(broker, folder).code == 0
    restored(broker, positions(folder), {"v": 2})
    told = follow(broker, folder)
    assert (told.code, "A newer cdc-tail wrote it" in told.err) == (6, True)


def test_a_position_is_found_behind_those_of_many_others(broker: Broker, tmp_path: Path) -> None:
    folder = log_of(tmp_path / "cdc_raw", table("many"), 5)
    assert follow(broker, folder).code == 0
    with producer(broker) as other:
        for number in range(12_000):
            other.produce(positions(folder), b'{"v":1}', b'{"node":"%d"}' % number, 0)
    log_of(folder, table("many"), 5, first=5)
    assert follow(broker, folder).code == 0
    assert values(read(broker, "ks.many")) == list(range(10))
