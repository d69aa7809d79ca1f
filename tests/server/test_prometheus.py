"""What Prometheus is shown, held to a real one: names, alert rules, the board's queries, a consumer that stands still.

Followed is a log that the test writes, in a process of its own; a service's log and a query's figures are in this one.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scripts.grafana_board import BOARD, text
from tailer.metrics.monitor import Monitor
from tailer.metrics.streaming import Stream
from tailer.options.listen import Listen
from tailer.segments.source import FolderSource
from tests.helpers.amount import ALL
from tests.helpers.cli import ROOT
from tests.helpers.jvm.program import free_ports, own_address
from tests.helpers.log_writer import create_payload, insert_payload, simple_table
from tests.helpers.logs.growing import GrowingLog
from tests.helpers.prometheus import Prometheus, available, promtool
from writer_hooks import SegmentLog, Table
from writer_hooks.cap import Cap

pytestmark = pytest.mark.slow

ALERTS = ROOT / "contrib" / "monitoring" / "alerts.yml"
FIRST = 1_700_000_000_001
TABLE = simple_table("shop", "orders")
STALLED = "cdc_tail_stalled_seconds > 15"
SOONER = "cdc_tail_stalled_seconds > 3"
FIRES_WITHIN = 30.0
FIRING_NOW = 'ALERTS{alertname="CdcTailStalled", alertstate="firing", consumer="billing", node="local"}'
MANY = 2_000
"""Rows that no pipe holds."""

PROGRESS = {
    "batchId": 0,
    "numInputRows": 7,
    "durationMs": {"triggerExecution": 120},
    "sources": [
        {"endOffset": {"v": 1, "t": 0, "nodes": {"n1": {"j": 0, "s": FIRST, "o": 40, "done": False, "p": []}}}}
    ],
}


class Order(msgspec.Struct):
    number: int


@pytest.fixture(scope="module", autouse=True)
def _prometheus_here() -> None:
    reason = available()
    if reason is not None:
        pytest.skip(f"no Prometheus: {reason}")


def await_(true: Callable[[], Any], seconds: float, what: str) -> float:
    """How long it took until something was so."""
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < seconds, what
        time.sleep(0.2)
    return time.monotonic() - began


class Followed:
    """`cdc-tail follow --metrics` over a log of the test's. Its rows are read by `read` alone."""

    def __init__(self, parent: Path) -> None:
        self.log = GrowingLog(parent, FIRST)
        self._number = 0
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-c", "from tailer.cli.app import run; run()", "follow", str(self.log.folder)),
                *("--consumer", "billing", "--output", "json", "--metrics", f"{own_address()}:0"),
            ],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self._process.stderr is not None
        found = re.search(rb"http://([^/]+)/metrics", self._process.stderr.readline())
        assert found is not None
        self.address = found[1].decode()
        self.write(create_payload(TABLE))

    def write(self, *payloads: bytes) -> None:
        self.log.section(payloads)
        self.log.publish()

    def rows(self, count: int) -> None:
        numbers = range(self._number, self._number + count)
        self._number += count
        self.write(*(insert_payload(TABLE, number, "a" * 100, number) for number in numbers))

    def read(self, count: int) -> None:
        assert self._process.stdout is not None
        for _ in range(count):
            assert self._process.stdout.readline()

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


def page(address: str, path: str = "/metrics") -> bytes:
    with urllib.request.urlopen(f"http://{address}{path}", timeout=10) as answer:
        found: bytes = answer.read()
    return found


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Followed]:
    made = Followed(tmp_path_factory.mktemp("followed"))
    yield made
    made.end()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service's log, which somebody subscribes to."""
    orders = Table.of(Order, "shop.orders", key=["number"])
    address = f"{own_address()}:{free_ports(own_address(), 1)[0]}"
    with (
        SegmentLog.open(tmp_path_factory.mktemp("service"), [orders], metrics=address, cap=Cap(1 << 30)) as log,
        log.subscribe(consumer="screen", tables=["shop.orders"]) as subscription,
    ):
        log.append(orders.insert(Order(1))).wait()
        assert subscription.take(10) is not None
        yield address


@pytest.fixture(scope="module")
def query(followed: Followed) -> Iterator[str]:
    """The address of a Spark query's figures, by progress as Spark writes it."""
    stream = Stream({"n1": FolderSource(followed.log.folder)}, "lake", 1 << 30)
    with Monitor(Listen(own_address(), 0), {}, lambda line: None) as monitor:
        monitor.add(stream)
        stream.turned()
        stream.take(PROGRESS)
        yield str(monitor.address)


@pytest.fixture(scope="module")
def prometheus(
    followed: Followed, service: str, query: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    rules = folder / "alerts.yml"
    said = ALERTS.read_text("utf-8")
    assert STALLED in said
    rules.write_text(said if ALL else said.replace(STALLED, SOONER))
    with Prometheus(folder, [followed.address, service, query], [rules], seconds=1) as made:
        yield made


def test_the_rules_are_rules() -> None:
    assert "SUCCESS: 12 rules found" in promtool("check", "rules", ALERTS)


def test_names_and_units_are_as_prometheus_wants_them(followed: Followed, service: str, query: str) -> None:
    for address in (followed.address, service, query):
        assert promtool("check", "metrics", given=page(address)) == ""


def test_a_consumer_that_stands_still_fires_its_alert(followed: Followed, prometheus: Prometheus) -> None:
    followed.rows(10)
    followed.read(10)
    await_(lambda: prometheus.query("cdc_tail_delivered_rows_total == 10"), 20, "the rows are scraped")
    assert page(followed.address, "/readyz") == b"ok\n"
    assert not prometheus.query(FIRING_NOW)
    followed.rows(MANY)
    await_(lambda: prometheus.query(FIRING_NOW), FIRES_WITHIN, "the alert fires")
    assert prometheus.query(FIRING_NOW)[0]["metric"]["severity"] == "critical"
    assert prometheus.query('cdc_tail_lag_bytes{consumer="billing"} > 100000')
    followed.read(MANY)
    await_(lambda: not prometheus.query(FIRING_NOW), 20, "the alert ends")
    await_(lambda: prometheus.query('cdc_tail_lag_bytes{consumer="billing"} == 0'), 20, "nothing waits")
    assert prometheus.query(f"cdc_tail_delivered_rows_total == {MANY + 10}")


def asked(expression: str) -> str:
    """As Grafana asks with all consumers, nodes and logs."""
    return re.sub(r"\$(consumer|node|log)\b", ".*", expression).replace("$__rate_interval", "10s")


def test_every_panel_of_the_board_has_something_to_show(prometheus: Prometheus) -> None:
    board = json.loads(BOARD.read_text("utf-8"))
    expressions = [asked(target["expr"]) for panel in board["panels"] for target in panel.get("targets", ())]
    assert len(expressions) > 40

    def empty() -> list[str]:
        return [expression for expression in expressions if not prometheus.query(expression)]

    await_(lambda: not empty(), 20, f"panels without anything: {empty()}")
    for variable in board["templating"]["list"][1:]:
        found = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"])
        assert found is not None
        assert prometheus.query(f"count by ({found[2]}) ({found[1]})")[0]["metric"][found[2]]


def test_the_board_is_the_one_that_the_script_writes() -> None:
    assert BOARD.read_text("utf-8") == text()


RUN = '{consumer="billing", node="n1", instance="db1:9464", job="cdc-tail"}'
LOG = '{log="/data", instance="app1:9464", job="cdc-tail"}'
FIRING: dict[str, list[tuple[str, str]]] = {
    "CdcTailDown": [('up{job="cdc-tail", instance="db1:9464"}', "0x20")],
    "CdcTailNotReady": [(f"cdc_tail_ready{RUN}", "0x60")],
    "CdcTailStalled": [(f"cdc_tail_stalled_seconds{RUN}", "0+15x60")],
    "CdcTailLagging": [(f"cdc_tail_lag_seconds{RUN}", "400x60")],
    "CdcTailLoss": [(f"cdc_tail_losses_total{RUN}", "0x10 1x50")],
    "CdcTailQuarantineGrowing": [(f"cdc_tail_quarantined_entries_total{RUN}", "3x60")],
    "CdcTailTargetAway": [(f"cdc_tail_target_away_seconds{RUN}", "0+15x60")],
    "CdcTailCapNear": [(f"cdc_tail_folder_bytes{RUN}", "81x60"), (f"cdc_tail_folder_cap_bytes{RUN}", "100x60")],
    "CdcTailWriterDead": [(f"cdc_tail_writer_dead{LOG}", "1x60")],
    "CdcTailWriterTrouble": [(f"cdc_tail_writer_trouble{LOG}", "1x60")],
    "CdcTailWriterCapNear": [
        (f"cdc_tail_writer_used_bytes{LOG}", "81x60"), (f"cdc_tail_writer_cap_bytes{LOG}", "100x60")
    ],
    "CdcTailWriterTransactionOld": [(f"cdc_tail_writer_oldest_transaction_seconds{LOG}", "0+15x60")],
}  # fmt: skip
"""What makes each alert fire, scraped every 15 s for 15 minutes: series and values as `promtool test rules` has them.
"""

QUIET = [
    (f"cdc_tail_ready{RUN}", "1x60"), (f"cdc_tail_stalled_seconds{RUN}", "0 14x59"),
    (f"cdc_tail_lag_seconds{RUN}", "299x60"), (f"cdc_tail_losses_total{RUN}", "0x60"),
    (f"cdc_tail_quarantined_entries_total{RUN}", "0x60"), (f"cdc_tail_refused_rows_total{RUN}", "0x60"),
    (f"cdc_tail_target_away_seconds{RUN}", "0 59 0x58"), (f"cdc_tail_folder_bytes{RUN}", "79x60"),
    (f"cdc_tail_folder_cap_bytes{RUN}", "100x60"), (f"cdc_tail_writer_dead{LOG}", "0x60"),
    (f"cdc_tail_writer_trouble{LOG}", "0x60"), (f"cdc_tail_writer_oldest_transaction_seconds{LOG}", "299x60"),
    ('up{job="cdc-tail", instance="db1:9464"}', "1x60"),
]  # fmt: skip


def rule_test(series: list[tuple[str, str]], firing: list[str]) -> dict[str, Any]:
    return {
        "interval": "15s",
        "input_series": [{"series": name, "values": values} for name, values in series],
        "promql_expr_test": [
            {
                "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
                "eval_time": "10m",
                "exp_samples": [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in firing],
            }
        ],
    }


def test_each_alert_fires_for_what_it_is_for_and_for_nothing_else(tmp_path: Path) -> None:
    named = set(re.findall(r"- alert: (\w+)", ALERTS.read_text("utf-8")))
    assert named == FIRING.keys()
    quiet = dict(QUIET)
    tests = [rule_test(QUIET, [])]
    tests += [rule_test(list({**quiet, **dict(series)}.items()), [name]) for name, series in FIRING.items()]
    # Of what was refused by the target the same alert tells.
    refused = {**quiet, f"cdc_tail_refused_rows_total{RUN}": "0x20 5x40"}
    tests.append(rule_test(list(refused.items()), ["CdcTailQuarantineGrowing"]))
    file = tmp_path / "test.yml"
    file.write_text(json.dumps({"rule_files": [str(ALERTS)], "evaluation_interval": "15s", "tests": tests}))
    assert "SUCCESS" in promtool("test", "rules", file)
