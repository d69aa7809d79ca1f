"""Tails of log folders, opened by their paths."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tailer.options.tail import TailOptions
from tailer.state.node_log import folder_log
from tailer.tail import open as opening
from tailer.tail.parts import TailParts
from tailer.tail.tail import Tail


def open_tail(folder: Path, options: TailOptions, **more: Any) -> Tail:
    """See `tailer.tail.open.open_tail`."""
    return opening.open_tail(folder_log(folder, options.state), options, **more)


def tail_parts(folder: Path, options: TailOptions, **more: Any) -> TailParts:
    """See `tailer.tail.open.tail_parts`."""
    return opening.tail_parts(folder_log(folder, options.state), options, **more)


def change_rows(tail: Tail, steps: int, budget: int, notices: list[str] | None = None) -> Iterator[dict[str, Any]]:
    """The rows of so many steps at most, as JSON has them; each is taken when the next one is asked for. Raises the
    error of a step."""
    for _ in range(steps):
        step = tail.step(budget)
        if notices is not None:
            notices += step.notices
        for task in step.tasks:
            for batch in tail.read(task):
                for line in batch.json_lines().splitlines():
                    yield json.loads(line)
                tail.took(step, task, batch)
            tail.took(step, task)
        tail.advance(step)
        tail.save()
        if step.error is not None:
            raise step.error
        if not step.brings:
            return
