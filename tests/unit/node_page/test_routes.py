"""The routes: what each answers, to whom, with which headers; a page that is open is told what is new."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestClient, TestServer
from prometheus_client.parser import text_string_to_metric_families

from tailer.metrics.declared import TABLE
from tailer.node_page import routes as module
from tailer.node_page.facts import Lease, NothingServed, Served
from tailer.node_page.look import StatusSource
from tailer.node_page.page import page_text
from tailer.node_page.routes import add_status
from tests.helpers.prometheus import available, promtool
from tests.helpers.watched_node import WatchedNode

HOSTILE = "<img src=x onerror=alert(1)>\"'}\n\u2028{"
Client = TestClient[web.Request, web.Application]


class Facts(NothingServed):
    """Has served something, and says that something is wrong where it is told to."""

    def __init__(self) -> None:
        self.dead: Sequence[str] = ()
        self.away: Sequence[str] = ()

    def served(self) -> Served:
        leases = [Lease("billing", HOSTILE, 1.0, time.time() + 40), Lease("late", "h", 1.0, 2.0)]
        return Served(12_345, {200: 7, 416: 1}, 3, leases, {HOSTILE: 2}, connections=9)

    def stuck(self) -> Sequence[str]:
        return self.dead

    def unready(self) -> Sequence[str]:
        return self.away


@pytest.fixture
def node(tmp_path: Path) -> Iterator[WatchedNode]:
    made = WatchedNode(tmp_path, "n1")
    made.write(20)
    made.read("billing")
    made.write_unknown(2)
    made.read("billing")
    made.write(5)
    yield made
    made.close()


@asynccontextmanager
async def client(folder: Path, facts: Facts | None = None) -> AsyncIterator[Client]:
    app = web.Application()
    add_status(app, StatusSource(folder, "n1", cap=16 << 20, facts=facts or Facts()))
    async with TestClient(TestServer(app)) as made:
        yield made


def ran(folder: Path, what: Callable[[Client], Awaitable[None]], facts: Facts | None = None) -> None:
    async def run() -> None:
        async with client(folder, facts) as made:
            await what(made)

    asyncio.run(asyncio.wait_for(run(), 60))


async def got(client: Client, path: str, **more: Any) -> tuple[int, str]:
    async with client.get(path, **more) as answer:
        return answer.status, await answer.text()


async def event(lines: Any) -> tuple[str, Any]:
    """The next one of a stream."""
    name = (await asyncio.wait_for(lines.readline(), 20)).decode()
    data = (await lines.readline()).decode()
    assert (await lines.readline()) == b"\n"
    assert name.startswith("event: ")
    return name[7:-1], json.loads(data.removeprefix("data: "))


async def next_status(lines: Any) -> Any:
    while True:
        name, told = await event(lines)
        if name == "status":
            return told


def test_the_page_and_its_headers(node: WatchedNode) -> None:
    async def what(client: Client) -> None:
        async with client.get("/") as answer:
            assert await answer.read() == page_text().body
            assert answer.headers["Content-Security-Policy"] == page_text().policy
            assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Server"] == "cdc-tail"
        assert (await got(client, "/healthz"), await got(client, "/readyz")) == ((200, "ok\n"), (200, "ok\n"))
        assert (await got(client, "/else"))[0] == 404
        async with client.post("/") as answer:
            assert answer.status == 405

    ran(node.folder, what)


def test_a_foreign_name_is_refused_everywhere(node: WatchedNode) -> None:
    async def what(client: Client) -> None:
        for path in ("/", "/events", "/metrics", "/healthz", "/readyz"):
            assert (await got(client, path, headers={"Host": "evil.example"}))[0] == 403

    ran(node.folder, what)


def test_an_open_page_is_told_at_once_what_is_new(node: WatchedNode) -> None:
    async def what(client: Client) -> None:
        async with client.get("/events") as answer:
            assert answer.headers["Content-Type"] == "text/event-stream"
            names = [await event(answer.content) for _ in range(2)]
            assert [name for name, _ in names] == ["status", "history"]
            told = names[0][1]
            assert (told["node"], told["trouble"], told["served"]["bytes"]) == ("n1", None, 12_345)
            assert [each["consumer"] for each in names[1][1]] == ["billing"]
            took = []
            for _ in range(5):
                before = told["seen"]["durable"]["end"]
                node.write()
                began = time.monotonic()
                while told["seen"]["durable"]["end"] == before:
                    told = await next_status(answer.content)
                took.append(time.monotonic() - began)
            assert median(took) < 1.0, took

    ran(node.folder, what)


def test_silence_is_broken_by_a_beat(node: WatchedNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BEAT_SECONDS", 0.05)

    async def what(client: Client) -> None:
        async with client.get("/events") as answer:
            found = [(await event(answer.content))[0] for _ in range(6)]
        assert found.count("beat") >= 2

    ran(node.folder, what)


def test_so_many_pages_and_no_more(node: WatchedNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WATCHERS_MAX", 2)

    async def what(client: Client) -> None:
        open_ones = [await client.get("/events") for _ in range(2)]
        async with client.get("/events") as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (503, "10")
        open_ones[0].close()
        for _ in range(200):
            async with client.get("/events") as answer:
                if answer.status == 200:
                    break
            node.write()
            await asyncio.sleep(0.05)
        else:
            pytest.fail("a page that was closed keeps its place")
        open_ones[1].close()

    ran(node.folder, what)


def test_a_client_that_takes_nothing_is_let_go(node: WatchedNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLIENT_SECONDS", 0.3)
    monkeypatch.setattr(module, "BEAT_SECONDS", 0.0)
    real = module._send
    monkeypatch.setattr(module, "_send", lambda response, event, value: real(response, event, "x" * 100_000))

    async def run() -> None:
        app = web.Application()
        page = add_status(app, StatusSource(node.folder, "n1"))
        async with TestServer(app) as server:
            with socket.create_connection(("127.0.0.1", server.port or 0)) as slow:
                slow.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
                while not page.collector.watchers:
                    await asyncio.sleep(0.01)
                while page.collector.watchers:
                    await asyncio.sleep(0.05)
                async with ClientSession() as session, session.get(server.make_url("/healthz")) as answer:
                    assert answer.status == 200

    asyncio.run(asyncio.wait_for(run(), 60))


def test_an_application_ends_though_pages_are_open(node: WatchedNode) -> None:
    async def run() -> float:
        async with client(node.folder) as made:
            answer = await made.get("/events")
            await next_status(answer.content)
            began = time.monotonic()
        return time.monotonic() - began

    assert asyncio.run(asyncio.wait_for(run(), 60)) < 5


def test_hostile_names_go_through_as_they_are(tmp_path: Path) -> None:
    parent = tmp_path / HOSTILE.replace("/", "")
    parent.mkdir()
    made = WatchedNode(parent)
    kept = made.folder.with_name("cdc_raw.cdc_tail") / "quarantine"
    kept.mkdir(parents=True)
    line = {"node": HOSTILE, "segment": 1, "offset": 2, "file": "", "code": 4, "reason": "secret", "bytes": "", "v": 1}
    (kept / "\udcff<b>.jsonl").write_text(json.dumps(line))
    made.close()

    async def what(client: Client) -> None:
        async with client.get("/events") as answer:
            told = await next_status(answer.content)
        assert told["folder"] == str(made.folder)
        (entry,) = told["seen"]["quarantine"]
        assert (entry["node"], entry["entries"]) == (HOSTILE, 1)
        assert "secret" not in json.dumps(told)
        assert told["served"]["leases"][0]["holder"] == HOSTILE
        status, page = await got(client, "/metrics")
        assert status == 200
        list(text_string_to_metric_families(page))

    ran(made.folder, what)


def metrics_of(folder: Path) -> str:
    pages: list[str] = []

    async def what(client: Client) -> None:
        pages.append((await got(client, "/metrics"))[1])

    ran(folder, what)
    return pages[0]


def test_metrics(node: WatchedNode) -> None:
    page = metrics_of(node.folder)
    values = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }
    at, run = ("node", "n1"), (("consumer", "billing"), ("node", "n1"))
    assert values["cdc_tail_lag_segments", *run] == 1
    assert values["cdc_tail_lag_bytes", *run] > 100
    assert values["cdc_tail_consumer_running", *run] == 1
    assert values["cdc_tail_quarantine_entries", *run] == 2
    assert values["cdc_tail_folder_readable", at] == 1
    assert values["cdc_tail_folder_cap_bytes", at] == 16 << 20
    assert values["cdc_tail_serve_bytes_total", at] == 12_345
    assert values["cdc_tail_serve_requests_total", at, ("status", "416")] == 1
    assert values["cdc_tail_serve_errors_total", ("kind", HOSTILE), at] == 2
    assert values["cdc_tail_serve_readers", at] == 3
    assert values["cdc_tail_serve_connections", at] == 9
    assert values["cdc_tail_serve_leases", at] == 2
    assert 30 < values["cdc_tail_serve_lease_seconds", *run] <= 40
    assert values["cdc_tail_serve_lease_seconds", ("consumer", "late"), at] == 0
    names = {name.removesuffix("_created") for name, *_ in values if name.startswith("cdc_tail")}
    assert names <= {metric.name for metric in TABLE}
    assert ("process_cpu_seconds_total",) in values


def test_prometheus_finds_no_fault(node: WatchedNode) -> None:
    if (reason := available()) is not None:
        pytest.skip(reason)
    promtool("check", "metrics", given=metrics_of(node.folder).encode())


def test_what_is_wrong_is_told(node: WatchedNode) -> None:
    facts = Facts()

    async def what(client: Client) -> None:
        facts.away = ["no certificate"]
        assert (await got(client, "/readyz"), await got(client, "/healthz")) == (
            (503, "no certificate\n"),
            (200, "ok\n"),
        )
        facts.away, facts.dead = (), ["the loop stands still"]
        assert (await got(client, "/healthz")) == (503, "the loop stands still\n")
        consumer = next(node.folder.with_name("cdc_raw.cdc_tail").glob("consumers/*.json"))
        kept = consumer.read_text()
        consumer.write_text("{}")
        await asyncio.sleep(1.1)
        await got(client, "/metrics")
        status, text = await got(client, "/readyz")
        assert (status, "billing.json" in text) == (503, True)
        consumer.write_text(kept)

    ran(node.folder, what, facts)


def test_a_folder_that_goes_and_comes_back(node: WatchedNode) -> None:
    away = node.folder.with_name("away")

    async def what(client: Client) -> None:
        async with client.get("/events") as answer:
            first = await next_status(answer.content)
            node.folder.rename(away)
            told = first
            while told["trouble"] is None:
                told = await next_status(answer.content)
            assert "cdc_raw" in told["trouble"]
            assert told["seen"]["durable"] == first["seen"]["durable"], "what was seen stays, with its time"
            status, text = await got(client, "/readyz")
            assert (status, "cdc_raw" in text) == (503, True)
            assert 'cdc_tail_folder_readable{node="n1"} 0.0' in (await got(client, "/metrics"))[1]
            assert (await got(client, "/healthz"))[0] == 200
            away.rename(node.folder)
            while told["trouble"] is not None:
                told = await next_status(answer.content)
        assert await got(client, "/readyz") == (200, "ok\n")

    ran(node.folder, what)


def test_a_folder_that_was_never_there(tmp_path: Path) -> None:
    async def what(client: Client) -> None:
        async with client.get("/events") as answer:
            told = await next_status(answer.content)
        assert (told["seen"], "cdc_raw" in told["trouble"]) == (None, True)
        assert (await got(client, "/readyz"))[0] == 503

    ran(tmp_path / "cdc_raw", what)


def test_a_state_that_nobody_may_write_is_not_ready(node: WatchedNode, monkeypatch: pytest.MonkeyPatch) -> None:
    real = module.unready.__globals__["may"]
    monkeypatch.setitem(
        module.unready.__globals__, "may", lambda path, rights: "w" not in rights and real(path, rights)
    )

    async def what(client: Client) -> None:
        status, text = await got(client, "/readyz")
        assert (status, "cannot write the state" in text) == (503, True)

    ran(node.folder, what)


def test_a_full_volume_is_not_ready(node: WatchedNode, monkeypatch: pytest.MonkeyPatch) -> None:
    free = shutil.disk_usage(node.folder).free
    monkeypatch.setitem(module.unready.__globals__, "FREE_MIN", free * 2)

    async def what(client: Client) -> None:
        status, text = await got(client, "/readyz")
        assert (status, "volume is full" in text) == (503, True)

    ran(node.folder, what)


def test_a_disk_that_does_not_answer_is_not_ready(node: WatchedNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "READY_SECONDS", 0.1)
    monkeypatch.setattr(module, "unready", lambda source: time.sleep(0.6) or [])

    async def what(client: Client) -> None:
        answers = await asyncio.gather(*(got(client, "/readyz") for _ in range(20)))
        assert set(answers) == {(503, "the folder has not answered for 0 s\n")}
        assert (await got(client, "/healthz"))[0] == 200
        await asyncio.sleep(0.8)
        monkeypatch.setattr(module, "unready", lambda source: [])
        assert await got(client, "/readyz") == (200, "ok\n")

    ran(node.folder, what)
