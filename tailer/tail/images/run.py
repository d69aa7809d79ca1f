"""The images of one run, from its options: where their state is, and the stream that its nodes feed.

Opens the state; knows neither the log's rows nor the sink, which the caller names.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tailer.errors import UsageError
from tailer.options.images import ImageOptions, check_images
from tailer.options.log_place import LogPlace
from tailer.options.tail import TailOptions
from tailer.tail.follow import Say
from tailer.tail.images.stream import Give, ImageStream, Reach, reach_given
from tailer.tail.images.timers import Timers
from tailer.tail.node_log import state_of


@dataclass(frozen=True, slots=True)
class ImageRun:
    """What the nodes of a run share. `tail`: the options of their tails."""

    stream: ImageStream
    timers: Timers
    images: ImageOptions
    tail: TailOptions


def tail_options_of(options: TailOptions) -> TailOptions:
    """The options of a tail whose rows become images: generic ones, with changes of definitions. UsageError."""
    check_images(options)
    # Of the typed form images are, and not the rows that they are made of.
    tables = options.tables if options.table is None else (options.table,)
    return replace(options, tables=tables, table=None, schema_changes=True, outlet=options.consumer is not None)


@contextmanager
def image_run(
    places: Sequence[tuple[str, LogPlace]],
    options: TailOptions,
    images: ImageOptions,
    give: Give,
    say: Say,
    *,
    once: bool,
    reach: Reach = reach_given,
    rereads: bool = False,
    opened: Callable[[Path], None] = lambda folder: None,
) -> Iterator[ImageRun]:
    """The stream of a run, open until the context ends. `reach`: opens where images go. `rereads`: of `Settings`.
    `opened`: told of the folder before it is made.

    Without a consumer, where the run does not wait, the state is gone with it. UsageError, RefusedError.
    """
    from tailer.image_state.file import ImageFile

    chosen = tail_options_of(options)
    with _folder(places, options, images, once=once) as folder:
        opened(folder)
        stream = ImageStream(
            ImageFile(folder),
            options.consumer or "",
            [name for name, _ in places],
            give,
            reach=reach,
            tokens="" if images.tokens is None else f"{images.tokens.first}..{images.tokens.last}",
            expirations=not images.no_expirations,
            gc_grace_seconds=None if images.gc_grace is None else int(images.gc_grace),
            rereads=rereads,
            selection=chosen.selection.canonical,
        )
        try:
            stream.open()
            yield ImageRun(stream, Timers(stream, say), images, chosen)
        finally:
            stream.close()


@contextmanager
def _folder(
    places: Sequence[tuple[str, LogPlace]], options: TailOptions, images: ImageOptions, *, once: bool
) -> Iterator[Path]:
    if options.consumer is None:
        if not once:
            raise UsageError(
                "images are kept under the name of a consumer",
                remedy="Give the run one: --consumer NAME; or look at what is there now with --once.",
            )
        if images.image_state is not None:
            raise UsageError("--image-state keeps images of a consumer", remedy="Give the run a name: --consumer NAME.")
        with tempfile.TemporaryDirectory(prefix="cdc-tail-images-") as made:
            yield Path(made) / "images"
        return
    yield images_folder(places, options, images.image_state)


def images_folder(places: Sequence[tuple[str, LogPlace]], options: TailOptions, given: Path | None) -> Path:
    """Where a consumer's images are kept. UsageError where nothing tells."""
    if given is not None:
        return given
    several = len(places) > 1
    for name, place in places:
        state = state_of(place, options.of_node(name, several=several))
        if state is not None:
            return state / "images" / str(options.consumer)
    raise UsageError(
        "nodes that keep their own state have no room for images",
        remedy="Name a folder of this machine: --image-state DIR.",
    )
