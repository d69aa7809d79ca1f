"""`cdc-tail follow --image`: the nodes' rows go into one state, and images come out of it on standard output, or go
into one outlet."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from tailer.cli.follow_nodes import Deliver, FollowedLog, Stopping, nodes_of, run_beside
from tailer.cli.monitoring import Watched
from tailer.cli.progress import snapshot_bars
from tailer.cli.rows import Form
from tailer.cli.standard_error import STANDARD_ERROR
from tailer.errors import CdcError, UsageError
from tailer.image_state.one_transaction import ImageBatch
from tailer.images.image_rows import TakesImages
from tailer.options.images import ImageOptions
from tailer.options.log_place import LogPlace
from tailer.options.snapshot import FROM, SnapshotOptions
from tailer.options.tail import TailOptions
from tailer.sinks.outlet import TableWaits
from tailer.sinks.outlets import open_outlet
from tailer.state.waiting import WaitingTable
from tailer.tail.deliver import deliver
from tailer.tail.follow import Say
from tailer.tail.guarded import HeardWatch
from tailer.tail.images.delivery import ImageDelivery
from tailer.tail.images.feed import ImageFeed, look
from tailer.tail.images.form import LeftOutValues, typed_images
from tailer.tail.images.run import ImageRun, image_run, tail_options_of
from tailer.tail.images.stream import ImageStream
from tailer.tail.patience import STOPPED, Patience, StoppedError, Told, hearing
from tailer.tail.side_by_side import Pulse
from tailer.tail.snapshot.beside import Beside
from tailer.tail.snapshot.nodes import servers_of
from tailer.tail.tail import Tail
from tailer.tail.turn_lock import TurnLock
from tailer.tail.watch import Watch

if TYPE_CHECKING:
    import pyarrow

    from tailer.images.typed import TypedImages


def follow_images(
    places: Sequence[tuple[str, LogPlace]],
    options: TailOptions,
    images: ImageOptions,
    snapshot: SnapshotOptions,
    to: str | None,
    form: Form,
    values: dict[str, Any],
    watched: Watched,
    stopping: Stopping,
) -> None:
    """Give images until `stopping`, or with --once of all that is there. `to`: the outlet that they go into; None:
    standard output. Raises the documented errors."""
    nodes = nodes_of(places, tail_options_of(options))
    if to is not None:
        if options.table is not None:
            raise UsageError(
                "--typed and images into an outlet: they come there in the generic form",
                remedy="Leave out --typed; `--mode table` keeps a table with the source's own columns.",
            )
        _into_outlet(nodes, places, options, images, snapshot, to, values, watched, stopping)
        return
    say = STANDARD_ERROR.notice
    shown = _Shown(form, options, images, LeftOutValues(say))
    once, rereads = values["once"], snapshot.rereads
    made = image_run(places, options, images, shown.give, say, once=once, rereads=rereads)
    with shown.reporting(), made as run, _beside(run, nodes, snapshot, values, say) as beside:

        def begin(tail: Tail) -> None:
            shown.begin(tail, run.stream)
            beside.begin(tail)

        def give(values: dict[str, Any]) -> Deliver:
            return _to_images(run, values, say, [], begin=begin, note=beside.note)

        run_beside(nodes, give, values, watched, stopping, run.timers.look, beside)
    shown.close()


@contextmanager
def _beside(
    run: ImageRun, nodes: Sequence[FollowedLog], snapshot: SnapshotOptions, values: dict[str, Any], say: Say
) -> Iterator[Beside]:
    """What asks servers beside the run, as long as it lasts."""
    servers = servers_of({node.name: node.options for node in nodes})
    begins, anew = values["start"] == FROM, values.get("anew", False)
    with snapshot_bars() if begins else nullcontext() as show:
        beside = Beside(run, servers, snapshot, TurnLock(), say, begins=begins, anew=anew, show=show)
        with closing(beside):
            beside.start()
            yield beside


class _Shown:
    """Images on standard output; typed ones as soon as a node's log has told their form. One thread at a time."""

    def __init__(self, form: Form, options: TailOptions, images: ImageOptions, left_out: LeftOutValues) -> None:
        self._form, self._options, self._before, self._left_out = form, options, images.before, left_out
        self._typed: TypedImages | None = None
        self._sink = open_image_sink(form) if options.table is None else None
        self._waiting: list[ImageBatch] = []

    def begin(self, tail: Tail, stream: ImageStream) -> None:
        """A node's log is open."""
        if self._sink is None:
            self._typed = typed_images(tail, self._options)
            self._sink = open_image_sink(self._form, self._typed.schema)
            for batch in self._waiting:
                self.give(batch)
                stream.taken(batch.number)
            self._waiting = []

    def give(self, batch: ImageBatch) -> bool:
        """Whether it is out of this process."""
        if self._sink is None:
            self._waiting.append(batch)
        elif self._typed is None:
            self._sink.write(batch.rows(before=self._before))
        else:
            self._sink.write(self._typed.rows(batch.images, before=self._before))
            self._left_out.report(self._typed)
        return self._sink is not None

    def close(self) -> None:
        if self._sink is not None:
            self._sink.close()

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """However the block ends, what was left out is reported."""
        try:
            yield
        finally:
            self._left_out.report(self._typed, last=True)


class _WaitingReporter:
    """Writes which tables' images wait in the target for a person beside each node's consumer, when that changes."""

    def __init__(self, delivery: ImageDelivery, run: ImageRun) -> None:
        self._delivery, self._run = delivery, run
        self._tails: list[Tail] = []
        self._told: list[TableWaits] = []

    def begin(self, tail: Tail) -> None:
        """A node's log is open."""
        self._told = list(self._delivery.waiting())
        self._tails.append(tail)
        tail.report_waiting([WaitingTable(*each) for each in self._told])

    def look(self) -> None:
        """Now and then while nodes run: also what timers have due, and what the outlet has in hand for long."""
        look(self._run.timers, self._delivery)
        self.report()

    def report(self) -> None:
        now = list(self._delivery.waiting())
        if now != self._told:
            self._told = now
            for tail in self._tails:
                tail.report_waiting([WaitingTable(*each) for each in now])


def _into_outlet(
    nodes: Sequence[FollowedLog],
    places: Sequence[tuple[str, LogPlace]],
    options: TailOptions,
    images: ImageOptions,
    snapshot: SnapshotOptions,
    to: str,
    values: dict[str, Any],
    watched: Watched,
    stopping: Stopping,
) -> None:
    say = STANDARD_ERROR.notice
    told: list[Told] = []
    patience = Patience(values["retry_for"], say, stopping, told)
    delivery = ImageDelivery(
        lambda context: open_outlet(to, values, context), str(options.consumer), images, patience, say
    )
    once, rereads = values["once"], snapshot.rereads
    made = image_run(places, options, images, delivery.give, say, once=once, reach=delivery.reach, rereads=rereads)
    try:
        with closing(delivery), made as run, _beside(run, nodes, snapshot, values, say) as beside:
            waiting = _WaitingReporter(delivery, run)

            def begin(tail: Tail) -> None:
                waiting.begin(tail)
                beside.begin(tail)

            def give(values: dict[str, Any]) -> Deliver:
                return _to_images(run, values, say, told, delivery, begin=begin, note=beside.note)

            try:
                run_beside(nodes, give, values, watched, stopping, waiting.look, beside)
            finally:
                delivery.finish()
                waiting.report()
            delivery.report_end()
    except StoppedError:
        say(STOPPED)


def _to_images(
    run: ImageRun,
    values: dict[str, Any],
    say: Callable[[str], None],
    told: list[Told],
    delivery: ImageDelivery | None = None,
    *,
    begin: Callable[[Tail], None],
    note: Callable[[Tail], None],
) -> Deliver:
    """`told`: of a target that is away; each node's run adds who is to hear of it. `begin`: called with each
    log that is open, `note` at each look at it, in its thread."""

    def give(tail: Tail, pulse: Pulse, watch: Watch, stopping: Stopping) -> None:
        def heard(error: CdcError | None) -> None:
            # While the target is away nothing is heard of the node, which is no fault of its own.
            pulse.beat()

        with pulse.target():
            begin(tail)
        feed = ImageFeed(
            tail,
            run.stream,
            run.timers,
            say,
            tokens=run.images.tokens,
            watch=HeardWatch(watch, lambda: note(tail)),
            guard=pulse.target,
            delivery=delivery,
        )
        with hearing(told, watch.away, tail.tell_away, heard):
            deliver(feed, once=values["once"], say=say, stopping=stopping)

    return give


def open_image_sink(form: Form, schema: pyarrow.Schema | None = None) -> TakesImages:
    """What writes images to standard output. `schema`: of typed ones."""
    stream = sys.stdout.buffer
    match form:
        case "json":
            from tailer.sinks.json_lines import JsonLinesSink

            return JsonLinesSink(stream)
        case "arrow":
            from tailer.images.image import arrow_schema
            from tailer.sinks.arrow import ArrowSink

            return ArrowSink(stream, schema=schema or arrow_schema())
        case "pretty":
            from tailer.images.pretty import PrettyImages
            from tailer.sinks.terminal import wants_colour

            return PrettyImages(stream, colour=wants_colour(stream, os.environ))
