"""A target that cannot be reached because this process may open no more files is not away."""

from __future__ import annotations

import pytest

from tailer.errors import OwnLimitError
from tailer.sinks.outlet import TargetAwayError
from tailer.tail.patience import Patience
from tests.helpers.few_files import few_files

AWAY = TargetAwayError("the schema registry does not answer")


def test_it_is_told_as_what_it_is() -> None:
    """Whatever library could not open its connection, and whatever that says."""
    said: list[str] = []
    patience = Patience(60, said.append, sleep=lambda seconds: None)
    with few_files(0), pytest.raises(OwnLimitError, match="Too many open files") as told:
        patience.wait(AWAY)
    assert "LimitNOFILE" in told.value.sentence()
    assert said == []
    assert told.value.__cause__ is AWAY


def test_with_files_left_the_target_is_away() -> None:
    said: list[str] = []
    Patience(60, said.append, sleep=lambda seconds: None, clock=iter(range(1000)).__next__).wait(AWAY)
    assert "the schema registry does not answer" in said[0]
