"""What executors leave out: at once, once a minute, and in all, though nothing tells a worker that it is done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from tailer.reading.counted_notices import CountedNotices
from tailer.reading.reader import Reader
from tailer.spark.task_notices import TaskNotices


class Worker:
    """One with a clock of its own."""

    def __init__(self) -> None:
        self.now = 0.0
        self.said: list[str] = []
        self.waits: list[tuple[float, Callable[[], None]]] = []
        notices = CountedNotices(lambda: self.now)
        self.notices = TaskNotices(notices, self.said.append, lambda seconds, then: self.waits.append((seconds, then)))

    def task(self, number: int, at: float, *, last: bool = False) -> None:
        self.now, reader = at, Reader()
        reader.left_out = Counter({"w": number})
        reader.replaced = Counter({("ks.t", "v"): number})
        self.notices.report(reader, last=last)

    def numbers(self) -> list[str]:
        said, self.said[:] = list(self.said), []
        return [word for line in said for word in line.split() if word.isdigit()]


def test_what_the_last_minute_left_out_is_reported_when_no_task_comes_any_more() -> None:
    worker = Worker()
    worker.task(2, 0.0)
    assert worker.numbers() == ["2", "2"]
    for second in range(1, 11):
        worker.task(1, float(second))
    assert worker.numbers() == [], "no line for each task"
    ((seconds, due),) = worker.waits
    assert seconds == 59.0
    worker.now = 60.0
    due()
    assert worker.numbers() == ["12", "12"]
    assert len(worker.waits) == 1, "nothing is left to be reported"


def test_a_task_that_may_be_the_last_one_reports_at_its_end() -> None:
    worker = Worker()
    worker.task(2, 0.0, last=True)
    worker.task(1, 1.0, last=True)
    assert worker.numbers() == ["2", "2", "3", "3"]
    assert worker.waits == []


def test_what_is_due_with_a_later_task_is_waited_for_no_more() -> None:
    worker = Worker()
    worker.task(1, 0.0)
    worker.task(1, 30.0)
    worker.task(1, 60.0)
    assert worker.numbers() == ["1", "1", "3", "3"]
    worker.task(1, 61.0)
    (_, due), *_ = worker.waits
    worker.now = 61.0
    due()
    assert worker.numbers() == []
    assert [seconds for seconds, _ in worker.waits] == [30.0, 59.0]
