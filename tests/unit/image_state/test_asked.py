"""What one process asks of another that has the state, by files beside it."""

from __future__ import annotations

from pathlib import Path

from tailer.image_state import asked
from tailer.image_state.asked import Reply


def test_it_is_taken_once_and_answered(tmp_path: Path) -> None:
    assert asked.take(tmp_path) is None
    request = asked.ask(tmp_path, ("ks.t", "ks.u*"))
    assert asked.is_open(tmp_path)
    assert asked.replied(tmp_path, request) is None
    assert asked.take(tmp_path) == request
    assert asked.take(tmp_path) is None
    given = Reply(request.id, ("0" * 32,))
    asked.reply(tmp_path, given)
    assert asked.replied(tmp_path, request) == given


def test_an_answer_to_somebody_else_is_none(tmp_path: Path) -> None:
    first = asked.ask(tmp_path, ())
    asked.reply(tmp_path, Reply(first.id, reason="no"))
    second = asked.ask(tmp_path, ("ks.t",))
    assert asked.replied(tmp_path, second) is None
    asked.withdraw(tmp_path)
    asked.withdraw(tmp_path)
    assert not asked.is_open(tmp_path)
    assert asked.take(tmp_path) is None
