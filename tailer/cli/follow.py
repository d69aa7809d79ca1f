"""`cdc-tail follow`: the changes of a log folder on standard output. Parses options, opens a tail, chooses a sink."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from tailer.cli.as_owner import as_state_owner
from tailer.cli.command import command
from tailer.cli.gently import gently
from tailer.cli.monitoring import Watched, watches
from tailer.cli.rows import Form, open_sink, output_form
from tailer.cli.standard_error import STANDARD_ERROR
from tailer.errors import UsageError
from tailer.options.to_terminal import DIRS

if TYPE_CHECKING:
    from tailer.options.kinds import CommitEvery
    from tailer.options.tail import TailOptions

_ALLOCATIONS: Final = 50_000
"""Objects made and not yet freed, from one collection to the next; Python's own 700 is less than a batch of rows."""

app = typer.Typer(add_completion=False)


@command(
    app,
    "follow",
    {"folder": DIRS},
    epilog="Example: cdc-tail follow /var/lib/cassandra/cdc_raw --consumer billing --table 'shop.*' --output json",
)
def follow(
    folder: str, once: bool, commit_every: CommitEvery, output: Form | None, to: str | None, values: dict[str, Any]
) -> None:
    """Follow a log folder: each durable change as a row on standard output, or in an outlet, in log order."""
    from tailer.options.tail import tail_options
    from tailer.options.to_spark import folders_of

    options = tail_options(values, case_sensitive=True, program="cdc-tail follow").for_run(once=once)
    folders = folders_of(folder, options.node)
    # First: who cannot have the numbers that he asked for registers no consumer.
    if to is not None:
        with watches(values) as watched:
            _feed(folders, options, to, values, watched)
        return
    form = output_form(output)
    if form == "pretty":
        # People read a decimal as it was written, with its own digits behind the point.
        options = replace(options, decimals="string")
    if len(folders) > 1:
        raise UsageError("several nodes on one terminal", remedy="Send them to an outlet with --to, or run one each.")
    ((node, path),) = folders
    with watches(values) as watched:
        _run(path, replace(options, node=node), once, commit_every, form, watched)


def _run(folder: Path, options: TailOptions, once: bool, every: CommitEvery, form: Form, watched: Watched) -> None:
    from tailer.state.log_folder import state_folder
    from tailer.tail.follow import follow as run
    from tailer.tail.open import open_tail

    as_state_owner(folder, state_folder(folder, options.state))
    watch = watched(folder, options)
    with open_tail(folder, options) as tail, gently() as stopping, _rare_collections():
        sink = open_sink(form, tail.definition, tail.typed)
        say = STANDARD_ERROR.notice
        run(tail, sink, once=once, commit_every=every, say=say, stopping=lambda: stopping[0], watch=watch)
        sink.close()


def _feed(
    folders: Sequence[tuple[str, Path]], options: TailOptions, to: str, values: dict[str, Any], watched: Watched
) -> None:
    from tailer.sinks.outlets import check_to, open_outlet
    from tailer.state.log_folder import state_folder
    from tailer.tail.deliver import deliver
    from tailer.tail.feed import Feed
    from tailer.tail.open import open_tail
    from tailer.tail.patience import Patience

    check_to(to)
    if options.consumer is None:
        raise UsageError("--to keeps a position", remedy="Give the run a name: --consumer NAME.")
    as_state_owner(folders[0][1], state_folder(folders[0][1], options.state))
    say = STANDARD_ERROR.notice
    with ExitStack() as stack:
        stopping = stack.enter_context(gently())
        stack.enter_context(_rare_collections())
        feeds = []
        for node, path in folders:
            chosen = replace(options, node=node, outlet=True)
            watch = watched(path, chosen)
            tail = stack.enter_context(open_tail(path, chosen))
            patience = Patience(values["retry_for"], say, lambda: stopping[0], watch)
            feeds.append(Feed(tail, lambda context: open_outlet(to, values, context), patience, say, watch))
        deliver(feeds, once=values["once"], say=say, stopping=lambda: stopping[0])


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
