"""The page in a real browser: right numbers, no horizontal scrolling, live within a second, and names stay text."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tailer.node_page.facts import Lease, NothingServed, Served
from tailer.node_page.look import StatusSource
from tests.helpers.chromium import Tab, available, tab
from tests.helpers.cli import run_cli
from tests.helpers.status_page import status_page
from tests.helpers.watched_node import WatchedNode

HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>' + "W" * 60
WIDTHS = (360, 390, 1280)
FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
LIVE = "document.getElementById('live').textContent === 'live'"
ENDS = "Number(document.querySelector('#durable data').value)"
TABLES = """[...document.querySelectorAll('#ID tbody tr')].map((row) => [...row.cells].map((cell) =>
  [cell.innerText.split('\\n')[0].trim(), [...cell.querySelectorAll('data')].map((each) => each.value)]))"""


class Facts(NothingServed):
    def served(self) -> Served:
        return Served(
            98_304, {200: 7}, 3, [Lease("c", HOSTILE, time.time(), time.time() + 50)], {HOSTILE: 1}, connections=4
        )


@pytest.fixture
def node(tmp_path: Path) -> Iterator[WatchedNode]:
    made = WatchedNode(tmp_path, "n1")
    for consumer in ("billing", "search"):
        made.read(consumer)
    for _ in range(60):
        made.write(5)
        made.roll()
    made.write_unknown(4)
    made.read("billing")
    made.write(7)
    made.stop("search")
    yield made
    made.close()


def browsed(node: WatchedNode, place: Path, what: Callable[[Tab, str], Awaitable[None]]) -> None:
    """Opens a browser at the page of a node. AssertionError where the page's script or its policy found fault."""
    if (reason := available()) is not None:
        pytest.skip(f"no Chromium: {reason}")

    async def run(address: str) -> None:
        async with tab(place) as page:
            await what(page, address)
            assert page.said == []

    with status_page(StatusSource(node.folder, "n1", cap=256 << 20, facts=Facts())) as address:
        asyncio.run(asyncio.wait_for(run(address), 120))


def status_of(folder: Path) -> Any:
    ran = run_cli(["status", folder, "--output", "json", "--cap", "256m"])
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def numbers(text: list[str]) -> list[int]:
    return [int(each) for each in text]


def test_the_numbers_are_those_of_status(node: WatchedNode, tmp_path: Path) -> None:
    async def what(page: Tab, address: str) -> None:
        await page.open(address, 1280)
        await page.until(LIVE)
        told = status_of(node.folder)
        consumers = {row[0][0].split()[0]: row for row in await page.value(TABLES.replace("ID", "consumers"))}
        assert set(consumers) == {"billing", "search"}
        for each in told["consumers"]:
            row = consumers[each["consumer"]]
            assert ("running" in row[0][0]) == each["running"]
            assert numbers(row[1][1]) == [each["lag"]["bytes"]]
            assert row[3][0].startswith(f"{each['holds']['segments']} segment")
            assert row[4][0] == each["committed"]
        rows = await page.value(TABLES.replace("ID", "segments"))
        newest = list(reversed(told["segments"]))[:50]
        assert len(told["segments"]) == 61
        assert [int(row[0][0]) for row in rows] == [each["segment"] for each in newest]
        assert [numbers(row[1][1] + row[2][1]) for row in rows] == [[each["bytes"], each["end"]] for each in newest]
        assert [row[3][0] for row in rows] == ["done" if each["done"] else "growing" for each in newest]
        assert [row[4][0] for row in rows] == [", ".join(each["needed_by"]) or "nobody" for each in newest]
        assert "newest 50 of 61" in await page.value("document.getElementById('segments').innerText")
        meter = "document.querySelector('[role=meter]')"
        assert int(await page.value(f"{meter}.getAttribute('aria-valuenow')")) == told["cap"]["used"]
        assert int(await page.value(f"{meter}.getAttribute('aria-valuemax')")) == told["cap"]["bytes"]
        assert int(await page.value("document.querySelector('#cleanable data').value")) == told["clean"]["bytes"]
        ((_, reason, entries),) = await page.value(TABLES.replace("ID", "quarantine"))
        assert (reason[0], entries[1]) == ("no definition fits", ["4"])
        served = await page.value("document.getElementById('served').innerText")
        assert "96.0 KiB sent; 3 readers wait for news on 4 connections." in served
        assert "200: 7" in served

    browsed(node, tmp_path, what)


def test_nothing_scrolls_sideways_and_names_stay_text(node: WatchedNode, tmp_path: Path) -> None:
    consumers = node.folder.with_name("cdc_raw.cdc_tail") / "consumers"
    kept = json.loads((consumers / "search.json").read_text())
    (consumers / "hostile.json").write_text(json.dumps({**kept, "name": HOSTILE}))

    async def what(page: Tab, address: str) -> None:
        for width in WIDTHS:
            for dark in (False, True):
                await page.open(address, width, dark=dark)
                await page.until(LIVE)
                await page.until("document.querySelectorAll('.spark path.area').length === 3")
                assert await page.value(FITS), width
                ground = await page.value("getComputedStyle(document.body).backgroundColor")
                assert (ground == "rgb(17, 22, 28)") == dark
        names = [row[0][0] for row in await page.value(TABLES.replace("ID", "consumers"))]
        assert any(name.startswith(HOSTILE) for name in names)
        assert await page.value("window.hacked") is None
        assert await page.value("document.images.length + document.scripts.length") == 1
        # What nobody may do, whatever a later version of the page tries.
        refused = "try { document.body.innerHTML = '<b>x</b>'; 'taken' } catch (error) { error.name }"
        assert await page.value(refused) == "TypeError"
        assert any("TrustedHTML" in each for each in page.said)
        page.said.clear()

    browsed(node, tmp_path, what)


def test_a_row_is_seen_within_a_second(node: WatchedNode, tmp_path: Path) -> None:
    async def what(page: Tab, address: str) -> None:
        await page.open(address, 390)
        await page.until(LIVE)
        took = []
        for number in range(8):
            # Not in step with what the page does by itself.
            await asyncio.sleep(0.5 + 0.37 * number % 1)
            before = await page.value(ENDS)
            node.write()
            took.append(await page.until(f"{ENDS} > {before}"))
        node.read("search")
        took.append(await page.until("document.getElementById('consumers').innerText.includes('search running')"))
        # Most of them: what else runs on this machine may take its second.
        assert median(took) < 1.0, took

    browsed(node, tmp_path, what)


def test_a_page_that_is_not_live_says_since_when_and_comes_back(node: WatchedNode, tmp_path: Path) -> None:
    if (reason := available()) is not None:
        pytest.skip(f"no Chromium: {reason}")
    source = StatusSource(node.folder, "n1")

    async def what() -> None:
        async with tab(tmp_path) as page:
            with status_page(source) as address:
                await page.open(address, 390)
                await page.until(LIVE)
                mark = "document.getElementById('live').textContent"
            await page.until(f"/^not live since \\d\\d:\\d\\d:\\d\\d$/.test({mark})")
            assert await page.value("document.getElementById('main').className") == "stale"
            assert await page.value("document.querySelectorAll('#segments tbody tr').length") == 50, "it stays"
            with status_page(source, port=int(address.rpartition(":")[2])):
                await page.until(LIVE, 30)
                assert await page.value("document.getElementById('main').className") == ""

    asyncio.run(asyncio.wait_for(what(), 120))


def test_its_tables_are_tables(node: WatchedNode, tmp_path: Path) -> None:
    """To a screen reader, on a phone too, where rows are laid out as blocks."""

    async def what(page: Tab, address: str) -> None:
        for width in (390, 1280):
            await page.open(address, width)
            await page.until(LIVE)
            await page.call("Accessibility.enable")
            nodes = (await page.call("Accessibility.getFullAXTree"))["nodes"]
            roles = [(each["role"]["value"], each.get("name", {}).get("value", "")) for each in nodes if "role" in each]
            assert {name for role, name in roles if role == "table"} >= {
                "Consumers",
                "Segments",
                "Quarantine",
                "Leases",
            }
            assert sum(role == "row" for role, _ in roles) >= 50
            assert {name for role, name in roles if role == "meter"} == {"Space used"}
            assert "status" in {role for role, _ in roles}
            assert any(role in ("image", "img") and "Lag in the last hour" in name for role, name in roles)

    browsed(node, tmp_path, what)


def test_a_folder_that_is_not_there_is_told(node: WatchedNode, tmp_path: Path) -> None:
    async def what(page: Tab, address: str) -> None:
        away = node.folder.with_name("away")
        node.folder.rename(away)
        await page.open(address, 360)
        await page.until("!document.getElementById('troubles').hidden")
        assert "cdc_raw" in await page.value("document.getElementById('troubles').innerText")
        shown = "[...document.querySelectorAll('section')].filter((each) => each.offsetHeight).map((each) => each.id)"
        assert await page.value(FITS)
        first = await page.value(shown)
        away.rename(node.folder)
        await page.until("document.getElementById('troubles').hidden")
        assert first in (["troubles", "served"], ["troubles", *(await page.value(shown))]), (
            "before the first look, or after"
        )
        assert await page.value(shown) == ["consumers", "space", "segments", "quarantine", "served"]

    browsed(node, tmp_path, what)
