"""Histories of a cluster at random: what images there must be of each entry, and what they add up to."""

from __future__ import annotations

from hypothesis import given, settings

from tests.helpers.amount import ALL, examples
from tests.helpers.images.checked import Checked
from tests.helpers.images.ledger import Unit
from tests.helpers.images.logged import Entry
from tests.helpers.images.merged import Merged
from tests.helpers.images.steps import History, histories, perform

EXAMPLES = examples(2000) if ALL else 100


@settings(max_examples=EXAMPLES)
@given(history=histories())
def test_the_images_of_any_history_are_those_that_must_come(history: History) -> None:
    played(history)


@settings(max_examples=EXAMPLES)
@given(history=histories("truncate"))
def test_also_when_single_nodes_truncate(history: History) -> None:
    played(history)


@settings(max_examples=EXAMPLES)
@given(history=histories("alter"))
def test_also_when_columns_are_dropped_and_come_back(history: History) -> None:
    played(history)


@settings(max_examples=EXAMPLES)
@given(history=histories("settle"))
def test_only_what_lives_is_left_of_what_is_old(history: History) -> None:
    story = played(history)
    story.settle()
    story.look()
    story.check_select()


@settings(max_examples=EXAMPLES)
@given(history=histories("age", "truncate"))
def test_nothing_is_forgotten_that_a_copy_may_still_contradict(history: History) -> None:
    """Also where nodes are read long after what they logged, and the state forgets what it can before each entry."""
    played(history, Forgetful)


@settings(max_examples=EXAMPLES)
@given(history=histories(unread=True))
def test_what_is_known_of_a_past_that_nobody_read(history: History) -> None:
    story = Checked(history.table, Merged, replicas=history.replicas, before=history.before, whole=False)
    perform(story, history)
    story.read_all(history.order)
    story.look()
    story.check_agrees()


@settings(max_examples=EXAMPLES)
@given(history=histories("truncate", "alter", "lose", "settle", unread=True))
def test_anything_may_happen(history: History) -> None:
    """Whole or not; after a loss only what the order of arrival tells can be held to it."""
    story = Checked(history.table, Merged, replicas=history.replicas, before=history.before, whole=not history.before)
    perform(story, history)
    story.read_all(history.order)
    story.look()


class Forgetful(Checked):
    """Forgets what may be forgotten before each entry."""

    def merge(self, entry: Entry) -> list[Unit]:
        self.tick(1)
        self.forget()
        return super().merge(entry)


def played(history: History, kind: type[Checked] = Checked) -> Checked:
    """Played, read to the end, and equal to SELECT at ALL."""
    story = kind(history.table, Merged, replicas=history.replicas)
    perform(story, history)
    story.read_all(history.order)
    story.look()
    story.check_select()
    return story
