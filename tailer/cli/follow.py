"""`cdc-tail follow`: the changes of a log folder on standard output. Parses options, opens a tail, chooses a sink."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
from tailer.errors import NodeAwayError, UsageError
from tailer.options.to_terminal import DIRS

if TYPE_CHECKING:
    from tailer.options.images import ImageOptions
    from tailer.options.kinds import CommitEvery
    from tailer.options.log_place import LogPlace
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
    run_follow(folder, once, commit_every, output, to, values)


def run_follow(
    folder: str, once: bool, commit_every: CommitEvery, output: Form | None, to: str | None, values: dict[str, Any]
) -> None:
    """The command, of its options: raises the documented errors."""
    from tailer.options.images import image_options
    from tailer.options.snapshot import FROM, check_change_rows
    from tailer.options.tail import check_own_servers, tail_options
    from tailer.options.to_spark import places_of, waits_for_nodes

    # What comes before the newest position the snapshot has.
    start = "latest" if values["start"] == FROM else values["start"]
    options = tail_options(values, start=start, case_sensitive=True, program="cdc-tail follow").for_run(once=once)
    places = places_of(folder, options.node)
    values, options = _begun(values, options, places)
    if len(places) > 1:
        check_own_servers(options)
    images = image_options(values)
    if images is None and values["start"] == FROM:
        check_change_rows(options)
    _check_to(to, options)
    form = output_form(output) if to is None else "json"
    if form == "pretty":
        # People read a decimal as it was written, with its own digits behind the point.
        options = replace(options, decimals="string")
    # First: who cannot have the numbers that he asked for registers no consumer.
    with watches(values) as watched:
        waits = waits_for_nodes(values["on_node_lost"], several=False)
        if images is not None or values["start"] == FROM or len(places) > 1 or waits:
            with gently() as stopping, _rare_collections():
                _side_by_side(places, options, images, to, form, values, watched, lambda: stopping[0])
            return
        ((node, place),) = places
        chosen = replace(options, node=node)
        _become_owner(place, chosen)
        if to is None:
            _run(place, chosen, once, commit_every, form, watched)
        else:
            _feed(place, chosen, to, values, watched)


def _begun(
    values: dict[str, Any], options: TailOptions, places: Sequence[tuple[str, LogPlace]]
) -> tuple[dict[str, Any], TailOptions]:
    """A snapshot of a service's own log is what its writer keeps of it: no server is asked."""
    from tailer.options.snapshot import FROM

    if values["start"] != FROM:
        return values, options
    from tailer.archive.service_log import begin_with_kept

    kept = begin_with_kept(options, [place for _, place in places])
    if kept is None:
        return values, options
    if values.get("anew"):
        raise UsageError(
            "a service's own log has no server whose tables could be read",
            remedy="Begin with all that its writer keeps: cdc-tail follow --from snapshot --image after.",
        )
    return {**values, "start": kept.start}, kept


def _check_to(to: str | None, options: TailOptions) -> None:
    if to is None:
        return
    from tailer.sinks.outlets import check_to

    check_to(to)
    if options.consumer is None:
        raise UsageError("--to keeps a position", remedy="Give the run a name: --consumer NAME.")


def _side_by_side(
    places: Sequence[tuple[str, LogPlace]],
    options: TailOptions,
    images: ImageOptions | None,
    to: str | None,
    form: Form,
    values: dict[str, Any],
    watched: Watched,
    stopping: Callable[[], bool],
) -> None:
    """Each node in a thread of its own."""
    from tailer.options.snapshot import FROM, snapshot_options

    if images is not None:
        from tailer.image_state.library import check_library

        check_library()
        from tailer.cli.follow_images import follow_images

        asked = snapshot_options(values)
        follow_images(places, options, images, asked, to, form, values, watched, stopping)
    elif values["start"] == FROM:
        from tailer.cli.follow_snapshot import follow_snapshot

        follow_snapshot(places, options, snapshot_options(values), to, form, values, watched, stopping)
    else:
        from tailer.cli.follow_nodes import follow_nodes

        follow_nodes(places, options, to, form, values, watched, stopping)


def _run(place: LogPlace, options: TailOptions, once: bool, every: CommitEvery, form: Form, watched: Watched) -> None:
    from tailer.tail.follow import follow as run
    from tailer.tail.node_log import PATIENCE_SECONDS, node_log
    from tailer.tail.open import open_tail

    say = STANDARD_ERROR.notice
    with gently() as stopping, _stops_without_node(stopping), _rare_collections():
        log = node_log(place, options, PATIENCE_SECONDS, say, lambda: stopping[0])
        watch = watched(log.source, options)
        with open_tail(log, options) as tail:
            sink = open_sink(form, tail.definition, tail.typed, more=options.extra_columns)
            run(tail, sink, once=once, commit_every=every, say=say, stopping=lambda: stopping[0], watch=watch)
            sink.close()


def _feed(place: LogPlace, options: TailOptions, to: str, values: dict[str, Any], watched: Watched) -> None:
    from tailer.sinks.outlets import open_outlet
    from tailer.tail.deliver import deliver
    from tailer.tail.feed import Feed
    from tailer.tail.node_log import PATIENCE_SECONDS, node_log
    from tailer.tail.open import open_tail
    from tailer.tail.patience import Patience

    say, chosen = STANDARD_ERROR.notice, replace(options, outlet=True)
    with gently() as stopping, _stops_without_node(stopping), _rare_collections():
        log = node_log(place, chosen, PATIENCE_SECONDS, say, lambda: stopping[0])
        watch = watched(log.source, chosen)
        with open_tail(log, chosen) as tail:
            patience = Patience(values["retry_for"], say, lambda: stopping[0], (watch.away, tail.tell_away))
            feed = Feed(tail, lambda context: open_outlet(to, values, context), patience, say, watch)
            deliver(feed, once=values["once"], say=say, stopping=lambda: stopping[0])


def _become_owner(place: LogPlace, options: TailOptions) -> None:
    from tailer.state.log_folder import state_folder

    if isinstance(place, Path):
        as_state_owner(place, state_folder(place, options.state))


@contextmanager
def _stops_without_node(stopping: list[bool]) -> Iterator[None]:
    """Who is told to stop while its node is away ends as it would otherwise: what was not saved comes again."""
    try:
        yield
    except NodeAwayError as error:
        if not stopping[0]:
            raise
        STANDARD_ERROR.notice(f"stopped while the node was away: what was not saved comes again. {error.sentence()}")


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
