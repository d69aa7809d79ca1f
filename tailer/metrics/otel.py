"""Samples sent to an OpenTelemetry collector at intervals, by its own exporter. The only module that knows it.

Where to, with which headers, how often and under which name is said by its usual environment, which its own packages
read (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_METRIC_EXPORT_INTERVAL`, `OTEL_SERVICE_NAME`, …).
"""

from __future__ import annotations

import importlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from opentelemetry.sdk.environment_variables import (
    OTEL_EXPORTER_OTLP_METRICS_PROTOCOL,
    OTEL_EXPORTER_OTLP_PROTOCOL,
    OTEL_METRIC_EXPORT_INTERVAL,
)
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.metrics.export import (
    Metric as OtelMetric,
)
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from tailer.errors import UsageError
from tailer.limits import whole_number
from tailer.metrics.declared import Metric
from tailer.metrics.samples import BOUNDS, Counted, Sample, Source

NAME: Final = "cdc-tail"
INTERVAL_MS: Final = 60_000
"""OpenTelemetry's own default."""

PROTOCOL: Final = "http/protobuf"
_EXPORTERS: Final = {
    "http/protobuf": "opentelemetry.exporter.otlp.proto.http.metric_exporter",
    "grpc": "opentelemetry.exporter.otlp.proto.grpc.metric_exporter",
}
_UNITS: Final = {"seconds": "s", "bytes": "By"}
_UNNAMED: Final = "unknown_service"
_LAST_SECONDS: Final = 5.0
"""How long a run that ends waits for its last numbers to be taken."""

Say = Callable[[str], None]


class Exporter:
    """Sends from when it is made until `close`, which sends once more."""

    def __init__(self, sources: Sequence[Source], environ: Mapping[str, str], say: Say) -> None:
        """UsageError for what the environment says and nobody can do."""
        self._sources = sources
        self._say = say
        self._began = time.time_ns()
        self._resource = _resource()
        self._exporter = _exporter(environ)
        self._seconds = _interval_ms(environ) / 1000
        self._failed = False
        self._ended = threading.Event()
        # What its packages say of a collector that is away is said here once, and not in their form.
        logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
        self._thread = threading.Thread(target=self._run, name="cdc-tail-otel", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._thread.join(_LAST_SECONDS)
        self._exporter.shutdown()

    def _run(self) -> None:
        while not self._ended.wait(self._seconds):
            self._send()
        self._send()

    def _send(self) -> None:
        samples = [sample for source in self._sources for sample in source()]
        data = metrics_data(samples, self._resource, self._began, time.time_ns())
        failed = self._exporter.export(data) is not MetricExportResult.SUCCESS
        if failed and not self._failed:
            self._say("warning: the OpenTelemetry collector does not take metrics; it is tried again")
        self._failed = failed


def metrics_data(samples: Iterable[Sample], resource: Resource, began: int, now: int) -> MetricsData:
    """Samples as OpenTelemetry has them. `began`: since when they count; both in nanoseconds since the epoch."""
    by_metric: dict[Metric, list[Sample]] = {}
    for sample in samples:
        by_metric.setdefault(sample.metric, []).append(sample)
    metrics = [_metric(metric, held, began, now) for metric, held in by_metric.items()]
    scope = ScopeMetrics(InstrumentationScope(NAME), metrics, "")
    return MetricsData([ResourceMetrics(resource, [scope], "")])


def _metric(metric: Metric, samples: Sequence[Sample], began: int, now: int) -> OtelMetric:
    # There a name has neither the kind nor, beside its unit, another one; Prometheus puts both back.
    name = metric.name.removesuffix("_total")
    unit = _UNITS.get(name.rpartition("_")[2], "1")
    if metric.kind == "histogram":
        points = [_histogram_point(sample, began, now) for sample in samples]
        return OtelMetric(name, metric.help, unit, Histogram(points, AggregationTemporality.CUMULATIVE))
    numbers = [NumberDataPoint(_labels(sample), began, now, _number(sample)) for sample in samples]
    if metric.kind == "gauge":
        return OtelMetric(name, metric.help, unit, Gauge(numbers))
    return OtelMetric(name, metric.help, unit, Sum(numbers, AggregationTemporality.CUMULATIVE, True))


def _histogram_point(sample: Sample, began: int, now: int) -> HistogramDataPoint:
    value = sample.value
    assert isinstance(value, Counted)
    # The smallest and the largest are not kept.
    least: Any = None
    return HistogramDataPoint(
        _labels(sample), began, now, sum(value.counts), value.total, value.counts, BOUNDS, least, least
    )


def _labels(sample: Sample) -> dict[str, str]:
    return dict(zip(sample.metric.labels, sample.labels, strict=True))


def _number(sample: Sample) -> float:
    assert not isinstance(sample.value, Counted)
    return float(sample.value)


def _resource() -> Resource:
    """As the environment says, named after the program where it gives no name."""
    found = Resource.create()
    named = not str(found.attributes.get(SERVICE_NAME, _UNNAMED)).startswith(_UNNAMED)
    return found if named else found.merge(Resource({SERVICE_NAME: NAME}))


def _exporter(environ: Mapping[str, str]) -> Any:
    variables = (OTEL_EXPORTER_OTLP_METRICS_PROTOCOL, OTEL_EXPORTER_OTLP_PROTOCOL)
    variable = next((name for name in variables if environ.get(name)), variables[-1])
    protocol = environ.get(variable) or PROTOCOL
    if protocol not in _EXPORTERS:
        raise UsageError(variable, expected=" or ".join(_EXPORTERS), found=repr(protocol))
    return importlib.import_module(_EXPORTERS[protocol]).OTLPMetricExporter()


def _interval_ms(environ: Mapping[str, str]) -> int:
    said = environ.get(OTEL_METRIC_EXPORT_INTERVAL, "")
    if not said:
        return INTERVAL_MS
    if not (found := whole_number(said)):
        raise UsageError(OTEL_METRIC_EXPORT_INTERVAL, expected="milliseconds", found=repr(said))
    return found
