"""The tables of docs/performance.md: made of the kept results, by hand here, and the page shows what is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from scripts import performance_plot
from tests.benchmarks import table, targets
from tests.benchmarks.goals import GOALS, Goal, at, line, times

MADE = {"at": "2026-01-02T03:04:05", "commit": "abc", "python": "3.11", "repeat": 3, "load_after": [2.0]}
MACHINE = {"cores": 2, "cpu": "Some Processor", "load": [1.0]}


def result(**more: Any) -> dict[str, Any]:
    return {**MADE, "machine": MACHINE, **more}


def goal(**more: Any) -> Goal:
    made = Goal("Subject", "what", "rows/s", "some", line("rows", "rows/s"), at_least=100)
    return made._replace(**more)


def figures(median: float) -> Mapping[str, Any]:
    return result(figures=[{"what": "rows", "unit": "rows/s", "median": median, "best": median + 1}])


def test_a_figure_is_found_where_the_goal_says() -> None:
    some = result(figures=[{"what": "a", "unit": "ms", "median": 3, "best": 2}], medians={"plain": {"p50": 1.5}})
    assert line("a", "ms")(some) == 3
    assert line("a", "ms", "best")(some) == 2
    assert at("medians", "plain", "p50")(some) == 1.5
    assert times("a", "b")(result(seconds={"a": {"median": 3.0}, "b": {"median": 2.0}})) == 1.5
    for take in (line("a", "s"), line("b", "ms"), at("medians", "other")):
        with pytest.raises(LookupError):
            take(some)


@pytest.mark.parametrize(
    ("results", "row"),
    [
        ({"some": figures(100)}, "| what, rows/s | 100 | ≥ 100 | met |"),
        ({"some": figures(99)}, "| what, rows/s | 99 | ≥ 100 | **missed**: too slow |"),
        ({"some": result(figures=[])}, "| what, rows/s | not measured | ≥ 100 |  |"),
        ({}, "| what, rows/s | not measured | ≥ 100 |  |"),
    ],
)
def test_a_goal_is_met_missed_with_its_cause_or_not_measured(results: Mapping[str, Any], row: str) -> None:
    found = targets.find(results, [goal(cause="too slow")])
    assert targets.table(found).splitlines()[2:] == ["| **Subject** | | | |", row]


def test_at_most_is_a_goal_too() -> None:
    goals = [goal(at_least=None, at_most=most) for most in (4.9, 5.0)]
    assert [each.met for each in targets.find({"some": figures(5)}, goals)] == [False, True]


def test_what_is_missing_is_told_with_what_makes_it() -> None:
    goals = [goal(), goal(result="other"), goal(result="other")]
    one, two = targets.missing(targets.find({"some": result(figures=[])}, goals))
    assert one.startswith("1 not measured: results/some.json is of an earlier form: no figure 'rows' in rows/s;")
    assert two.startswith("2 not measured: there is no results/other.json; `python -m tests.benchmarks.other ")


def test_every_goal_is_one_bound_and_said_once() -> None:
    for each in GOALS:
        assert (each.at_least is None) != (each.at_most is None), each.what
    assert len({(each.what, each.unit) for each in GOALS}) == len(GOALS)


def test_how_cost_grows() -> None:
    cost = dict.fromkeys(targets.COLUMNS, 2.0) | {"state_bytes": 4000}
    runs = {case: {"sizes": [10, 1000], "few": cost, "many": {**cost, "row_ms": 3.0}} for case in targets.CASES}
    lines = [
        {"what": "gaps: row_ms", "few": 2.0, "many": 3.0, "met": False},
        {"what": "tables: row_ms", "few": 2.0, "many": 3.0, "met": True},
    ]
    made = targets.growth(result(runs=runs, figures=lines)).splitlines()
    assert made[0].startswith("2026-01-02, commit abc, 2 × Some Processor, Python 3.11, load average 1.0 before")
    assert "| 10 gaps | 2 | 2 | 2 | 2 | 2 | 4 |" in made
    assert "| 1,000 gaps | 2 | 3 | 2 | 2 | 2 | 4 |" in made
    assert made[-1] == "Missed, with little and with much of it: a row, ms, gaps: 2 and 3."


def test_what_is_lost() -> None:
    lost = {"insert": {"changes": 0, "behind": 0}, "counter": {"changes": 9, "behind": 3}}
    none = {kind: {"changes": 0, "behind": 0} for kind in lost}
    kinds = {"follow": {"lost": none, "alike": []}, "debezium": {"lost": lost, "alike": ["set add and set remove"]}}
    made = targets.losses(result(losses={"written": 9, "kinds": kinds})).splitlines()
    assert made[2] == "| lost of 9 | `cdc-tail` | rows behind | Debezium | rows behind |"
    assert made[4:6] == ["| insert | 0 | 0 | 0 | 0 |", "| counter | 0 | 0 | 9 | 3 |"]
    assert made[-1] == "Debezium shows no difference between set add and set remove."


def test_a_page_without_the_place_is_refused() -> None:
    with pytest.raises(LookupError, match="no place for targets"):
        targets.page("a page", {})


def test_the_page_shows_what_is_kept() -> None:
    results = table.kept()
    text = table.PAGE.read_text("utf-8")
    told = "run `python -m tests.benchmarks.table --fill` and `python -m tests.benchmarks.targets --fill`"
    assert targets.page(text, results) == text, told
    assert table.filled(text, "measured", table.table(results)) == text, told


def test_the_picture_shows_what_is_kept() -> None:
    assert performance_plot.main(["--check"]) == 0


def test_the_picture_is_drawn(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="the picture is drawn with matplotlib, which is not installed")
    out = tmp_path / "performance.svg"
    monkeypatch.setattr(performance_plot, "PICTURE", out)
    monkeypatch.setattr(performance_plot, "ROOT", tmp_path)
    assert performance_plot.main(["--check"]) == 1
    assert performance_plot.main([]) == 0
    assert performance_plot.main(["--check"]) == 0
    assert out.read_text("utf-8").startswith("<?xml")
