"""Serves a node's log until it is told to stop: the loop, its signals, and the limits of the process."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import signal
from typing import Final

from tailer.serve.app import Say
from tailer.serve.node import Node
from tailer.serve.options import ServeOptions

_FILES: Final = 65_536
"""Open at once at most: a connection is one, and a file that is sent."""


def serve(options: ServeOptions, say: Say) -> None:
    """Until SIGTERM or SIGINT. UsageError where it cannot begin."""
    _allow_files()
    asyncio.run(_serve(options, say))


async def _serve(options: ServeOptions, say: Say) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    loop.set_exception_handler(lambda loop, context: say(f"warning: {context.get('exception') or context['message']}"))
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    node = Node(options, say)
    await node.begin()
    say(f"serves {options.folder} at {'http' if options.tls is None else 'https'}://{node.address}")
    if node.status_address is not None:
        say(f"status at http://{node.status_address}/")
    try:
        await stop.wait()
        say("stops")
    finally:
        await node.end()


def _allow_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        # Fewer are enough for fewer clients.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
