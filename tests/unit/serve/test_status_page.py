"""The page of a node that serves: what it served is there, and it ends with the node."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from aiohttp import ClientSession

from tailer.options.listen import Listen
from tailer.serve.clients import Clients
from tailer.serve.counts import LeaseNow, ServedNow
from tailer.serve.facts import Facts
from tailer.serve.node import Node
from tailer.serve.options import Bounds, ServeOptions
from tests.helpers.watched_node import WatchedNode

LOCAL = Listen("127.0.0.1", 0)


def test_facts_are_the_counts() -> None:
    now = ServedNow(5, {200: 1}, {"disk": 2}, 3, 4, [LeaseNow("c", "spark", 1.0, 2.0)], 1000)
    served = Facts(lambda: now).served()
    assert (served.bytes, served.requests, served.errors) == (5, {200: 1}, {"disk": 2})
    assert (served.readers, served.connections, served.rate_max) == (3, 4, 1000)
    assert [(each.consumer, each.holder, each.since, each.ends) for each in served.leases] == [("c", "spark", 1.0, 2.0)]


def test_what_was_served_is_on_the_page(tmp_path: Path) -> None:
    log = WatchedNode(tmp_path)
    log.write(20)
    log.read("billing")

    async def run() -> float:
        node = Node(ServeOptions(log.folder, LOCAL, Clients(None, open=True), status=LOCAL, cap=16 << 20), print)
        await node.begin()
        assert node.status_address is not None
        served, page = f"http://{node.address}/api/v1/cdc/segments", f"http://{node.status_address}"
        async with ClientSession() as session:
            async with session.get(served) as answer:
                name = (await answer.json())["segmentsInfo"][0]["name"]
            async with session.get(f"{served}/{name}", headers={"Range": "bytes=0-99"}) as answer:
                assert (answer.status, len(await answer.read())) == (206, 100)
            texts = {}
            for path in ("/", "/healthz", "/readyz", "/metrics"):
                async with session.get(page + path) as answer:
                    assert answer.status == 200, await answer.text()
                    texts[path] = await answer.text()
            assert "<h1>cdc-tail" in texts["/"]
            lines = texts["/metrics"].splitlines()
            assert 'cdc_tail_serve_bytes_total{node="local"} 100.0' in lines
            assert 'cdc_tail_serve_requests_total{node="local",status="206"} 1.0' in lines
            assert 'cdc_tail_folder_cap_bytes{node="local"} 1.6777216e+07' in lines
            assert 'cdc_tail_consumer_running{consumer="billing",node="local"} 1.0' in lines
            async with session.get(page + "/events") as answer:
                await answer.content.readline()
                began = time.monotonic()
                await node.end()
        return time.monotonic() - began

    try:
        assert asyncio.run(asyncio.wait_for(run(), 60)) < 10
    finally:
        log.close()


def test_the_page_waits_for_nobody_for_long_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailer.serve.parts.STATUS_CONNECTIONS_MAX", 3)
    log = WatchedNode(tmp_path)
    # Long enough that a busy machine gets to the fourth client before the first is ended.
    bounds = Bounds(header_seconds=3.0, idle_seconds=3.0)

    async def run() -> None:
        node = Node(ServeOptions(log.folder, LOCAL, Clients(None, open=True), status=LOCAL, bounds=bounds), print)
        await node.begin()
        assert node.status_address is not None
        place = node.status_address.host, node.status_address.port
        try:
            slow = [await asyncio.open_connection(*place) for _ in range(3)]
            for _, writer in slow:
                writer.write(b"GET / HTT")
            reader, writer = await asyncio.open_connection(*place)
            assert (await reader.readline()).startswith(b"HTTP/1.1 503 ")
            writer.close()
            began = time.monotonic()
            for reader, writer in slow:
                assert await reader.read() == b""
                writer.close()
            assert time.monotonic() - began < 20
            async with ClientSession() as session, session.get(f"http://{node.status_address}/healthz") as answer:
                assert answer.status == 200
        finally:
            await node.end()

    asyncio.run(run())
    log.close()
