"""Histories at random: lists of steps, which shrink well, and what each does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hypothesis import strategies as st

from tests.helpers.images.parts import keys_of, parts
from tests.helpers.images.story import Story
from tests.helpers.images.tables import COUNTED, FLAT, WIDE, ModelTable

Step = tuple[Any, ...]
PARTITIONS = (1, 2)
NUMBERS = st.integers(0, 20)
NODES = ("a", "b", "c")
SOME = st.sampled_from([(0,), (1,), (0, 1), (1, 0, 2), (0, 1, 2), ()])
"""Replicas that take a write at once; one that none took comes by a hint, or never."""


@dataclass(frozen=True)
class History:
    """`before`: writes that nobody read. `order`: whose log is read on, when all that is left is read."""

    table: ModelTable
    replicas: int
    steps: tuple[Step, ...]
    order: tuple[int, ...]
    before: tuple[Any, ...] = ()


def histories(*kinds: str, unread: bool = False, most: int = 25) -> Any:
    """Any history; `kinds`: steps beyond the plain ones; `unread`: it has a past that nobody read."""
    return st.sampled_from([WIDE, WIDE, FLAT, COUNTED]).flatmap(lambda table: _of(table, kinds, unread, most))


@lru_cache(maxsize=64)
def _of(table: ModelTable, kinds: tuple[str, ...], unread: bool, most: int) -> Any:
    some_parts = st.lists(parts(table), min_size=1, max_size=3)
    past = st.lists(st.tuples(some_parts, st.sampled_from(PARTITIONS), st.sampled_from([(0,), (0, 1)])), max_size=4)
    return st.builds(
        History,
        st.just(table),
        st.integers(2 if unread else 1, 3),
        st.lists(st.one_of(_kinds(table, some_parts, kinds)), max_size=most).map(tuple),
        st.lists(st.integers(0, 2), max_size=20).map(tuple),
        past.map(tuple) if unread else st.just(()),
    )


def _kinds(table: ModelTable, some_parts: Any, kinds: Sequence[str]) -> list[Any]:
    ks = st.sampled_from(PARTITIONS)
    node = st.integers(0, 2)
    write = st.tuples(st.just("write"), some_parts, ks, SOME)
    made: list[Any] = [
        *[write] * 4,
        st.tuples(st.just("batch"), some_parts, some_parts, SOME),
        st.tuples(st.just("hint"), NUMBERS, node),
        st.tuples(
            st.just("repair"), ks, node, node, st.one_of(st.none(), st.sampled_from(keys_of(table))), st.booleans()
        ),
        *[st.tuples(st.just("read"), node, st.integers(1, 3))] * 3,
        st.tuples(st.just("tick"), st.sampled_from([1, 5, 15])),
        st.tuples(st.just("look")),
        st.tuples(st.sampled_from(["forget", "reopen"])),
    ]
    if "truncate" in kinds:
        made.append(st.tuples(st.sampled_from(["truncate", "begin_truncate", "end_truncate"]), node))
    made += [st.tuples(st.just(kind)) for kind in ("lose", "settle", "age", "age") if kind in kinds]
    if "serve" in kinds:
        made += [st.tuples(st.just("serve"))] * 2 + [st.tuples(st.just("answer"))]
    if "alter" in kinds and not table.counts:
        droppable = st.sampled_from([column.name for column in table.columns if not column.static])
        made += [st.tuples(st.just("drop"), droppable), st.tuples(st.just("again"), droppable)]
    return made


def perform(story: Story, history: History) -> None:
    for name, *args in history.steps:
        _ACTS[name](story, *args)
    story.cluster.end_truncates()


def _hint(story: Story, number: int, to: int) -> None:
    if story.cluster.writes:
        story.cluster.hint(number % len(story.cluster.writes), to % len(story.cluster.replicas))


def _repair(story: Story, k: int, source: int, to: int, key: Any, compacts: bool) -> None:
    replicas = len(story.cluster.replicas)
    if source % replicas != to % replicas:
        story.cluster.repair(k, source % replicas, to % replicas, key, compacts=compacts)


def _drop(story: Story, column: str) -> None:
    if column not in story.cluster.table.dropped:
        story.drop(column)


def _again(story: Story, column: str) -> None:
    if column in story.cluster.table.dropped:
        story.again(column)


_ACTS = {
    "write": lambda story, parts, k, on: story.write(parts, k, [n for n in on if n < len(story.cluster.replicas)]),
    "batch": lambda story, one, two, on: story.batch(
        list(zip(PARTITIONS, (one, two), strict=True)), [n for n in on if n < len(story.cluster.replicas)]
    ),
    "hint": _hint,
    "repair": _repair,
    "read": lambda story, node, most: story.read(NODES[node % len(story.cluster.replicas)], most),
    "tick": lambda story, seconds: story.tick(seconds),
    "look": lambda story: story.look(),
    "forget": lambda story: story.forget(),
    "truncate": lambda story, node: story.cluster.truncate(node % len(story.cluster.replicas)),
    "begin_truncate": lambda story, node: story.cluster.begin_truncate(node % len(story.cluster.replicas)),
    "end_truncate": lambda story, node: story.cluster.end_truncate(node % len(story.cluster.replicas)),
    "reopen": lambda story: story.reopen(),
    "lose": lambda story: story.lose(),
    "age": lambda story: story.age(),
    "settle": lambda story: story.settle(),
    "serve": lambda story: story.serve(),
    "answer": lambda story: story.answer(),
    "drop": _drop,
    "again": _again,
}
