"""What a real broker does not take, and who may not write to it: a clear error each, with its exit code; and no row is
committed with it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import RefusedError, SinkError
from tailer.sinks.kafka import sending, topics_there
from tailer.sinks.kafka.outlet import open_outlet
from tailer.sinks.kafka.record_size import batch_size
from tailer.sinks.outlet import OutletContext, OutletKey, Place, TargetAwayError
from tests.helpers.cli import run_cli
from tests.helpers.kafka_broker import Broker
from tests.helpers.kafka_topics import make_topic, producer, read
from tests.helpers.log_writer import LogFolder, completed, create_payload, insert_payload, segment_of
from tests.server.kafka.logs import FIRST, follow, log_of, positions, table, words
from tests.unit.sinks.rows import batch, row

pytestmark = [pytest.mark.server, pytest.mark.slow]

LIMIT = 4000


def log_with_a_long_row(folder: Path, name: str) -> Path:
    made, of = LogFolder(folder), table(name)
    keys = ["a", "b" * LIMIT, "c"]
    writer = segment_of(FIRST, [[create_payload(of)], [insert_payload(of, 1, ck, v) for v, ck in enumerate(keys)]])
    made.put(writer, completed(writer))
    return folder


def test_a_row_that_is_too_large_is_named_with_its_size(broker: Broker, tmp_path: Path) -> None:
    folder = log_with_a_long_row(tmp_path / "cdc_raw", "long")
    make_topic(broker, "ks.long", max_message_bytes=str(LIMIT))
    told = follow(broker, folder)
    assert told.code == 7
    assert f"row n1:{FIRST}:" in told.err
    assert "of ks.long is too large for topic ks.long: expected at most 4000 bytes (max.message.bytes)" in told.err
    assert read(broker, "ks.long", committed=False) == []
    assert follow(broker, folder, "--on-error", "quarantine").code == 0
    assert [message.row["columns"]["v"] for message in read(broker, "ks.long")] == [0, 2]


def test_the_size_that_is_told_is_the_brokers(broker: Broker) -> None:
    """The longest message that a topic takes by our reckoning it takes, and none that is longer by a byte."""
    from confluent_kafka import KafkaError

    make_topic(broker, "exact", max_message_bytes=str(LIMIT))
    headers = [("event_id", b"n1:1:2:3"), ("node", b"n1")]
    rest = LIMIT - batch_size(b"key", b"v" * 3000, headers)
    fits = b"v" * (3000 + rest)
    assert batch_size(b"key", fits, headers) == LIMIT
    failed: list[Any] = []
    with producer(broker, enable_idempotence="true") as other:
        for value in (fits, fits + b"v"):
            other.produce("exact", value, b"key", headers=headers, on_delivery=lambda error, _: failed.append(error))
            other.flush(30)
    assert [None if error is None else error.code() for error in failed] == [None, KafkaError.MSG_SIZE_TOO_LARGE]


def test_a_topic_with_a_small_bound_has_its_batches_made_small(broker: Broker, tmp_path: Path) -> None:
    folder = log_of(tmp_path / "cdc_raw", table("small"), 200)
    make_topic(broker, "ks.small", max_message_bytes="1500")
    assert follow(broker, folder).code == 0
    assert sorted(each.row["columns"]["v"] for each in read(broker, "ks.small")) == list(range(200))


def test_a_compacted_topic_takes_no_row_without_a_key(broker: Broker) -> None:
    make_topic(broker, "shop.orders", cleanup_policy="compact")
    make_topic(broker, "positions-keys", cleanup_policy="compact")
    refused: list[tuple[int, SinkError]] = []
    outlet = opened(broker, "keys", "positions-keys", lambda rows, number, error: refused.append((number, error)))
    truncated = row(op="truncate", partition_key=None, clustering=None, columns=None, token=None)
    outlet.write(batch(row(), truncated, row(token=7)))
    outlet.commit(None, Place('{"s":1}', 1))
    assert [number for number, _ in refused] == [1]
    assert "has no key, and topic shop.orders takes none without" in str(refused[0][1])
    outlet.close()
    assert len(read(broker, "shop.orders")) == 2


def opened(broker: Broker, consumer: str, topic: str, refused: Any = None) -> Any:
    values = {
        "brokers": broker.bootstrap, "kafka_config": None, "at_least_once": False, "create_topics": True,
        "partitions": None, "topic": "{keyspace}.{table}", "tombstones": False, "positions_topic": topic,
        "format": "rows", "with_schema": False, "registry": None, "registry_ids": "4",
        "commit_rows": 100, "commit_bytes": 1 << 20, "commit_seconds": 0.0,
    }  # fmt: skip
    context = OutletContext(OutletKey("5a1f", "n1", consumer), lambda table_id: None, None, refused, [].append)
    outlet = open_outlet("kafka", values, context)
    assert outlet.open() is None
    return outlet


def test_who_takes_over_fences_the_one_before(broker: Broker) -> None:
    make_topic(broker, "positions-fenced", cleanup_policy="compact")
    before = opened(broker, "fenced", "positions-fenced")
    after = opened(broker, "fenced", "positions-fenced")
    with pytest.raises(RefusedError, match="another run took over this node and consumer"):
        before.commit(None, Place('{"s":1}', 1))
    before.close()
    after.commit(None, Place('{"s":2}', 1))
    with pytest.raises(RefusedError, match="another position"):
        after.commit(None, Place('{"s":3}', 1))
    after.close()
    assert [each.row["offset"] for each in read(broker, "positions-fenced")] == [{"s": 2}]


def test_a_transaction_that_took_too_long_is_not_somebody_elses(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker ends it as it fences a writer: with the same error."""
    make_topic(broker, "positions-slow", cleanup_policy="compact")
    monkeypatch.setenv("CDC_TAIL_KAFKA_TRANSACTION_TIMEOUT_MS", "1000")
    outlet = opened(broker, "slow", "positions-slow")
    outlet.write(batch(row(table="slow")))
    flush = sending.Sending._flush

    def slowly(own: sending.Sending) -> None:
        flush(own)
        time.sleep(2.5)

    with monkeypatch.context() as slow:
        slow.setattr(sending.Sending, "_flush", slowly)
        with pytest.raises(TargetAwayError):
            outlet.commit(None, Place('{"s":1}', 1))
    assert outlet.open() is None
    outlet.commit(None, Place('{"s":1}', 1))
    outlet.close()
    assert len(read(broker, "shop.slow")) == 1


def test_what_is_not_committed_is_nobodys(broker: Broker) -> None:
    make_topic(broker, "positions-given-up", cleanup_policy="compact")
    outlet = opened(broker, "given-up", "positions-given-up")
    outlet.write(batch(row(table="given_up")))
    outlet.close()
    assert outlet.open() is None
    outlet.commit(None, Place('{"s":1}', 1))
    outlet.close()
    assert read(broker, "shop.given_up") == []


def test_an_open_transaction_of_another_writer_is_waited_for(broker: Broker, tmp_path: Path) -> None:
    folder = log_of(tmp_path / "cdc_raw", table("waits"), 3)
    assert follow(broker, folder).code == 0
    with producer(broker, transactional_id="another") as other:
        other.produce(positions(folder), b"{}", b'{"node":"n2"}', 0)
        other.flush(30)
        env = {"CDC_TAIL_KAFKA_TRANSACTION_TIMEOUT_MS": "1000"}
        told = follow(broker, folder, "--retry-for", "0s", env=env)
        assert (told.code, "a transaction of another writer is open there" in told.err) == (8, True)
        other.abort_transaction(30)
    log_of(folder, table("waits"), 3, first=3)
    assert follow(broker, folder).code == 0
    assert [each.row["columns"]["v"] for each in read(broker, "ks.waits")] == list(range(6))


def test_a_property_that_there_is_not_is_told(broker: Broker, tmp_path: Path) -> None:
    folder = log_of(tmp_path / "cdc_raw", table("property"), 3)
    told = follow(broker, folder, env={"CDC_TAIL_KAFKA_COMPRESION_TYPE": "lz4"})
    assert (told.code, "compresion.type" in told.err) == (2, True)
    told = follow(broker, folder, env={"CDC_TAIL_KAFKA_COMPRESSION_TYPE": "lz4"})
    assert told.code == 0


def test_nobody_there_ends_when_it_was_waited_for_long_enough(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topics_there, "CONNECT_SECONDS", 0.5)
    folder = log_of(tmp_path / "cdc_raw", table("nobody"), 3)
    told = run_cli([*words(broker, folder), "--brokers", "127.0.0.1:1", "--retry-for", "1s"])
    assert told.code == 8
    assert "Connection refused" in told.err
    assert "%3|" not in told.err
