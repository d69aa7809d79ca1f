"""What a run shows of itself, and where: pages for Prometheus and for health checks, and OpenTelemetry by its usual
environment. Loads what a monitoring system needs when somebody asks for it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Protocol

from tailer.errors import UsageError
from tailer.metrics.health import Healthy, all_stuck, any_unready
from tailer.metrics.samples import Sample, Source
from tailer.options.listen import Listen

if TYPE_CHECKING:
    from tailer.metrics.otel import Exporter
    from tailer.metrics.server import Page, Server

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""Variables of OpenTelemetry's, of which one set asks for it."""

Say = Callable[[str], None]


class Monitored(Healthy, Protocol):
    """What can be shown."""

    def samples(self) -> Iterable[Sample]: ...


class Monitor:
    """Of one run. `add` what it is made of; `close` it at the end, when the last numbers leave."""

    def __init__(self, listen: Listen | None, environ: Mapping[str, str], say: Say, registry: Any = None) -> None:
        """`listen`: where the pages are, None for none. `registry`: of `prometheus_client`, where a program serves its
        numbers itself. `say` takes a line for the user.

        UsageError where a package is missing, or the address cannot be had.
        """
        self._parts: list[Healthy] = []
        self._sources: list[Source] = []
        self._exporter = _exporter(environ, self._sources, say)
        self._server: Server | None = None
        self._leave: Callable[[], None] = lambda: None
        try:
            if registry is not None:
                self._leave = needs("tailer.metrics.prometheus", "metrics", "metrics").join(registry, self._sources)
            if listen is not None:
                self._server = _serve(listen, self._sources, self._parts)
                say(f"metrics at http://{self._server.address}/metrics")
        except BaseException:
            self.close()
            raise

    @property
    def address(self) -> Listen | None:
        """Where the pages are."""
        return None if self._server is None else self._server.address

    def add(self, part: Monitored) -> None:
        """Shows something more from now on."""
        self._parts.append(part)
        self._sources.append(part.samples)

    def close(self) -> None:
        """Shows nothing any more. Again: nothing."""
        self._leave()
        server, exporter, self._server, self._exporter = self._server, self._exporter, None, None
        if server is not None:
            server.close()
        if exporter is not None:
            exporter.close()

    def forget(self) -> None:
        """This is a forked child: threads, and the port, are the parent's."""
        if self._server is not None:
            self._server.forget()
        self._server = self._exporter = None

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def wanted(listen: Listen | None, environ: Mapping[str, str]) -> bool:
    """Whether somebody asks for numbers at all."""
    off = environ.get("OTEL_SDK_DISABLED", "").lower() == "true" or environ.get("OTEL_METRICS_EXPORTER") == "none"
    return listen is not None or (not off and any(environ.get(name) for name in ENDPOINTS))


def _serve(listen: Listen, sources: Sequence[Source], parts: Sequence[Healthy]) -> Server:
    from tailer.metrics.server import Server, text

    prometheus = needs("tailer.metrics.prometheus", "metrics", "metrics")

    def page(ask: Callable[[Sequence[Healthy]], Sequence[str]]) -> Callable[[str], Page]:
        def made(accept: str) -> Page:
            wrong = ask(parts)
            return text(503, *wrong) if wrong else text(200, "ok")

        return made

    pages = {
        "/metrics": prometheus.Exposition(sources).page,
        "/healthz": page(all_stuck),
        "/readyz": page(any_unready),
    }
    return Server(listen, pages)


def _exporter(environ: Mapping[str, str], sources: Sequence[Source], say: Say) -> Exporter | None:
    if not wanted(None, environ):
        return None
    try:
        otel = needs("tailer.metrics.otel", "otel", next(name for name in ENDPOINTS if environ.get(name)))
        exporter: Exporter = otel.Exporter(sources, environ, say)
    except (UsageError, ImportError) as error:
        # The variables are often set for everything on a machine: nobody asked this program for it.
        told = error.sentence() if isinstance(error, UsageError) else str(error)
        say(f"warning: no metrics go to OpenTelemetry: {told}")
        return None
    return exporter


def needs(module: str, extra: str, what: str) -> ModuleType:
    """A module of ours that needs a package of an extra. UsageError where that is not there."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "tailer":
            raise
        raise UsageError(
            f"{what}: there is no package {error.name}", remedy=f"Install it: pip install 'cdc-tail[{extra}]'."
        ) from error
