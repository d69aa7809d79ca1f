"""The loop of a run that feeds outlets: several nodes in turn, each with its own. Knows no target and no form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tailer.errors import CdcError
from tailer.tail.feed import Feed
from tailer.tail.follow import WAIT_SECONDS, Say, looks
from tailer.tail.patience import StoppedError
from tailer.tail.step import Step


def deliver(feeds: Sequence[Feed], *, once: bool, say: Say, stopping: Callable[[], bool] = lambda: False) -> int:
    """Feed each outlet from its open tail: all that is there (`once`) or for ever, until `stopping`; how many rows.

    Raises the documented errors; what was taken before one of a log is committed first.
    """
    try:
        for feed in feeds:
            feed.open()
        _turns(feeds, once, say, stopping)
    except StoppedError:
        say("stopped while the target was away: what it has not taken comes with the next run")
    finally:
        for feed in feeds:
            for sentence in feed.tail.last_notices():
                say(sentence)
            feed.close()
    return sum(feed.rows for feed in feeds)


def _turns(feeds: Sequence[Feed], once: bool, say: Say, stopping: Callable[[], bool]) -> None:
    running = {feed: looks(feed.tail, once=once, say=say, stopping=stopping, watch=feed.watch) for feed in feeds}
    while running:
        busy = [_turn(feed, steps, stopping) for feed, steps in running.items()]
        running = {feed: steps for (feed, steps), found in zip(running.items(), busy, strict=True) if found is not None}
        if running and not any(busy):
            _wait(list(running))


def _turn(feed: Feed, steps: Iterator[Step], stopping: Callable[[], bool]) -> bool | None:
    """One step of a node: whether it brought something; None where it was the last."""
    try:
        step = next(steps, None)
    except CdcError:
        feed.commit()
        raise
    if step is None:
        feed.commit()
        return None
    feed.stalled.note(step)
    if step.brings:
        feed.take(step, stopping)
    else:
        feed.rest()
    return step.brings


def _wait(feeds: Sequence[Feed]) -> None:
    """Until a folder may have changed, or rows have waited long enough."""
    due = [seconds for feed in feeds if (seconds := feed.patience_seconds) is not None]
    seconds = min([WAIT_SECONDS, *due])
    any(feed.tail.wait(seconds / len(feeds)) for feed in feeds)
