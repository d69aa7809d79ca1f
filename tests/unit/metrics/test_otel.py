"""Numbers sent to OpenTelemetry: what a collector gets, read by OpenTelemetry's own protobuf."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from tailer.errors import UsageError
from tailer.metrics import declared as m
from tailer.metrics.monitor import Monitor
from tailer.metrics.samples import BOUNDS, Durations, Sample

pytest.importorskip("opentelemetry.exporter.otlp.proto.http")


class Collector(HTTPServer):
    """Takes what is sent to `/v1/metrics`, or refuses it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = 200
        self.got: list[tuple[Any, dict[str, str]]] = []
        self.came = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            import gzip

            body = gzip.decompress(body)
        request = ExportMetricsServiceRequest.FromString(body)
        assert self.path == "/v1/metrics"
        self.server.got.append((request, dict(self.headers)))
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()
        self.server.came.set()

    def log_message(self, format: str, *values: Any) -> None:
        """Quiet."""


class Part:
    """Something that is shown."""

    def stuck(self) -> list[str]:
        return []

    def unready(self) -> list[str]:
        return []

    def samples(self) -> list[Sample]:
        took = Durations()
        took.add(0.3, 4)
        labels = ("billing", "n1")
        return [
            Sample(m.LAG_BYTES, labels, 5),
            Sample(m.COMMITS, labels, 3),
            Sample(m.TO_READ, labels, took.counted()),
        ]


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    made = Collector()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", made.endpoint)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "tenant=seven")
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "100")
    yield made
    made.shutdown()
    made.server_close()


def sent(collector: Collector) -> tuple[dict[str, Any], dict[str, str], dict[str, str]]:
    """Metrics by name, what the resource is, and the headers, of the first request."""
    import os

    with Monitor(None, os.environ, lambda line: None) as monitor:
        monitor.add(Part())
        collector.came.clear()
        assert collector.came.wait(10)
    request, headers = next(each for each in collector.got if each[0].resource_metrics[0].scope_metrics[0].metrics)
    (resource,) = request.resource_metrics
    attributes = {each.key: each.value.string_value for each in resource.resource.attributes}
    return {each.name: each for each in resource.scope_metrics[0].metrics}, attributes, headers


def test_a_collector_gets_them_as_they_are(collector: Collector) -> None:
    metrics, resource, headers = sent(collector)
    assert resource["service.name"] == "cdc-tail"
    assert headers["tenant"] == "seven"
    lag, commits, took = (
        metrics[name] for name in ("cdc_tail_lag_bytes", "cdc_tail_commits", "cdc_tail_durable_to_read_seconds")
    )
    assert (lag.unit, lag.gauge.data_points[0].as_double) == ("By", 5.0)
    assert {each.key: each.value.string_value for each in lag.gauge.data_points[0].attributes} == {
        "consumer": "billing",
        "node": "n1",
    }
    cumulative = 2
    assert (commits.sum.is_monotonic, commits.sum.aggregation_temporality) == (True, cumulative)
    assert commits.sum.data_points[0].as_double == 3.0
    (point,) = took.histogram.data_points
    assert (took.unit, point.count, point.sum) == ("s", 4, pytest.approx(1.2))
    assert list(point.explicit_bounds) == list(BOUNDS)
    assert point.bucket_counts[BOUNDS.index(0.5)] == 4
    assert not point.HasField("min")
    assert point.time_unix_nano > point.start_time_unix_nano > 0


def test_the_environment_names_the_service(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "changes")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
    _, resource, _ = sent(collector)
    assert (resource["service.name"], resource["deployment.environment"]) == ("changes", "test")


def test_a_collector_that_refuses_is_told_of_once(collector: Collector) -> None:
    import os

    collector.status = 400
    told: list[str] = []
    with Monitor(None, os.environ, told.append) as monitor:
        monitor.add(Part())
        for _ in range(3):
            collector.came.clear()
            assert collector.came.wait(10)
    assert told == ["warning: the OpenTelemetry collector does not take metrics; it is tried again"]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("OTEL_METRIC_EXPORT_INTERVAL", "soon", "milliseconds"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "carrier-pigeon", "http/protobuf or grpc"),
    ],
)
def test_what_the_environment_says_wrong_is_told(name: str, value: str, expected: str) -> None:
    told: list[str] = []
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", name: value}
    Monitor(None, environment, told.append).close()
    told_once = UsageError(name, expected=expected, found=repr(value)).sentence()
    assert told == [f"warning: no metrics go to OpenTelemetry: {told_once}"]
