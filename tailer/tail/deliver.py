"""The loop of a run that feeds an outlet from one node's log. Knows no target and no form."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tailer.errors import CdcError
from tailer.tail.feed import Feed
from tailer.tail.follow import WAIT_SECONDS, Say, looks, say_last
from tailer.tail.patience import STOPPED, StoppedError
from tailer.tail.step import Step


def deliver(feed: Feed, *, once: bool, say: Say, stopping: Callable[[], bool] = lambda: False) -> int:
    """Feed an outlet from its open tail: all that is there (`once`) or for ever, until `stopping`; how many rows.

    Raises the documented errors; what was taken before one of a log is committed first.
    """
    for _ in deliveries(feed, once=once, say=say, stopping=stopping):
        pass
    return feed.rows


def deliveries(feed: Feed, *, once: bool, say: Say, stopping: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """The same for who has something to do in between: behind each step, before each wait, and at the end."""
    try:
        feed.open()
        steps = looks(feed.tail, once=once, say=say, stopping=stopping, watch=feed.watch)
        while (step := _next(feed, steps)) is not None:
            feed.stalled.note(step)
            if step.brings:
                feed.take(step, stopping)
                yield
            else:
                feed.rest()
                yield
                _wait(feed)
        feed.commit()
        yield
    except StoppedError:
        say(STOPPED)
    finally:
        try:
            say_last(feed.tail, say)
        finally:
            feed.close()


def _next(feed: Feed, steps: Iterator[Step]) -> Step | None:
    try:
        return next(steps, None)
    except CdcError:
        feed.commit()
        raise


def _wait(feed: Feed) -> None:
    """Until the folder may have changed, or rows have waited long enough."""
    due = feed.patience_seconds
    feed.tail.wait(WAIT_SECONDS if due is None else min(WAIT_SECONDS, due))
