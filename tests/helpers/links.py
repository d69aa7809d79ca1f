"""Links to nodes, and rows that are read over them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tailer.options.log_place import NodeUrl, log_place
from tailer.options.tail import TailOptions
from tailer.remote.access import Access
from tailer.remote.link import Link
from tailer.tail.node_log import node_log
from tailer.tail.open import open_tail
from tailer.tail.tail import Tail
from tests.helpers.cli import Result, run_cli

NO_ACCESS = Access()


def url_of(text: str) -> NodeUrl:
    place = log_place(text)
    assert isinstance(place, NodeUrl)
    return place


@contextmanager
def linked(url: str, access: Access = NO_ACCESS, **more: Any) -> Iterator[Link]:
    """See `Link`."""
    link = Link(url_of(url), access, **more)
    try:
        yield link
    finally:
        link.close()


def tail_at(url: str, patience: float = 0.0, **options: Any) -> Tail:
    """A tail of the log at an address, to be entered; its settling is waited for by nobody."""
    chosen = TailOptions(**{"settle_seconds": 0.0, **options})
    return open_tail(node_log(url_of(url), chosen, patience), chosen)


def rows_of(result: Result) -> list[Any]:
    assert result.code == 0, result.err
    return [json.loads(line) for line in result.lines]


def read_once(place: Path | str, *words: str | Path) -> Result:
    """`follow --once`, rows as JSON."""
    return run_cli(["follow", place, "--once", "--output", "json", *words])
