"""The same history told otherwise: by another process, in another order, once more."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.amount import examples
from tests.helpers.images.checked import Checked
from tests.helpers.images.merged import Merged
from tests.helpers.images.steps import History, histories, perform

ANY = histories("truncate", "alter", "settle", most=15)
ORDERS = st.lists(st.integers(0, 2), max_size=20)


def played(history: History, order: Any, kind: type[Checked] = Checked) -> Checked:
    story = kind(history.table, Merged, replicas=history.replicas)
    perform(story, history)
    story.read_all(order)
    story.look()
    return story


class Restarted(Checked):
    """Before each entry the reader is another process, which knows what is in the store and nothing else."""

    def merge(self, entry: Any) -> Any:
        self.reopen()
        return super().merge(entry)


@settings(max_examples=examples(300))
@given(history=ANY)
def test_images_are_a_function_of_what_was_read(history: History) -> None:
    first, again = (played(history, history.order, kind) for kind in (Checked, Restarted))
    assert first.images == again.images
    assert list(first.merger.held()) == list(again.merger.held())


class ReadAtTheEnd(Checked):
    """Whatever a history says of reading, all logs are read when it is over."""

    def read(self, node: str, most: int = 1) -> None:
        if self.over:
            super().read(node, most)

    over = False


@settings(max_examples=examples(600))
@given(history=histories("truncate", most=15), order=ORDERS)
def test_any_order_of_the_nodes_gives_the_same_rows(history: History, order: list[int]) -> None:
    ends = []
    for by in (history.order, order):
        story = ReadAtTheEnd(history.table, Merged, replicas=history.replicas)
        perform(story, history)
        story.over = True
        story.read_all(by)
        story.look()
        ends.append(dict(story.seen.rows))
    assert ends[0] == ends[1]


class ReadTwice(Checked):
    """Each entry comes twice, and the second time it says nothing."""

    def merge(self, entry: Any) -> Any:
        units = super().merge(entry)
        if not entry.truncates:
            before = list(self.merger.held())
            assert self.merger.entry(entry.rows(self.cluster.table), self.now_us) == []
            assert list(self.merger.held()) == before
        return units


@settings(max_examples=examples(300))
@given(history=ANY)
def test_an_entry_that_comes_again_gives_nothing(history: History) -> None:
    played(history, history.order, ReadTwice)


@settings(max_examples=examples(300))
@given(history=histories(most=15))
def test_all_logs_read_once_more_give_nothing(history: History) -> None:
    story = played(history, history.order)
    for replica in story.cluster.replicas:
        for entry in replica.log:
            rows = entry.rows(story.cluster.table)
            assert story.merger.entry(rows, story.now_us) == [], entry


@settings(max_examples=examples(300))
@given(history=histories("truncate", "alter", "settle"))
def test_what_is_told_of_a_row_is_what_its_images_showed(history: History) -> None:
    story = played(history, history.order)
    for (k, key), text in story.seen.rows.items():
        if not story.seen.definition:
            assert story.merger.shown(k, key) == (True, text)
