"""`cdc-tail follow`: the changes of a log folder on standard output. Parses options, opens a tail, chooses a sink."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import typer

from tailer.cli.as_owner import as_state_owner
from tailer.cli.command import command
from tailer.cli.monitoring import Watched, watches
from tailer.cli.rows import Form, open_sink, output_form
from tailer.cli.standard_error import STANDARD_ERROR
from tailer.options.to_terminal import DIR

if TYPE_CHECKING:
    from tailer.options.kinds import CommitEvery
    from tailer.options.tail import TailOptions

_ALLOCATIONS: Final = 50_000
"""Objects made and not yet freed, from one collection to the next; Python's own 700 is less than a batch of rows."""

app = typer.Typer(add_completion=False)


@command(
    app,
    "follow",
    {"folder": DIR},
    epilog="Example: cdc-tail follow /var/lib/cassandra/cdc_raw --consumer billing --table 'shop.*' --output json",
)
def follow(folder: Path, once: bool, commit_every: CommitEvery, output: Form | None, values: dict[str, Any]) -> None:
    """Follow a log folder: each durable change as a row on standard output, in log order."""
    from tailer.options.tail import tail_options

    options = tail_options(values, case_sensitive=True, program="cdc-tail follow").for_run(once=once)
    form = output_form(output)
    if form == "pretty":
        # People read a decimal as it was written, with its own digits behind the point.
        options = replace(options, decimals="string")
    # First: who cannot have the numbers that he asked for registers no consumer.
    with watches(values) as watched:
        _run(folder, options, once, commit_every, form, watched)


def _run(folder: Path, options: TailOptions, once: bool, every: CommitEvery, form: Form, watched: Watched) -> None:
    from tailer.state.log_folder import state_folder
    from tailer.tail.follow import follow as run
    from tailer.tail.open import open_tail

    as_state_owner(folder, state_folder(folder, options.state))
    watch = watched(folder, options)
    with open_tail(folder, options) as tail, _gently() as stopping, _rare_collections():
        sink = open_sink(form, tail.definition, tail.typed)
        say = STANDARD_ERROR.notice
        run(tail, sink, once=once, commit_every=every, say=say, stopping=lambda: stopping[0], watch=watch)
        sink.close()


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Rows die by their reference counts: the collector of cycles would walk them for nothing, and rows wait for it."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


@contextmanager
def _gently() -> Iterator[list[bool]]:
    """SIGTERM ends the run behind the batch in hand, with its position saved."""
    stopping = [False]

    def stop(number: int, frame: FrameType | None) -> None:
        stopping[0] = True

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield stopping
    finally:
        signal.signal(signal.SIGTERM, before)
