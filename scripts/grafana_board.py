#!/usr/bin/env python3
"""Writes contrib/monitoring/grafana-board.json, the board as Grafana imports it, from the panels that are named here.

python scripts/grafana_board.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, NamedTuple

BOARD: Final = Path(__file__).parents[1] / "contrib" / "monitoring" / "grafana-board.json"

_RUN: Final = '{consumer=~"$consumer", node=~"$node"}'
_LOG: Final = '{log=~"$log"}'
_WIDTH, _HEIGHT, _COLUMNS = 8, 7, 24
_SOURCE: Final = {"type": "prometheus", "uid": "${source}"}


class Panel(NamedTuple):
    """One panel. `queries`: an expression and the text of its legend, each."""

    title: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    kind: str = "timeseries"


def rate(name: str, labels: str) -> str:
    """How fast a counter grows, over what Grafana finds right."""
    return f"rate({name}{labels}[$__rate_interval])"


def quantiles(name: str, labels: str, by: str) -> tuple[tuple[str, str], ...]:
    """Median and 99th percentile of a histogram."""
    legend = " ".join(f"{{{{{each}}}}}" for each in by.split(", "))
    return tuple(
        (f"histogram_quantile({of}, sum by (le, {by}) ({rate(f'{name}_bucket', labels)}))", f"{text} {legend}")
        for of, text in ((0.5, "p50"), (0.99, "p99"))
    )


_ROW_RATE: Final = rate("cdc_tail_rows_total", _RUN)
_RUN_BY, _EACH = "consumer, node", "{{consumer}} {{node}}"

ROWS: Final[tuple[tuple[str, tuple[Panel, ...]], ...]] = (
    ("Consumers", (
        Panel("Behind, by time", "s", ((f"cdc_tail_lag_seconds{_RUN}", _EACH),)),
        Panel("Behind, by bytes", "bytes", ((f"cdc_tail_lag_bytes{_RUN}", _EACH),)),
        Panel("Standing still", "s", ((f"cdc_tail_stalled_seconds{_RUN}", _EACH),)),
        Panel("From durable to read", "s", quantiles("cdc_tail_durable_to_read_seconds", _RUN, _RUN_BY)),
        Panel("From read to delivered", "s", quantiles("cdc_tail_read_to_delivered_seconds", _RUN, _RUN_BY)),
        Panel("Segments behind", "short", ((f"cdc_tail_lag_segments{_RUN}", _EACH),)),
        Panel("Rows delivered", "rowsps", ((rate("cdc_tail_delivered_rows_total", _RUN), _EACH),)),
        Panel("Rows by table", "rowsps", ((
            f"sum by (keyspace, table) ({_ROW_RATE})", "{{keyspace}}.{{table}}"),)),
        Panel("Rows by operation", "rowsps", (
            (f"sum by (op) ({_ROW_RATE})", "{{op}}"),)),
        Panel("Ready", "short", ((f"cdc_tail_ready{_RUN}", _EACH),), "stat"),
        Panel("Given up", "short", (
            (f"cdc_tail_losses_total{_RUN}", f"losses {_EACH}"),
            (f"cdc_tail_quarantined_entries_total{_RUN}", f"entries in quarantine {_EACH}"),
            (f"cdc_tail_refused_rows_total{_RUN}", f"refused rows {_EACH}"))),
        Panel("Target away, and tries at it", "s", (
            (f"cdc_tail_target_away_seconds{_RUN}", f"away {_EACH}"),
            (rate("cdc_tail_target_retries_total", _RUN), f"tries a second {_EACH}"))),
        Panel("Positions saved", "ops", ((rate("cdc_tail_commits_total", _RUN), _EACH),)),
        Panel("Since the loop turned", "s", (
            (f"cdc_tail_loop_age_seconds{_RUN}", _EACH), (f"cdc_tail_held_back{_RUN}", f"held back {_EACH}"))),
    )),
    ("Log folder and process", (
        Panel("Of the cap", "percentunit", (
            ('cdc_tail_folder_bytes{node=~"$node"} / cdc_tail_folder_cap_bytes{node=~"$node"}', "{{node}}"),)),
        Panel("Segments", "short", (
            ('cdc_tail_folder_segments{node=~"$node"}', "{{node}}"),
            ('cdc_tail_folder_readable{node=~"$node"}', "readable {{node}}"))),
        Panel("Processor", "percentunit", (
            ('rate(process_cpu_seconds_total{job="cdc-tail"}[$__rate_interval])', "{{instance}}"),)),
        Panel("Memory", "bytes", (('process_resident_memory_bytes{job="cdc-tail"}', "{{instance}}"),)),
    )),
    ("Spark queries", (
        Panel("Rows", "rowsps", (
            ('rate(cdc_tail_stream_rows_total{consumer=~"$consumer"}[$__rate_interval])', "{{consumer}}"),)),
        Panel("A micro-batch", "s", quantiles(
            "cdc_tail_stream_batch_seconds", '{consumer=~"$consumer"}', "consumer")),
    )),
    ("Logs of services", (
        Panel("An fsync", "s", quantiles("cdc_tail_writer_sync_seconds", _LOG, "log")),
        Panel("Fsyncs", "ops", ((rate("cdc_tail_writer_sync_seconds_count", _LOG), "{{log}}"),)),
        Panel("Entries appended", "ops", ((rate("cdc_tail_writer_entries_total", _LOG), "{{log}}"),)),
        Panel("Bytes appended", "Bps", ((rate("cdc_tail_writer_bytes_total", _LOG), "{{log}}"),)),
        Panel("Not durable yet", "bytes", ((f"cdc_tail_writer_unsynced_bytes{_LOG}", "{{log}}"),)),
        Panel("Segments begun", "ops", ((rate("cdc_tail_writer_segments_total", _LOG), "{{log}}"),)),
        Panel("Of the cap", "percentunit", (
            (f"cdc_tail_writer_used_bytes{_LOG} / cdc_tail_writer_cap_bytes{_LOG}", "{{log}}"),)),
        Panel("Open transactions", "short", ((f"cdc_tail_writer_open_transactions{_LOG}", "{{log}}"),)),
        Panel("Trouble", "short", (
            (f"cdc_tail_writer_dead{_LOG}", "dead {{log}}"), (f"cdc_tail_writer_trouble{_LOG}", "trouble {{log}}"),
            (f"cdc_tail_writer_hook_failures_total{_LOG}", "hooks that raised {{log}}"))),
        Panel("Dropped at the cap, up to segment", "none", (
            (f"cdc_tail_writer_dropped_segment{_LOG}", "{{log}}"),), "stat"),
    )),
    ("Subscribers in a service", (
        Panel("From memory", "short", ((f"cdc_tail_subscription_from_buffer{_LOG}", "{{log}} {{consumer}}"),)),
        Panel("Switches", "short", ((f"cdc_tail_subscription_switches_total{_LOG}", "{{log}} {{consumer}}"),)),
        Panel("Rows", "rowsps", (
            (rate("cdc_tail_subscription_rows_total", _LOG), "{{log}} {{consumer}}"),)),
        Panel("Bytes behind", "bytes", ((f"cdc_tail_subscription_lag_bytes{_LOG}", "{{log}} {{consumer}}"),)),
        Panel("Segments behind", "short", ((f"cdc_tail_subscription_lag_segments{_LOG}", "{{log}} {{consumer}}"),)),
        Panel("From the fsync to the hand-over", "s", (
            (f"cdc_tail_subscription_handover_seconds{_LOG}", "{{log}} {{consumer}}"),)),
    )),
)  # fmt: skip
"""The board: headings, and the panels below each."""


def board() -> dict[str, Any]:
    """As Grafana imports it: it asks which Prometheus, and for consumers, nodes and logs."""
    panels: list[dict[str, Any]] = []
    top = 0
    for heading, below in ROWS:
        panels.append(
            _placed(
                len(panels), {"type": "row", "title": heading, "collapsed": False, "panels": []}, 0, top, _COLUMNS, 1
            )
        )
        top += 1
        for number, panel in enumerate(below):
            row, column = divmod(number * _WIDTH, _COLUMNS)
            panels.append(_placed(len(panels), _shown(panel), column, top + row * _HEIGHT, _WIDTH, _HEIGHT))
        top += -(-len(below) * _WIDTH // _COLUMNS) * _HEIGHT
    chosen = {"consumer": "cdc_tail_ready", "node": "cdc_tail_ready", "log": "cdc_tail_writer_dead"}
    variables = [{"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}]
    return {
        "title": "cdc-tail",
        "uid": "cdc-tail",
        "tags": ["cdc-tail"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "refresh": "15s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [*variables, *(_variable(name, metric) for name, metric in chosen.items())]},
        "panels": panels,
    }  # fmt: skip


def _placed(number: int, panel: dict[str, Any], x: int, y: int, width: int, height: int) -> dict[str, Any]:
    return {"id": number + 1, **panel, "gridPos": {"x": x, "y": y, "w": width, "h": height}}


def _shown(panel: Panel) -> dict[str, Any]:
    targets = [
        {"refId": chr(ord("A") + number), "datasource": _SOURCE, "expr": expression, "legendFormat": legend}
        for number, (expression, legend) in enumerate(panel.queries)
    ]
    fields = {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []}
    return {"type": panel.kind, "title": panel.title, "datasource": _SOURCE, "fieldConfig": fields, "targets": targets}


def _variable(name: str, metric: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": "query",
        "datasource": _SOURCE,
        "query": f"label_values({metric}, {name})",
        "refresh": 2,
        "includeAll": True,
        "allValue": ".*",
        "multi": True,
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def text() -> str:
    return json.dumps(board(), indent=2) + "\n"


if __name__ == "__main__":
    BOARD.write_text(text(), "utf-8")
