"""Images for who asks for one batch after the other: what was left out is reported however that ends."""

from __future__ import annotations

from collections import Counter, deque
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tailer.options.images import ImageOptions
from tailer.options.tail import TailOptions
from tailer.tail.images import batches


@pytest.mark.parametrize("asked", [1, 2])
def test_what_was_left_out_is_reported_where_nobody_asks_for_more(monkeypatch: pytest.MonkeyPatch, asked: int) -> None:
    given: list[Any] = [SimpleNamespace(images=(), number=number) for number in (1, 2)]
    form = SimpleNamespace(left_out=Counter[str]())

    def rows(images: object, *, before: bool) -> Any:
        form.left_out["w"] += 1
        return _Rows()

    form.rows = rows
    stream = SimpleNamespace(taken=lambda number: None)
    run = SimpleNamespace(tail=TailOptions(), stream=stream, timers=None, images=SimpleNamespace(before=False))
    monkeypatch.setattr(batches, "image_run", lambda *args, **options: nullcontext(run))
    monkeypatch.setattr(batches, "node_log", lambda *args: None)
    monkeypatch.setattr(batches, "open_tail", lambda *args: nullcontext(None))
    monkeypatch.setattr(batches, "typed_images", lambda *args: form)
    monkeypatch.setattr(batches, "ImageFeed", lambda *args, **options: None)
    monkeypatch.setattr(batches, "deque", lambda: deque(given))
    monkeypatch.setattr(batches, "deliveries", lambda *args, **options: iter(()))
    said: list[str] = []
    found = batches.image_batches(
        Path("cdc_raw"), TailOptions(table="ks.t"), ImageOptions("both"), once=True, say=said.append
    )
    for _ in range(asked + 1):
        next(found, None)
    found.close()  # type: ignore[attr-defined]
    assert said == [f'warning: {number} values of column "w" were left out' for number in (1, 2)]


class _Rows:
    def __len__(self) -> int:
        return 1

    def to_arrow(self) -> object:
        return self
