"""Histories of a cluster at random, whose past is known by a snapshot alone: they add up to what SELECT shows.

What happened before is told again later, by hints and repairs, also where it was deleted since.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings

from tests.helpers.amount import ALL, examples
from tests.helpers.images.parts import Part, Set
from tests.helpers.images.snapshot import Snapshotted
from tests.helpers.images.steps import History, histories, perform

EXAMPLES = examples(2000) if ALL else 100
RELEASES = ("4.1.5", "5.0.9")


@pytest.mark.parametrize("release", RELEASES)
@settings(max_examples=EXAMPLES)
@given(history=histories("serve", unread=True))
def test_what_a_snapshot_and_the_logs_add_up_to(release: str, history: History) -> None:
    played(history, release)


@settings(max_examples=EXAMPLES)
@given(history=histories("serve", "alter", unread=True))
def test_also_when_columns_are_dropped(history: History) -> None:
    played(history, "5.0.9")


@settings(max_examples=EXAMPLES)
@given(history=histories("serve", unread=True))
def test_also_when_what_is_older_is_read_again(history: History) -> None:
    played(history, "5.0.9", rereads=True)


def played(history: History, release: str, *, rereads: bool = False) -> Snapshotted:
    # Before 5.0 no server tells when an element expires.
    before = (
        history.before if release.startswith("5.") else [(_lasting(parts), k, on) for parts, k, on in history.before]
    )
    story = Snapshotted(history.table, replicas=history.replicas, before=before, release=release, rereads=rereads)
    perform(story, history)
    story.finish(history.order)
    story.check()
    return story


def _lasting(parts: Sequence[Part]) -> list[Part]:
    return [replace(part, ttl=None) if isinstance(part, Set) else part for part in parts]
