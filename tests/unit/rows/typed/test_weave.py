"""Two arrays put together by runs, and texts chosen from few, as numpy and Arrow do it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.jit.addresses import address_of
from tests.unit.scan.compiled.twins import compiled_only

weave = pytest.importorskip("tailer.rows.typed.compiled.weave", exc_type=ImportError)
chosen = pytest.importorskip("tailer.rows.typed.chosen", exc_type=ImportError)

pytestmark = compiled_only

runs = st.lists(st.tuples(st.integers(0, 90), st.integers(0, 3)), min_size=1, max_size=9)


def entries(lengths: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the first and of the second in turns, a run of each after another; the second has one at least."""
    turns = np.repeat(np.arange(2 * len(lengths) + 1) % 2, [*(length for pair in lengths for length in pair), 1])
    turns[-1] = 1
    return np.flatnonzero(turns == 0).astype(np.int64), np.flatnonzero(turns).astype(np.int64)


def places_before(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    before = np.empty(len(second), np.int64)
    weave.put_before(address_of(first), len(first), address_of(second), len(second), address_of(before))
    assert before.tolist() == np.searchsorted(first, second).tolist()
    return before


@given(runs, st.integers(0, 2**32))
def test_arrays(lengths: list[tuple[int, int]], seed: int) -> None:
    numbers = np.random.default_rng(seed)
    first, second = entries(lengths)
    before, rows = places_before(first, second), len(first) + len(second)
    lines, kept = [], []
    for type_ in (np.uint8, np.int32, np.int64):
        ours, theirs = (numbers.integers(0, 100, len(each)).astype(type_) for each in (first, second))
        made, want = np.empty(rows, type_), np.empty(rows, type_)
        want[first], want[second] = ours, theirs
        lines.append((address_of(ours), address_of(theirs), ours.itemsize, address_of(made)))
        kept.append((ours, theirs, made, want))
    work = np.array(lines, np.int64)
    weave.weave(address_of(work), len(work), len(first), len(second), address_of(before))
    for _, _, made, want in kept:
        assert made.tolist() == want.tolist()


@given(runs, st.integers(0, 5), st.integers(0, 2**32))
def test_lists(lengths: list[tuple[int, int]], width: int, seed: int) -> None:
    numbers = np.random.default_rng(seed)
    first, second = entries(lengths)
    before = places_before(first, second)
    alike = np.arange(width, dtype=np.int32)
    sizes = numbers.integers(0, 6, len(second))
    sets = numbers.integers(0, 100, int(sizes.sum())).astype(np.int32)
    ends = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
    to_sets, to_ends = (
        np.empty(width * len(first) + len(sets), np.int32),
        np.empty(len(first) + len(second) + 1, np.int32),
    )
    theirs = address_of(sets), address_of(ends), len(second), address_of(before)
    weave.weave_sets(address_of(alike), width, len(first), *theirs, address_of(to_sets), address_of(to_ends))
    of_second = dict(zip(second.tolist(), np.split(sets, ends[1:-1]), strict=True))
    want = [of_second.get(number, alike).tolist() for number in range(len(first) + len(second))]
    assert [part.tolist() for part in np.split(to_sets, to_ends[1:-1])] == want


@given(st.lists(st.text(max_size=20), min_size=1, max_size=9, unique=True), st.data())
def test_chosen_texts(texts: list[str], data: st.DataObject) -> None:
    choice = data.draw(st.lists(st.integers(0, len(texts) - 1), max_size=40))
    made = chosen.chosen_texts("_op", tuple(texts), np.array(choice, np.int32))
    made.validate(full=True)
    assert made.equals(pa.array([texts[number] for number in choice], pa.string()))
