"""When a run lives and is ready, by what its parts say; and its pages."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Sequence

import pytest

from tailer.metrics import declared as m
from tailer.metrics.health import STUCK_SECONDS, all_stuck, any_unready, not_turned
from tailer.metrics.monitor import Monitor
from tailer.metrics.samples import Sample
from tailer.options.listen import Listen

pytest.importorskip("prometheus_client")


class Part:
    """A node, say, of which the test says how it is."""

    def __init__(self, stuck: Sequence[str] = (), unready: Sequence[str] = ()) -> None:
        self.stuck_for, self.unready_for = stuck, unready

    def stuck(self) -> Sequence[str]:
        return self.stuck_for

    def unready(self) -> Sequence[str]:
        return self.unready_for

    def samples(self) -> list[Sample]:
        return [Sample(m.READY, ("c", "n"), not self.unready_for)]


def test_one_that_moves_keeps_the_run_alive() -> None:
    assert all_stuck([]) == []
    assert all_stuck([Part(["a"]), Part()]) == []
    assert all_stuck([Part(["a"]), Part(["b", "c"])]) == ["a", "b", "c"]


def test_each_must_be_ready() -> None:
    assert any_unready([]) == []
    assert any_unready([Part(unready=["a"]), Part()]) == ["a"]


def test_a_while_is_no_end() -> None:
    assert not_turned("it", STUCK_SECONDS) == []
    assert not_turned("it", STUCK_SECONDS + 1) == ["it has not moved for 121 s"]


def get(address: Listen | None, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_pages_say_what_parts_say() -> None:
    told: list[str] = []
    with Monitor(Listen("127.0.0.1", 0), {}, told.append) as monitor:
        assert told == [f"metrics at http://{monitor.address}/metrics"]
        part = Part()
        monitor.add(part)
        assert get(monitor.address, "/healthz") == get(monitor.address, "/readyz") == (200, "ok\n")
        part.unready_for = ["the target is away", "the loop has not moved"]
        assert get(monitor.address, "/readyz") == (503, "the target is away\nthe loop has not moved\n")
        assert get(monitor.address, "/healthz")[0] == 200
        assert 'cdc_tail_ready{consumer="c",node="n"} 0.0' in get(monitor.address, "/metrics")[1]
        part.stuck_for = ["the loop has not moved"]
        assert get(monitor.address, "/healthz") == (503, "the loop has not moved\n")
