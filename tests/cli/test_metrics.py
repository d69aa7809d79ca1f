"""`--metrics`: pages while a command runs, and refusals before anything is read or registered."""

from __future__ import annotations

import builtins
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli import ROOT, run_cli
from tests.helpers.log_writer import LogFolder, live, one_row_segment, simple_table

FIRST = 1_700_000_000_001


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = LogFolder(tmp_path / "cdc_raw")
    writer = one_row_segment(simple_table("ks", "t"), FIRST, 1)
    made.put(writer, live(writer))
    return made.path


def test_pages_while_it_follows(folder: Path) -> None:
    words = ["follow", str(folder), "--consumer", "billing", "--output", "json", "--metrics", "0"]
    with subprocess.Popen(
        [sys.executable, "-c", "from tailer.cli.app import run; run()", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        found = re.search(r"metrics at (http://127\.0\.0\.1:\d+)/metrics", process.stderr.readline())
        assert found is not None
        assert '"keyspace":"ks"' in process.stdout.readline()
        pages = {}
        for name in ("metrics", "healthz", "readyz"):
            with urllib.request.urlopen(f"{found[1]}/{name}", timeout=10) as answer:
                pages[name] = answer.read().decode()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert (
        'cdc_tail_rows_total{consumer="billing",keyspace="ks",node="local",op="insert",table="t"} 1.0'
        in pages["metrics"]
    )
    assert "process_cpu_seconds_total" in pages["metrics"]
    assert (pages["healthz"], pages["readyz"]) == ("ok\n", "ok\n")


def test_a_port_that_is_taken_registers_no_consumer(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = run_cli(["follow", folder, "--once", "--consumer", "billing", "--metrics", str(port)])
    assert ran.code == 2
    assert f"cannot listen on 127.0.0.1:{port} for metrics: Address already in use" in ran.err
    assert not folder.with_name("cdc_raw.cdc_tail").exists()


@pytest.mark.parametrize("command", ["follow", "stream"])
def test_what_is_no_place_to_listen_is_refused(folder: Path, command: str) -> None:
    ran = run_cli([command, folder, "--metrics", "http://db1"])
    assert ran.code == 2
    assert "--metrics: expected PORT or HOST:PORT, found 'http://db1'" in ran.err


def without(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """As if it were not installed."""
    real = builtins.__import__

    def import_(name: str, *more: Any) -> Any:
        if name.partition(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=package)
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", import_)
    for name in [name for name in sys.modules if name in ("tailer.metrics.prometheus", "tailer.metrics.otel")]:
        monkeypatch.delitem(sys.modules, name)


def test_a_missing_package_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "prometheus_client")
    ran = run_cli(["follow", folder, "--once", "--metrics", "0"])
    assert ran.code == 2
    assert "metrics: there is no package prometheus_client" in ran.err
    assert "pip install 'cdc-tail[metrics]'" in ran.err


def test_opentelemetry_that_is_not_there_ends_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "opentelemetry")
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    ran = run_cli(["follow", folder, "--once", "--output", "json"], env=environment)
    assert (ran.code, len(ran.lines)) == (0, 1)
    assert "warning: no metrics go to OpenTelemetry: OTEL_EXPORTER_OTLP_ENDPOINT: there is no package" in ran.err
    for off in ({"OTEL_SDK_DISABLED": "true"}, {"OTEL_METRICS_EXPORTER": "none"}):
        assert run_cli(["follow", folder, "--once", "--output", "json"], env={**environment, **off}).err == ""


def test_who_asks_for_nothing_loads_nothing(folder: Path) -> None:
    program = (
        "import sys; from tailer.cli.app import main; code = main(sys.argv[1:]);"
        "heavy = ('prometheus_client', 'opentelemetry', 'http.server');"
        "sys.exit(code or sum(name.startswith(heavy) for name in sys.modules))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, "follow", str(folder), "--once", "--output", "json"],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 0
