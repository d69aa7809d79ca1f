"""`cdc-tail verify`: every CRC of a folder, a result per segment, and exit 4 where the log is damaged.

Shows what `check.py` finds and decides nothing.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import typer

from tailer.cli.check import Checked, Checker
from tailer.cli.command import command
from tailer.cli.progress import progress_bar
from tailer.cli.rows import Form, output_form
from tailer.cli.standard_error import STANDARD_ERROR
from tailer.errors import CdcError, CorruptError
from tailer.limits import MIB
from tailer.options.log_place import LogPlace
from tailer.options.tail import tail_options
from tailer.options.to_terminal import PLACE_IF_ANY
from tailer.planning.survey import Survey
from tailer.sinks.text import printable, size_text
from tailer.state.offset import NodeOffset
from tailer.tail.node_log import PATIENCE_SECONDS, node_log

app = typer.Typer(add_completion=False)

_JSON_FIELDS: Final = (
    "file", "segment", "finished", "damaged", "sections", "entries", "bytes", "log_end", "unpromised", "notices"
)  # fmt: skip


@command(app, "verify", {"folder": PLACE_IF_ANY}, epilog="Example: cdc-tail verify /var/lib/cassandra/cdc_raw")
def verify(folder: LogPlace, output: Form | None, values: dict[str, Any]) -> None:
    """Check every CRC of a folder: headers, markers, sections, entries. Exit 4 where the log is damaged."""
    options = tail_options(values).for_run(once=True)
    pretty = output_form(output) == "pretty"
    log = node_log(folder, options, PATIENCE_SECONDS)
    survey = Survey(
        log.source,
        keys=options.keys(),
        stopped=options.stopped,
        quiet_seconds=options.assume_finished_after,
        clock=log.source.now,
    )
    began = time.monotonic()
    with contextlib.closing(log.source), contextlib.closing(survey):
        results = _check_all(survey, options.settle_seconds or 0)
        for notice in survey.take_notices():
            STANDARD_ERROR.notice(notice)
    seconds = time.monotonic() - began
    lines = _pretty(results, seconds) if pretty else _json_lines(results, seconds)
    sys.stdout.writelines(f"{line}\n" for line in lines)
    _raise_worst(results)


def _check_all(survey: Survey, settle: float) -> list[Checked]:
    """Check all segments there are now. Results are shown afterwards: they and the bar may share a terminal."""
    survey.look(NodeOffset())
    with progress_bar("checking", survey.source.look().logs) as progress:
        checker = Checker(survey, settle, progress)
        return [checker.check(segment) for segment in survey.segments()]


def _pretty(results: list[Checked], seconds: float) -> Iterator[str]:
    """The results for people: a line per segment, more where there is more to say, and the sum."""
    for checked in results:
        result = "DAMAGED" if checked.damaged else "not checked" if checked.errors else "ok"
        counts = f"{checked.sections:>6} sections {checked.entries:>8} entries  log end {checked.log_end}"
        yield f"{checked.segment}  {result:<11} {counts}"
        for text in (*(error.sentence() for error in checked.errors), *checked.notices):
            yield f"    {printable(text)}"
        if checked.unpromised:
            yield f"    {checked.unpromised} more sections check that the sidecar does not promise yet"
    size, damaged = sum(checked.bytes for checked in results), sum(checked.damaged for checked in results)
    speed = size / MIB / max(seconds, 1e-3)
    unread = sum(bool(checked.errors) and not checked.damaged for checked in results)
    verdict = f"{damaged} damaged" if damaged else "no damage"
    verdict += f", {unread} not checked" if unread else ""
    yield f"{len(results)} segments, {size_text(size)} checked, {speed:.0f} MB/s: {verdict}"


def _json_lines(results: list[Checked], seconds: float) -> Iterator[str]:
    """The same for programs: an object per segment, and one for the sum."""
    for checked in results:
        line = {name: getattr(checked, name) for name in _JSON_FIELDS}
        yield _encode({"is": "segment", **line, "errors": [_error_json(error) for error in checked.errors]})
    size, damaged = sum(checked.bytes for checked in results), sum(checked.damaged for checked in results)
    counts = {"segments": len(results), "damaged": damaged, "bytes": size}
    yield _encode({"is": "sum", **counts, "seconds": round(seconds, 3)})


def _error_json(error: CdcError) -> dict[str, object]:
    expected = None if error.expected is None else str(error.expected)
    found = None if error.found is None else str(error.found)
    at = None if error.at is None else str(error.at)
    return {"what": error.what, "at": at, "expected": expected, "found": found}


def _encode(value: dict[str, object]) -> str:
    return msgspec.json.encode(value).decode()


def _raise_worst(results: list[Checked]) -> None:
    """The first damage as the error of this run; without damage, the first reason why something was not checked."""
    errors = [error for checked in results for error in checked.errors]
    damage = [error for error in errors if isinstance(error, CorruptError)]
    for error in (*damage, *errors):
        raise error
