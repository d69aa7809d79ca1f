"""The numbers of a service's log and its subscribers: held to what was done with it."""

from __future__ import annotations

import errno
import os
import socket
import time
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import RefusedError, SystemFailedError, UsageError
from tests.writer.plain import ORDERS
from tests.writer.small_log import order
from writer_hooks import SegmentLog, batch
from writer_hooks.cap import Cap
from writer_hooks.disk import RealFiles

prometheus: Any = pytest.importorskip("prometheus_client")


@pytest.fixture
def registry() -> Any:
    return prometheus.CollectorRegistry()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "log"
    made.mkdir()
    return made


def value(registry: Any, folder: Path, name: str, **labels: str) -> float | None:
    found: float | None = registry.get_sample_value(f"cdc_tail_{name}", {"log": str(folder), **labels})
    return found


def test_what_was_appended_and_synced_is_counted(folder: Path, registry: Any) -> None:
    with SegmentLog.open(folder, [ORDERS], metrics=registry, segment_bytes=4096, threads=False) as log:
        assert value(registry, folder, "writer_sync_seconds_count") == 0
        for number in range(3):
            log.append(order(number)).wait()
        log.append(order(3))
        stats = log.stats()
        assert value(registry, folder, "writer_entries_total") == stats.appended_entries == 4
        assert value(registry, folder, "writer_bytes_total") == stats.appended_bytes > 0
        assert value(registry, folder, "writer_unsynced_bytes") == stats.unsynced_bytes > 0
        assert value(registry, folder, "writer_sync_seconds_count") == stats.syncs == 3
        assert 0 < (value(registry, folder, "writer_sync_seconds_sum") or 0) < 60
        assert value(registry, folder, "writer_segments_total") == 1
        for number in range(40):
            log.append(order(number, 200))
        log.sync()
        assert value(registry, folder, "writer_segments_total") == log.stats().segments > 1
        assert value(registry, folder, "writer_used_bytes") is None
        assert value(registry, folder, "writer_dead") == value(registry, folder, "writer_trouble") == 0
    assert value(registry, folder, "writer_entries_total") is None, "it is closed"


def test_how_near_it_is_to_its_cap(folder: Path, registry: Any) -> None:
    with SegmentLog.open(folder, [ORDERS], metrics=registry, segment_bytes=4096, threads=False, cap=Cap(8192)) as log:
        assert value(registry, folder, "writer_cap_bytes") == 8192
        log.append(order(1)).wait()
        assert value(registry, folder, "writer_used_bytes") == 4096
        with pytest.raises(RefusedError, match="at its cap"):
            log.append_many(order(number, 200) for number in range(200))
        assert (value(registry, folder, "writer_used_bytes") or 0) > 4096


def test_subscribers_are_told_of_while_they_are_open(folder: Path, registry: Any) -> None:
    with SegmentLog.open(folder, [ORDERS], metrics=registry) as log:
        with log.subscribe(consumer="screen") as subscription:
            log.append(order(1)).wait()
            assert subscription.take(10) is not None
            assert value(registry, folder, "subscription_rows_total", consumer="screen") == 1
            assert value(registry, folder, "subscription_from_buffer", consumer="screen") == 1
            assert value(registry, folder, "subscription_switches_total", consumer="screen") == 1
            assert value(registry, folder, "subscription_lag_bytes", consumer="screen") == 0
        assert value(registry, folder, "subscription_rows_total", consumer="screen") is None


def told(registry: Any, folder: Path, name: str, consumer: str, **labels: str) -> float:
    """Of a reader's rows."""
    found = registry.get_sample_value(f"cdc_tail_{name}", {"consumer": consumer, "node": str(folder), **labels})
    return float(found or 0)


def test_the_rows_of_a_subscription_are_told_of(folder: Path, registry: Any) -> None:
    with SegmentLog.open(folder, [ORDERS], metrics=registry) as log, log.subscribe(consumer="screen") as subscription:
        log.append_many([order(1), order(2)])
        log.append(order(3)).wait()
        got = 0
        while got < 3:
            rows = subscription.take(10)
            assert rows is not None
            got += rows.num_rows
        kind = {"keyspace": "shop", "table": "orders", "op": "insert"}
        assert told(registry, folder, "rows_total", "screen", **kind) == 3
        assert told(registry, folder, "delivered_rows_total", "screen") < 3
        subscription.commit()
        for name in ("delivered_rows_total", "read_to_delivered_seconds_count", "durable_to_read_seconds_count"):
            assert told(registry, folder, name, "screen") == 3, name
        assert told(registry, folder, "commits_total", "screen") == 1
        assert 0 < told(registry, folder, "durable_to_read_seconds_sum", "screen") < 60


class Slow:
    """Says of the first batch that it is not safe yet."""

    def __init__(self) -> None:
        self.rows = self.batches = 0

    def start(self, state: object) -> None: ...

    def on_definitions(self, changes: object) -> None: ...

    def on_changes(self, batch: Any) -> bool:
        self.rows += batch.num_rows
        self.batches += 1
        return self.batches > 1

    def stop(self) -> None: ...


def test_the_rows_of_a_consumer_object_are_told_of(folder: Path, registry: Any) -> None:
    consumer, kind = Slow(), {"keyspace": "shop", "table": "orders", "op": "insert"}
    with SegmentLog.open(folder, [ORDERS], metrics=registry) as log:
        running = log.run_in_thread(consumer, name="billing")
        for number in (1, 2):
            assert told(registry, folder, "delivered_rows_total", "billing") == 0
            log.append(order(number)).wait()
            deadline = time.monotonic() + 20
            while told(registry, folder, "rows_total", "billing", **kind) < number:
                assert time.monotonic() < deadline
                time.sleep(0.01)
        while not told(registry, folder, "commits_total", "billing"):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert told(registry, folder, "delivered_rows_total", "billing") == consumer.rows == 2
        running.stop()


def get(address: str, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.fixture
def address() -> str:
    with closing(socket.create_server(("127.0.0.1", 0))) as held:
        return f"127.0.0.1:{held.getsockname()[1]}"


def test_pages_until_it_is_closed(folder: Path, address: str) -> None:
    with SegmentLog.open(folder, [ORDERS], metrics=address) as log:
        log.append(order(1)).wait()
        assert f'cdc_tail_writer_entries_total{{log="{folder}"}} 1.0' in get(address, "/metrics")[1]
        assert get(address, "/healthz") == get(address, "/readyz") == (200, "ok\n")
    with pytest.raises(OSError, match="refused"):
        get(address, "/metrics")
    log.close()


class Failing(RealFiles):
    """The disk, until it is `broken`."""

    broken = False

    def fdatasync(self, fd: int) -> None:
        if self.broken:
            raise OSError(errno.EIO, "Input/output error")
        super().fdatasync(fd)


def test_a_dead_log_is_told(folder: Path, address: str) -> None:
    files = Failing()
    with SegmentLog.open(folder, [ORDERS], metrics=address, files=files, threads=False, sync=batch()) as log:
        log.append(order(1)).wait()
        files.broken = True
        with pytest.raises(SystemFailedError):
            log.append(order(2)).wait()
        assert get(address, "/healthz") == get(address, "/readyz") == (503, f"{log.stats().dead}\n")
        assert f'cdc_tail_writer_dead{{log="{folder}"}} 1.0' in get(address, "/metrics")[1]


def test_who_cannot_have_it_opens_no_log(folder: Path, address: str) -> None:
    host, _, port = address.partition(":")
    with socket.create_server((host, int(port))), pytest.raises(UsageError, match="cannot listen"):
        SegmentLog.open(folder, [ORDERS], metrics=address)
    for wrong in ("db1", -1, object(), True):
        with pytest.raises(UsageError, match="a port, HOST:PORT, or a CollectorRegistry"):
            SegmentLog.open(folder, [ORDERS], metrics=wrong)
    assert not list(folder.iterdir())


def test_a_log_that_cannot_be_opened_leaves_the_port(folder: Path, address: str) -> None:
    with SegmentLog.open(folder, [ORDERS]):
        for _ in range(2):
            with pytest.raises(RefusedError):
                SegmentLog.open(folder, [ORDERS], metrics=address)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_shows_nothing_and_holds_no_port(folder: Path, address: str) -> None:
    with SegmentLog.open(folder, [ORDERS], metrics=address) as log:
        reading, writing = os.pipe()
        closed, closes = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                log.close()
                os.write(closes, b"x")
                os.read(reading, 1)
            finally:
                os._exit(0)
        assert get(address, "/readyz") == (200, "ok\n")
        # Until then the child has the lock's file open too.
        assert os.read(closed, 1) == b"x"
        log.close()
        with SegmentLog.open(folder, [ORDERS], metrics=address):
            assert get(address, "/readyz") == (200, "ok\n")
        os.write(writing, b"x")
        os.waitpid(child, 0)
        for descriptor in (reading, writing, closed, closes):
            os.close(descriptor)
