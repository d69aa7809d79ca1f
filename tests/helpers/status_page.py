"""The page of a folder alone, without a node that serves: an aiohttp application with nothing else.

python -m tests.helpers.status_page DIR [HOST:PORT]
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aiohttp import web

from tailer.node_page.look import StatusSource
from tailer.node_page.routes import NodePage, add_status
from tailer.options.listen import Listen, listen_of


async def started(source: StatusSource, listen: Listen) -> tuple[web.AppRunner, NodePage, Listen]:
    """An application that runs until its runner's `cleanup`, and where."""
    app = web.Application()
    page = add_status(app, source)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, listen.host, listen.port).start()
    host, port = runner.addresses[0][:2]
    return runner, page, Listen(host, port)


@contextmanager
def status_page(source: StatusSource, port: int = 0) -> Iterator[str]:
    """Its address, `http://127.0.0.1:PORT`; it runs in a thread as long as the block lasts."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        made = asyncio.run_coroutine_threadsafe(started(source, Listen("127.0.0.1", port)), loop)
        runner, _, address = made.result(30)
        try:
            yield f"http://{address}"
        finally:
            asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(30)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _forever(folder: Path, listen: Listen) -> None:
    _, _, address = await started(StatusSource(folder), listen)
    print(f"http://{address}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    words = sys.argv[1:]
    asyncio.run(_forever(Path(words[0]), listen_of(words[1] if len(words) > 1 else "9044") or Listen("127.0.0.1", 0)))
