"""Samples as Prometheus has them, by `prometheus_client`. The only module that knows it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final
from weakref import WeakKeyDictionary

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from tailer.metrics.declared import TABLE, Metric
from tailer.metrics.samples import BOUNDS, Counted, Sample, Source
from tailer.metrics.server import Page

_ORDER: Final = {metric: number for number, metric in enumerate(TABLE)}


class Collected(Collector):
    """What sources have, for a registry: of all of them together, so that each metric is there once."""

    def __init__(self, parts: Sequence[Sequence[Source]]) -> None:
        self._parts = parts

    def describe(self) -> Iterable[Family]:
        """Nothing: which metrics there are is known when they are asked for."""
        return ()

    def collect(self) -> Iterator[Family]:
        samples: dict[Metric, list[Sample]] = {}
        for source in [source for sources in self._parts for source in sources]:
            for sample in source():
                samples.setdefault(sample.metric, []).append(sample)
        for metric in sorted(samples, key=_ORDER.__getitem__):
            yield family(metric, samples[metric])


def family(metric: Metric, samples: Iterable[Sample]) -> Family:
    """One metric with all its values. Two of the same labels are one: two folders of one node, say."""
    held = {sample.labels: sample.value for sample in samples}
    made: Family
    if metric.kind == "histogram":
        made = histogram = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
        for labels, value in held.items():
            assert isinstance(value, Counted)
            bounds = [*map(str, BOUNDS), "+Inf"]
            histogram.add_metric(labels, list(zip(bounds, value.upto, strict=True)), value.total)
        return made
    kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    made = plain = kind(metric.name, metric.help, labels=metric.labels)
    for labels, value in held.items():
        assert not isinstance(value, Counted)
        plain.add_metric(labels, float(value))
    return made


_JOINED: Final[WeakKeyDictionary[CollectorRegistry, list[Sequence[Source]]]] = WeakKeyDictionary()
_JOINING: Final = threading.Lock()


def join(registry: CollectorRegistry, sources: Sequence[Source]) -> Callable[[], None]:
    """Adds sources to a program's own registry; gives what takes them away again."""
    with _JOINING:
        if registry not in _JOINED:
            _JOINED[registry] = []
            registry.register(Collected(_JOINED[registry]))
        _JOINED[registry].append(sources)

    def leave() -> None:
        with _JOINING:
            _JOINED[registry][:] = [each for each in _JOINED[registry] if each is not sources]

    return leave


class Exposition:
    """The page that Prometheus scrapes: what sources have, and what the process uses."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(Collected([sources]))
        ProcessCollector(registry=self._registry)

    def page(self, accept: str) -> Page:
        """`accept`: the header of who asks, which decides the form."""
        encode, type_ = choose_encoder(accept)
        return Page(200, type_, encode(self._registry))
