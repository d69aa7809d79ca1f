"""A real Prometheus, and its tool, as subprocesses: from the PATH, else from Debian's package `prometheus`."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.helpers.debian import unpacked
from tests.helpers.jvm.jars import Unavailable
from tests.helpers.jvm.program import free_ports, own_address

START_SECONDS = 30


@functools.cache
def program(name: str) -> Path:
    """`prometheus` or `promtool`; raises Unavailable."""
    found = shutil.which(name)
    return Path(found) if found else unpacked("prometheus") / "usr" / "bin" / name


@functools.cache
def available() -> str | None:
    """Why there can be no Prometheus here, or None. Brings it at the first call (some seconds)."""
    try:
        ran = subprocess.run([program("promtool"), "--version"], capture_output=True, check=False, timeout=60)
    except (Unavailable, OSError) as reason:
        return str(reason)
    return None if ran.returncode == 0 else ran.stderr.decode()


def promtool(*words: str | Path, given: bytes = b"") -> str:
    """What the tool says of something good. AssertionError with all it says where it finds fault."""
    ran = subprocess.run([program("promtool"), *words], input=given, capture_output=True, check=False, timeout=60)
    said = (ran.stdout + ran.stderr).decode()
    assert ran.returncode == 0, said
    return said


class Prometheus:
    """Scrapes `targets` (`HOST:PORT`) each `seconds` and evaluates `rules` as often, from `start` to `stop`."""

    def __init__(
        self,
        folder: Path,
        targets: Sequence[str],
        rules: Sequence[Path] = (),
        seconds: float = 1.0,
        job: str = "cdc-tail",
    ) -> None:
        self.folder = folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self.address = f"{own_address()}:{free_ports(own_address(), 1)[0]}"
        every = f"{round(seconds * 1000)}ms"
        # JSON is YAML.
        config = {
            "global": {"scrape_interval": every, "scrape_timeout": every, "evaluation_interval": every},
            "rule_files": [str(rule.resolve()) for rule in rules],
            "scrape_configs": [{"job_name": job, "static_configs": [{"targets": list(targets)}]}],
        }
        (folder / "prometheus.yml").write_text(json.dumps(config))
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Prometheus:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        words = [
            f"--config.file={self.folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={self.folder / 'data'}",
            f"--web.listen-address={self.address}",
        ]
        with (self.folder / "prometheus.log").open("ab") as log:
            self._process = subprocess.Popen(
                [program("prometheus"), *words], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise AssertionError((self.folder / "prometheus.log").read_text())
            time.sleep(0.05)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(START_SECONDS)

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series that an expression gives now. AssertionError for what is none."""
        told = self._ask("query", {"query": expression})
        assert told["status"] == "success", told
        found: list[dict[str, Any]] = told["data"]["result"]
        return found

    def _ask(self, what: str, words: Mapping[str, str]) -> dict[str, Any]:
        with urllib.request.urlopen(f"http://{self.address}/api/v1/{what}?{urlencode(words)}", timeout=10) as answer:
            told: dict[str, Any] = json.load(answer)
        return told

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://{self.address}/-/ready", timeout=1) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False
