"""Moves a consumer by hand: forgets it, or stands it at another position. Never one that is running (exit 6).

Moving back happens under the state folder's lock, and only to a segment that is still there.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tailer.errors import RefusedError, UsageError
from tailer.on_disk import sync_folder
from tailer.options.names import check_name
from tailer.position import Position
from tailer.retention.forget_dropped import forget_dropped
from tailer.retention.needed import Holder
from tailer.segments.source import FolderSource
from tailer.segments.view import View
from tailer.snapshot.spool import remove_spool, spool_folder
from tailer.state.cleaned import Cleaned, read_cleaned, write_cleaned
from tailer.state.consumer import Consumer
from tailer.state.consumers import Mark, NodeState, consumer_names, consumer_path, read_consumer, take_consumer
from tailer.state.folder_journal import FolderJournal
from tailer.state.journal import Journal
from tailer.state.journal_records import GenerationRecord
from tailer.state.lock import state_lock
from tailer.state.log_folder import state_folder
from tailer.state.offset import Memory, NodeOffset
from tailer.state.waiting import write_waiting
from tailer.system_errors import told


class Moved(NamedTuple):
    """Where a consumer stood, and where it stands now."""

    node: str
    before: Position
    after: Position


def drop_consumer(state: Path, name: str) -> None:
    """Forget a consumer: it holds nothing back any more. Its lock file stays, for another may wait at it."""
    _check_known(state, name)
    held = take_consumer(state, name)
    try:
        with state_lock(state):
            forget_held(state, name)
    finally:
        os.close(held)
    forget_dropped(state)


def forget_held(state: Path, name: str) -> None:
    """The same for who holds the consumer, and the state's lock. Rows of a query's snapshot that wait go too."""
    record = read_cleaned(state)
    if name in record.lost:
        lost = {other: ids for other, ids in record.lost.items() if other != name}
        write_cleaned(state, msgspec.structs.replace(record, lost=lost))
    _pass_on(state, name)
    write_waiting(state, name, ())
    # Before its file: what is not let go of by then is with the next attempt.
    spool = spool_folder(state, name)
    with told("cannot remove the rows of its snapshot", spool, writes=True):
        remove_spool(spool)
    consumer_path(state, name).unlink(missing_ok=True)
    sync_folder(consumer_path(state, name).parent)


def forget_node(state: Path, name: str, node: str, *, program: str = "cdc-tail consumers") -> Position:
    """Forget where a consumer stood in the log of a node that left for good, in a state that several nodes share: that
    node holds nothing back any more. Where it stood.

    UsageError for an unknown consumer or node, and for the only one it has.
    """
    _check_known(state, name)
    with contextlib.closing(Consumer(state, name)) as consumer, state_lock(state):
        before = consumer.content.nodes.get(node)
        if before is None or len(consumer.content.nodes) == 1:
            raise UsageError(
                f"consumer {name!r} does not know this node" if before is None else "the consumer has no other node",
                expected=" or ".join(sorted(consumer.content.nodes)) if before is None else None,
                found=repr(node),
                remedy="" if before is None else "Forget the whole consumer: cdc-tail consumers DIR drop NAME.",
            )
        consumer.forget(node, moved=time.time(), program=program)
    return before.offset.position


def seek_consumer(
    folder: Path,
    name: str,
    text: str,
    *,
    node: str | None = None,
    state: Path | None = None,
    program: str = "cdc-tail consumers",
    clock: Callable[[], float] = time.time,
) -> Moved:
    """Stand a consumer at a position, for all its later runs: `segment:offset`, `earliest`, `latest`, a time, a node's
    JSON.

    LossError if the position's segment is gone; UsageError for an unknown consumer, node or position.
    """
    where = state_folder(folder, state)
    _check_known(where, name)
    with contextlib.closing(Consumer(where, name)) as consumer:
        chosen = _node(consumer, node)
        before = consumer.content.nodes[chosen]
        with state_lock(where):
            after = _stand(folder, consumer.journal, name, chosen, text, clock)
            if before.generation:
                # What its outlet holds is of the time before.
                after = msgspec.structs.replace(after, generation=before.generation + 1)
            consumer.save(chosen, after, moved=clock(), program=program)
    named = Position.parse(text)
    # One that appeared below others is a late segment there.
    late = named is not None and (named.segment, named.offset) in after.offset.p
    return Moved(chosen, before.offset.position, named if named is not None and late else after.offset.position)


def settle_appeared(
    folder: Path,
    name: str,
    segments: Sequence[int],
    *,
    deliver: bool,
    node: str | None = None,
    state: Path | None = None,
    program: str = "cdc-tail consumers",
    clock: Callable[[], float] = time.time,
) -> str:
    """Say of segments that appeared below where a consumer began that it reads them (`deliver`), or that they are old.

    The node. UsageError for an unknown consumer or node, and for a segment that needs no word.
    """
    from tailer.planning.appeared import accepted, begun, taken_over, to_deliver
    from tailer.planning.survey import Survey

    where = state_folder(folder, state)
    _check_known(where, name)
    settle = to_deliver if deliver else accepted
    with contextlib.closing(Consumer(where, name)) as consumer, state_lock(where):
        chosen = _node(consumer, node)
        held = consumer.content.nodes[chosen]
        cleaned = Cleaned(state_folder(folder))
        with contextlib.closing(Survey(FolderSource(folder), cleaned=cleaned.refresh, clock=clock)) as survey:
            view = survey.look(held.offset)
        for segment in segments:
            _check_appeared(folder, view, held, segment)

        if deliver:
            consumer.journal.append(taken_over(view, segments, consumer.journal.read(), name, held.offset))

        def settled(mark: NodeState | Mark) -> Memory:
            return settle(begun(view, mark.offset, mark.memory), segments)

        ahead = tuple(msgspec.structs.replace(mark, memory=settled(mark)) for mark in held.ahead)
        after = msgspec.structs.replace(held, memory=settled(held), ahead=ahead)
        consumer.save(chosen, after, moved=clock(), program=program)
    return chosen


def _check_appeared(folder: Path, view: View, held: NodeState, segment: int) -> None:
    """UsageError for a segment that is not there, or of which the consumer's record says what it is."""
    seen = view.get(segment)
    if seen is None or not seen.log:
        found = "it is not in the folder"
    elif Holder("", held.offset, held.memory, Position(*held.restart)).unexplained(segment):
        return
    elif segment >= held.offset.s:
        found = f"it is ahead: the consumer stands at {held.offset.position}"
    else:
        found = "the consumer's record has it: it was there when the consumer began, or was read or accepted since"
    raise UsageError(
        f"segment {segment} needs no word",
        file=str(folder),
        expected="a segment that has appeared below where the consumer began",
        found=found,
    )


def _pass_on(state: Path, name: str) -> None:
    """What an outlet keeps of a consumer that is dropped counts no more, also for one of its name."""
    try:
        nodes = read_consumer(consumer_path(state, name), name).nodes.values()
        generation = max((node.generation for node in nodes), default=0)
    except RefusedError:
        # What it was nobody can read any more: certainly less than there were seconds.
        generation = int(time.time())
    if generation > 0:
        FolderJournal(state).append([GenerationRecord(consumer=name, generation=generation + 1)])


def _stand(
    folder: Path, journal: Journal, consumer: str, node: str, text: str, clock: Callable[[], float]
) -> NodeState:
    # They read logs, which takes more than the other commands load.
    from tailer.planning.appeared import known_to, taken_over_all
    from tailer.planning.named_positions import check_there, check_within, named_position, standing
    from tailer.planning.reach import Reacher
    from tailer.planning.restart import check_restart, restart_of
    from tailer.planning.sidecar_times import KeptTimes
    from tailer.planning.survey import Survey

    cleaned = Cleaned(state_folder(folder))
    with contextlib.closing(Survey(FolderSource(folder), cleaned=cleaned.refresh, clock=clock)) as survey:
        view = survey.look(NodeOffset())
        reach = Reacher(survey, lambda segment, run: None, visible_within=0)
        times = KeptTimes(journal)
        times.load()
        place = view, reach, node, cleaned.unread, survey.written, times.of
        records = journal.read()
        taken = taken_over_all(view, records, consumer)
        start = named_position(text, *place, now=clock(), appeared=known_to(records, taken, consumer))
        journal.check_id(start.offset)
        if not start.offset.done:
            check_there(start.offset.position, view)
        check_within(start.offset, survey)
        found = standing(start.offset, view)
        restart = restart_of(found, survey)
        check_restart(restart, found.position, view)
    if taken:
        # Others saw them appear while it did not run: by these records it reads them where they do.
        journal.append(taken)
    return NodeState(journal.stamped(found), start.memory, restart=restart)


def _node(consumer: Consumer, node: str | None) -> str:
    nodes = sorted(consumer.content.nodes)
    if node is None and len(nodes) == 1:
        return nodes[0]
    if node in nodes:
        return str(node)
    raise UsageError(
        f"consumer {consumer.name!r} does not know this node"
        if node
        else f"consumer {consumer.name!r} has no one node",
        expected=" or ".join(nodes) or "a consumer with a position",
        found=repr(node),
        remedy="Name it with --node.",
    )


def _check_known(state: Path, name: str) -> None:
    names = consumer_names(state)
    if check_name(name) not in names:
        raise UsageError(
            "no such consumer",
            file=str(state),
            expected=", ".join(names) or "a registered consumer",
            found=repr(name),
            remedy="`cdc-tail consumers DIR list` shows them.",
        )
