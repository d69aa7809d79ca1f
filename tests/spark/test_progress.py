"""What a running query tells of its way: figures out of Spark's progress, and when they are said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tailer.cli.stream_progress import ProgressLine, line, size
from tailer.spark.progress import Figures, ProgressReader
from tailer.spark.session import settings


def progress(batch: int, rows: int, reported: object) -> dict[str, Any]:
    """As Spark writes it."""
    source = {"startOffset": {}, "endOffset": {}, "latestOffset": reported, "numInputRows": rows}
    return {"batchId": batch, "numInputRows": rows, "durationMs": {"triggerExecution": 40 + batch}, "sources": [source]}


def reported(*nodes: int) -> dict[str, Any]:
    return {
        "v": 1,
        "t": 0,
        "nodes": {},
        "backlog": {f"n{at}": {"bytes": size, "segments": 1} for at, size in enumerate(nodes)},
        "givenUp": {f"n{at}": {"losses": 1, "quarantined": 2} for at, _ in enumerate(nodes)},
    }


class Java:
    """A query of the JVM: its last few progresses."""

    def __init__(self) -> None:
        self.recent: list[Any] = []
        self._jsq = self

    def recentProgress(self) -> list[Any]:
        return self.recent

    def add(self, **fields: Any) -> None:
        self.recent = [*self.recent[-2:], Progress(progress(**fields))]


class Progress:
    def __init__(self, held: dict[str, Any]) -> None:
        self._held = held

    def batchId(self) -> int:
        return int(self._held["batchId"])

    def json(self) -> str:
        return json.dumps(self._held)


@pytest.mark.parametrize("form", [lambda told: told, json.dumps], ids=["object", "text"])
def test_every_micro_batch_counts_once(form: Any) -> None:
    query: Any = Java()
    reader = ProgressReader(query)
    assert reader.read() == Figures()
    query.add(batch=0, rows=10, reported=form(reported(5000)))
    query.add(batch=1, rows=7, reported=form(reported(3000, 24)))
    assert reader.read() == Figures(17, 2, 41, 3024, 2, 2, 4)
    assert reader.read() == Figures(17, 2, 41, 3024, 2, 2, 4)
    query.add(batch=2, rows=0, reported=form(None))
    assert (reader.read().rows, reader.read().batches) == (17, 3)


def test_the_backlog_of_older_versions_is_not_known() -> None:
    query: Any = Java()
    query.add(batch=0, rows=1234, reported="null")
    assert line(ProgressReader(query).read()) == "1,234 rows in 1 micro-batch, the last took 40 ms"


def test_what_was_given_up_is_named() -> None:
    text = line(Figures(5, 1, 9, 3 * 1024 * 1024 // 2, 2, 1, 3), 12.4)
    assert text == (
        "5 rows in 1 micro-batch, 12 rows/s, the last took 9 ms, backlog 1.5 MiB in 2 segments, losses accepted: 1, "
        "entries in quarantine: 3"
    )


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0 KiB"), (5 << 20, "5.0 MiB"), (3 << 30, "3.0 GiB")],
)
def test_sizes_are_for_people(number: int, text: str) -> None:
    assert size(number) == text


def test_a_line_comes_when_it_is_time_and_something_happened() -> None:
    now, told = [0.0], list[str]()
    figures = Figures()
    shown = ProgressLine(told.append, 60, lambda: now[0])
    for second in range(200):
        now[0] = second
        figures.rows, figures.batches = min(second, 100) * 10, min(second, 100)
        shown.watch(lambda: figures)
    assert len(told) == 2
    assert told[0].startswith("600 rows in 60 micro-batches, 10 rows/s")
    assert told[1].startswith("1,000 rows in 100 micro-batches, 0 rows/s")
    shown.end()
    assert len(told) == 3


def test_no_line_where_none_is_wanted() -> None:
    shown = ProgressLine(lambda text: pytest.fail(text), 0, lambda: 1000.0)
    shown.watch(lambda: pytest.fail("asked"))
    shown.end()


@pytest.mark.oldest
def test_settings_fit_the_version() -> None:
    assert "spark.python.unix.domain.socket.enabled" not in settings((4, 0))
    assert settings((4, 1))["spark.python.unix.domain.socket.enabled"] == "true"
