"""Histories of a cluster at random: what images there must be of each entry, and what they add up to."""

from __future__ import annotations

from hypothesis import given, settings

from tests.helpers.amount import examples
from tests.helpers.images.checked import Checked
from tests.helpers.images.merged import Merged
from tests.helpers.images.steps import History, histories, perform

EXAMPLES = examples(2000)


@settings(max_examples=EXAMPLES)
@given(history=histories())
def test_the_images_of_any_history_are_those_that_must_come(history: History) -> None:
    played(history)


@settings(max_examples=EXAMPLES)
@given(history=histories("truncate"))
def test_also_when_single_nodes_truncate(history: History) -> None:
    played(history)


def played(history: History) -> Checked:
    """Played, read to the end, and equal to SELECT at ALL."""
    story = Checked(history.table, Merged, replicas=history.replicas)
    perform(story, history)
    story.read_all(history.order)
    story.look()
    story.check_select()
    return story
