"""A state folder that goes, or becomes another one, while a follower runs: it ends with exit 6 and writes nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tailer.errors import RefusedError
from tailer.options.tail import TailOptions
from tailer.state.log_folder import state_folder
from tests.helpers.cleaned_log import follow, log
from tests.helpers.tails import open_tail


def deleted(state: Path, other: Path) -> None:
    # Not deleted at all, or the next journal may have the same inode.
    state.rename(state.with_name("away"))


def another(state: Path, other: Path) -> None:
    """Of another log, with more in it: nothing but its id tells."""
    deleted(state, other)
    state.mkdir()
    shutil.copy(state_folder(other) / "journal", state / "journal")


@pytest.mark.parametrize(("happens", "told"), [(deleted, "deleted or replaced"), (another, "of another state folder")])
@pytest.mark.parametrize("consumer", ["d", None])
def test_a_follower_ends_with_the_next_step(
    tmp_path: Path, happens: Callable[[Path, Path], None], told: str, consumer: str | None
) -> None:
    (tmp_path / "other").mkdir()
    folder, other = log(tmp_path).path, log(tmp_path / "other").path
    follow(other)
    state = state_folder(folder)
    with open_tail(folder, TailOptions(consumer=consumer, settle_seconds=0.0)) as tail:
        tail.advance(tail.step(1))
        tail.save()
        happens(state, other)
        before = sorted(state.rglob("*"))
        with pytest.raises(RefusedError, match=told):
            tail.step(1)
        assert sorted(state.rglob("*")) == before
