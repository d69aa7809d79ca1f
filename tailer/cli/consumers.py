"""`cdc-tail consumers`: lists the consumers of a log folder, forgets one or a node of one, or stands one elsewhere.

Parses words; what a move means is decided in `retention/move_consumer.py`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec
import typer

from tailer.cli.as_owner import as_state_owner
from tailer.cli.command import command
from tailer.cli.rows import Form, output_form
from tailer.cli.standard_error import STANDARD_ERROR
from tailer.cli.status_text import consumer_lines, read_lines
from tailer.errors import UsageError
from tailer.limits import whole_number
from tailer.options.to_terminal import DIR, argument
from tailer.sinks.terminal import terminal_columns
from tailer.sinks.text import printable

app = typer.Typer(add_completion=False)


class Action(StrEnum):
    """What to do."""

    LIST = "list"
    DROP = "drop"
    SEEK = "seek"
    FORGET_NODE = "forget-node"
    DELIVER = "deliver"
    ACCEPT = "accept"


_OF_SEGMENTS: Final = (Action.DELIVER, Action.ACCEPT)

_ARGUMENTS: Final = {
    "folder": DIR,
    "action": argument(
        Action,
        "list, drop NAME, seek NAME POSITION, forget-node NAME NODE; deliver NAME SEGMENT…, or accept NAME SEGMENT….",
    ),
    "name": argument(str | None, "The consumer.", metavar="NAME"),
    "words": argument(
        list[str] | None,
        "segment:offset, earliest, latest, a time, or a node's JSON of an offset; for forget-node the node; for "
        "deliver and accept segments that appeared below where the consumer began.",
        metavar="POSITION|NODE|SEGMENT…",
    ),
}


@command(
    app,
    "consumers",
    _ARGUMENTS,
    epilog="Examples: cdc-tail consumers /var/lib/cassandra/cdc_raw list. Stand one at the oldest change: "
    "cdc-tail consumers /var/lib/cassandra/cdc_raw seek billing earliest",
)
def consumers(
    folder: Path,
    node: str | None,
    state: Path | None,
    output: Form | None,
    action: Action = Action.LIST,
    name: str | None = None,
    words: list[str] | None = None,
) -> None:
    """List the consumers of a log folder; forget one, or a node that left; stand one at another position; or say what
    segments are that appeared below where one began. Never one that is running."""
    given = words or []
    _check(action, name, given, node)
    if action is Action.LIST:
        _list(folder, state, output_form(output))
        return
    from tailer.retention.move_consumer import drop_consumer, forget_node, seek_consumer, settle_appeared
    from tailer.state.log_folder import log_state, state_folder

    as_state_owner(folder, state_folder(folder, state))
    where = log_state(folder, state)
    if action is Action.DROP:
        drop_consumer(where, str(name))
        STANDARD_ERROR.info(f"consumer {name} is forgotten; it holds no segment back any more")
        return
    if action is Action.FORGET_NODE:
        stood = forget_node(where, str(name), given[0])
        STANDARD_ERROR.info(f"consumer {name} has forgotten node {given[0]}, where it stood at {stood}")
        return
    if action in _OF_SEGMENTS:
        deliver = action is Action.DELIVER
        chosen = settle_appeared(
            folder, str(name), [_segment(word) for word in given], deliver=deliver, node=node, state=state
        )
        done = "reads them with its next run" if deliver else "leaves them out: they are old"
        STANDARD_ERROR.info(f"segments {' '.join(given)}: consumer {name} ({chosen}) {done}")
        return
    moved = seek_consumer(folder, str(name), given[0], node=node, state=state)
    STANDARD_ERROR.info(f"consumer {name} ({moved.node}) is moved from {moved.before} to {moved.after}")


def _segment(word: str) -> int:
    """UsageError for what is no segment's id."""
    number = whole_number(word)
    if number is None:
        raise UsageError("segment", expected="the id of a segment, as the error names it", found=repr(word))
    return number


def _check(action: Action, name: str | None, words: Sequence[str], node: str | None) -> None:
    """Each action has words of its own."""
    forms = {
        Action.LIST: "list",
        Action.DROP: "drop NAME",
        Action.SEEK: "seek NAME POSITION",
        Action.FORGET_NODE: "forget-node NAME NODE",
        Action.DELIVER: "deliver NAME SEGMENT…",
        Action.ACCEPT: "accept NAME SEGMENT…",
    }
    wanted = len(forms[action].split()) - 1
    given = len(words) + (name is not None)
    if given < wanted or (given > wanted and action not in _OF_SEGMENTS):
        raise UsageError(f"consumers DIR {action}", expected=forms[action], found=f"{given} words behind {action}")
    if node is not None and action is not Action.SEEK and action not in _OF_SEGMENTS:
        raise UsageError(
            "--node is for seek, deliver and accept", remedy="`list` shows every node, `drop` forgets all of them."
        )


def _list(folder: Path, state: Path | None, form: Form) -> None:
    from tailer.retention.gather import observe_consumers

    found, reads, problems = observe_consumers(folder, state)
    if form == "json":
        sys.stdout.writelines(msgspec.json.encode(each).decode() + "\n" for each in (*found, *reads))
    else:
        now, columns = time.time(), terminal_columns(sys.stdout, os.environ)
        lines = consumer_lines(found, now, columns) if found else ["no consumer is registered"]
        lines += read_lines(reads, now, columns)
        sys.stdout.writelines(f"{printable(line)}\n" for line in lines)
    for problem in problems:
        STANDARD_ERROR.notice(problem)
