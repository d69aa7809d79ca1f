"""The model's two tellings of Cassandra's rules agree: replicas that merge versions, and a ledger that picks facts."""

from __future__ import annotations

from hypothesis import given, settings

from tests.helpers.amount import examples
from tests.helpers.images.steps import History, histories, perform
from tests.helpers.images.story import Story


@settings(max_examples=examples(600))
@given(history=histories("truncate", "settle", "age", "alter"))
def test_what_a_reader_of_all_logs_knows_is_select_at_all(history: History) -> None:
    story = Story(history.table, replicas=history.replicas)
    perform(story, history)
    story.read_all(history.order)
    story.look()
    known = {row: dict(shown.values) for row, shown in story.known().items() if shown.there}
    assert known == story.selected()
