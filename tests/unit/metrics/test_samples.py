"""What durations and rows are summed up to, and how they are told to each monitoring system."""

from __future__ import annotations

from typing import Any

import pytest

from tailer.metrics import declared as m
from tailer.metrics.samples import BOUNDS, Durations, Sample, TableRows

LABELS = ("billing", "n1")


def counted(*seconds: float) -> Durations:
    made = Durations()
    for each in seconds:
        made.add(each)
    return made


def test_a_duration_counts_in_the_lowest_bucket_that_has_it() -> None:
    found = counted(0.0001, 0.00011, 3600.0, 3601.0, -5.0).counted()
    by_bound = dict(zip((*BOUNDS, None), found.counts, strict=True))
    assert (by_bound[0.0001], by_bound[0.00025], by_bound[3600.0], by_bound[None]) == (2, 1, 1, 1)
    assert found.upto[-1] == 5
    assert found.total == pytest.approx(7201.00021)


def test_one_duration_of_many_rows_is_that_of_each() -> None:
    made = Durations()
    made.add(0.002, 1000)
    assert made.counted().upto[-1] == 1000
    assert made.counted().total == pytest.approx(2.0)


def test_tables_beyond_the_cap_are_one() -> None:
    rows = TableRows(tables_max=2)
    rows.add({("ks", "a", "insert"): 1, ("ks", "b", "insert"): 2, ("ks", "c", "insert"): 4})
    rows.add({("ks", "d", "update"): 8, ("ks", "a", "update"): 16, ("ks", "c", "insert"): 32})
    assert rows.counted() == {
        ("ks", "a", "insert"): 1,
        ("ks", "b", "insert"): 2,
        ("other", "other", "insert"): 36,
        ("other", "other", "update"): 8,
        ("ks", "a", "update"): 16,
    }


def test_names_are_prometheus_own() -> None:
    assert len({metric.name for metric in m.TABLE}) == len(m.TABLE)
    for metric in m.TABLE:
        assert metric.name.startswith("cdc_tail_")
        assert metric.name.endswith("_total") == (metric.kind == "counter")
        assert not metric.help.endswith(".")


def test_openmetrics_and_text_have_the_same() -> None:
    exposition = pytest.importorskip("tailer.metrics.prometheus").Exposition
    samples = [
        Sample(m.LAG_BYTES, LABELS, 5),
        Sample(m.COMMITS, LABELS, 3),
        Sample(m.TO_READ, LABELS, counted(0.002, 0.2).counted()),
        Sample(m.LAG_BYTES, ("billing", "n2"), 7),
    ]
    page = exposition([lambda: samples]).page("")
    text = page.body.decode()
    assert page.type.startswith("text/plain")
    for line in (
        'cdc_tail_lag_bytes{consumer="billing",node="n1"} 5.0',
        'cdc_tail_lag_bytes{consumer="billing",node="n2"} 7.0',
        'cdc_tail_commits_total{consumer="billing",node="n1"} 3.0',
        'cdc_tail_durable_to_read_seconds_bucket{consumer="billing",le="0.0025",node="n1"} 1.0',
        'cdc_tail_durable_to_read_seconds_bucket{consumer="billing",le="+Inf",node="n1"} 2.0',
        'cdc_tail_durable_to_read_seconds_sum{consumer="billing",node="n1"} 0.202',
    ):
        assert line in text.splitlines()
    assert text.count("# TYPE cdc_tail_lag_bytes gauge") == 1
    other = exposition([lambda: samples]).page("application/openmetrics-text; version=1.0.0")
    assert other.type.startswith("application/openmetrics-text")
    assert b'cdc_tail_commits_total{consumer="billing",node="n1"} 3.0' in other.body
    assert other.body.endswith(b"# EOF\n")


def test_registries_of_a_program_have_each_metric_once_and_lose_it() -> None:
    prometheus: Any = pytest.importorskip("tailer.metrics.prometheus")
    registry = prometheus.CollectorRegistry(auto_describe=True)
    leaves = [
        prometheus.join(registry, [lambda path=path: [Sample(m.UNSYNCED, (path,), 1)]])
        for path in ("/data/a", "/data/b")
    ]
    text = prometheus.choose_encoder("")[0](registry).decode()
    assert text.count("# TYPE cdc_tail_writer_unsynced_bytes gauge") == 1
    assert text.count("cdc_tail_writer_unsynced_bytes{") == 2
    leaves[0]()
    assert 'log="/data/a"' not in prometheus.choose_encoder("")[0](registry).decode()
    leaves[1]()
    assert prometheus.choose_encoder("")[0](registry) == b""
