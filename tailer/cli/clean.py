"""`cdc-tail clean`: frees what no registered consumer needs. For cron: silent when there is nothing to do.

Parses options and tells what was done in one line; what may go is decided in `retention/needed.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from tailer.cli.as_owner import as_log_owner
from tailer.cli.command import command
from tailer.cli.standard_error import STANDARD_ERROR
from tailer.errors import UsageError
from tailer.options.to_terminal import DIR_IF_ANY
from tailer.retention.clean import CleanOptions, clean
from tailer.retention.needed import Decision, HeldSegment, Limits
from tailer.retention.over_cap import held_over_cap
from tailer.sinks.text import printable, size_text
from tailer.state.log_folder import state_folder
from tailer.stores.open import open_store

app = typer.Typer(add_completion=False)


@command(app, "clean", {"folder": DIR_IF_ANY}, epilog="Example: cdc-tail clean /var/lib/cassandra/cdc_raw --dry-run")
def run(
    folder: Path,
    dry_run: bool,
    max_age: int | None,
    max_bytes: int | None,
    force: bool,
    forget_after: int,
    no_consumers: bool,
    stopped: bool,
    cap: int | None,
    archive: str | None,
) -> None:
    """Delete the segments that are finished and that no registered consumer needs. Silent when there are none."""
    if force and max_age is None and max_bytes is None:
        raise UsageError("--force without a limit", remedy="Say how much to keep: --max-age TIME or --max-bytes SIZE.")
    as_log_owner(folder, state_folder(folder))
    limits = Limits(max_age, max_bytes, force)
    store = None if archive is None else open_store(archive)
    made = clean(folder, CleanOptions(limits, no_consumers, stopped, dry_run, forget_after, cap, store))
    for notice in made.notices:
        STANDARD_ERROR.notice(notice)
    sys.stdout.writelines(f"{printable(line)}\n" for line in _lines(made, dry_run))
    if (error := held_over_cap(made, str(folder))) is not None:
        raise error


def _lines(made: Decision, dry_run: bool) -> list[str]:
    """One line about what went; a dry run lists the segments."""
    lines: list[str] = []
    if dry_run:
        lines += [_segment_line(held, made) for held in made.logs]
    if made.logs or made.sidecars:
        what = f"{_count(made.logs)} ({_ids(made.logs)})" if made.logs else ""
        rest = f"{len(made.sidecars)} sidecars without a log" if made.sidecars else ""
        verb = "would delete" if dry_run else "deleted"
        lines.append(
            f"{verb} {' and '.join(part for part in (what, rest) if part)}: {size_text(made.freed)}{_lost(made)}"
        )
    return lines


def _segment_line(held: HeldSegment, made: Decision) -> str:
    losers = made.lost.get(held.segment)
    return f"{held.file}  {size_text(held.bytes)}{'  needed by ' + ', '.join(losers) if losers else ''}"


def _lost(made: Decision) -> str:
    if not made.lost:
        return ""
    names = sorted({name for losers in made.lost.values() for name in losers})
    return f"; {len(made.lost)} of them were needed: consumer {', '.join(names)} loses changes"


def _count(held: list[HeldSegment]) -> str:
    return f"{len(held)} segment{'s' if len(held) != 1 else ''}"


def _ids(held: list[HeldSegment]) -> str:
    first, last = held[0].segment, held[-1].segment
    return str(first) if first == last else f"{first} to {last}"
