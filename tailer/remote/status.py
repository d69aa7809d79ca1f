"""What a node tells of itself, as text: what it means is for who shows it."""

from __future__ import annotations

from contextlib import closing

from tailer.options.log_place import NodeUrl
from tailer.options.tail import TailOptions
from tailer.remote.access import access_of
from tailer.remote.link import Link
from tailer.remote.problems import AnsweredError
from tailer.wire import paths


def status_text(url: NodeUrl, options: TailOptions, cap: int | None) -> bytes:
    """The JSON of its status. `cap`: the server's limit as the user gave it. Raises the documented errors."""
    query = {"stopped": "1"} if options.stopped else {}
    with closing(Link(url, access_of(options))) as link:
        try:
            return link.ask("GET", paths.STATUS, query if cap is None else {**query, "cap": str(cap)}).body
        except AnsweredError as answered:
            raise answered.error() from None
