"""A headless Chromium that tests drive by its DevTools protocol: from the PATH, else from Debian's package `chromium`.

It needs neither a display nor a driver's program; one page at a time.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import itertools
import os
import shutil
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from tests.helpers.debian import libraries, unpacked
from tests.helpers.jvm.jars import Unavailable, cache

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
START_SECONDS = 60
ANSWER_SECONDS = 60


@functools.cache
def program() -> Path:
    """The browser; raises Unavailable."""
    for name in NAMES:
        if found := shutil.which(name):
            return Path(found)
    return _unpacked() / "usr" / "lib" / "chromium" / "chromium"


@functools.cache
def available() -> str | None:
    """Why there can be no Chromium here, or None. May bring it at the first call."""
    try:
        ran = subprocess.run([program(), "--version"], capture_output=True, check=False, timeout=60, env=_environment())
    except (Unavailable, OSError, subprocess.TimeoutExpired) as reason:
        return str(reason)
    return None if ran.returncode == 0 else ran.stderr.decode(errors="replace").strip()


def _unpacked() -> Path:
    return unpacked("chromium", whole=True)


def _environment() -> dict[str, str]:
    own = program().is_relative_to(cache())
    return {**os.environ, **({"LD_LIBRARY_PATH": libraries(_unpacked())} if own else {})}


class Tab:
    """One page. What it writes to the console, and what its policy forbids, is in `said`."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._hearing = asyncio.create_task(self._hear())
        self._loaded = asyncio.Event()
        self.said: list[str] = []

    async def call(self, method: str, **given: Any) -> dict[str, Any]:
        number = next(self._numbers)
        self._waiting[number] = asked = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": given})
        answer = await asyncio.wait_for(asked, ANSWER_SECONDS)
        assert "error" not in answer, answer
        found: dict[str, Any] = answer["result"]
        return found

    async def open(self, url: str, width: int, height: int = 900, dark: bool = False, scale: float = 1.0) -> None:
        """Loads a page as on a screen of that width."""
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.call(f"{domain}.enable")
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=width < 600,
        )
        theme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        await self.call("Emulation.setEmulatedMedia", features=theme)
        self._loaded.clear()
        await self.call("Page.navigate", url=url)
        await asyncio.wait_for(self._loaded.wait(), ANSWER_SECONDS)

    async def value(self, expression: str) -> Any:
        """What a JavaScript expression comes to, as JSON; a promise is awaited."""
        found = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def until(self, expression: str, seconds: float = 20.0) -> float:
        """Returns when an expression is true: how long that took."""
        began = time.monotonic()
        while not await self.value(expression):
            assert time.monotonic() - began < seconds, f"{expression}: {await self.value('document.body.innerText')}"
            await asyncio.sleep(0.02)
        return time.monotonic() - began

    async def screenshot(self, height: int | None = None) -> bytes:
        """A PNG of the whole page, or of so much of its top."""
        size = (await self.call("Page.getLayoutMetrics"))["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], height or 8000), "scale": 1}
        made = await self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        return base64.b64decode(made["data"])

    async def close(self) -> None:
        await self._socket.close()
        await self._hearing

    async def _hear(self) -> None:
        async for message in self._socket:
            told = message.json()
            if "id" in told:
                self._waiting.pop(told["id"]).set_result(told)
            elif told["method"] == "Page.loadEventFired":
                self._loaded.set()
            elif told["method"] == "Runtime.exceptionThrown":
                self.said.append(str(told["params"]["exceptionDetails"]))
            elif told["method"] == "Runtime.consoleAPICalled":
                self.said.append(str(told["params"]["args"]))
            elif told["method"] == "Log.entryAdded":
                self.said.append(told["params"]["entry"]["text"])


@asynccontextmanager
async def tab(folder: Path) -> AsyncIterator[Tab]:
    """A browser of its own with one empty page. `folder`: where its profile is made."""
    profile = folder / "chromium"
    port = profile / "DevToolsActivePort"
    # Of one that was here before.
    port.unlink(missing_ok=True)
    words = [program(), "--headless=new", "--remote-debugging-port=0", f"--user-data-dir={profile}", "--no-sandbox"]
    words += ["--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions", "--mute-audio"]
    words += ["--disable-background-networking", "--disable-component-update", "--hide-scrollbars", "about:blank"]
    environment = {**_environment(), "HOME": str(folder)}
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not (port.exists() and "\n" in port.read_text()):
            assert process.poll() is None, "Chromium ended"
            assert time.monotonic() < deadline, "Chromium did not start"
            await asyncio.sleep(0.05)
        address = f"http://127.0.0.1:{port.read_text().splitlines()[0]}"
        async with aiohttp.ClientSession() as session:
            async with session.get(f"{address}/json/list") as answer:
                found = next(each for each in await answer.json() if each["type"] == "page")
            async with session.ws_connect(found["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                made = Tab(socket)
                yield made
                await made.close()
    finally:
        process.terminate()
        process.wait(START_SECONDS)
