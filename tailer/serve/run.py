"""Serves a node's log until it is told to stop: the loop, its signals, and the limits of the process."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import signal
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from tailer.serve.connections import room_for
from tailer.serve.node import Node
from tailer.serve.options import ServeOptions
from tailer.serve.rare_lines import RareLines, Say
from tailer.system_errors import check_address_space, files_max, is_own_limit, system_error

_FILES: Final = 65_536
"""Open at once at most: a connection is one, and a file that is sent."""

_ADDRESS_SPACE_MIN: Final = 1 << 30
"""What threads reserve of it is several times what they use; one that cannot begin may end Python by SIGSEGV."""


def serve(options: ServeOptions, say: Say) -> None:
    """Until SIGTERM or SIGINT. UsageError where it cannot begin."""
    check_address_space(_ADDRESS_SPACE_MIN)
    _allow_files()
    asyncio.run(_serve(_within_files(options, say), say))


def _within_files(options: ServeOptions, say: Say) -> ServeOptions:
    """With no more connections than this process may have files for."""
    bounds, most = options.bounds, room_for(files_max())
    if most >= bounds.connections:
        return options
    say(
        f"warning: this process may have {files_max()} files open, which is enough for {most} connections instead of "
        f"{bounds.connections}: raise that (`ulimit -n` before the start, LimitNOFILE= in a systemd unit)"
    )
    return replace(options, bounds=replace(bounds, connections=most))


async def _serve(options: ServeOptions, say: Say) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    lines = RareLines(say)
    loop.set_exception_handler(lambda loop, context: lines.warn(_in_words(context), "warnings"))
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


def _in_words(context: Mapping[str, Any]) -> str:
    """What the loop has to say of something that nobody waits for."""
    error = context.get("exception")
    if isinstance(error, OSError) and is_own_limit(error):
        return system_error("cannot let a client in", error).sentence()
    return str(error or context["message"])


def _allow_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        # Fewer are enough for fewer clients.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
