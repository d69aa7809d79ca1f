"""A server's own settings, out of its cassandra.yaml: where its log is, and what else is known of it there.

    cdc_raw_directory: /var/lib/cassandra/cdc_raw
    cdc_total_space: 4096MiB              # 4.0: cdc_total_space_in_mb: 4096
    commitlog_sync: periodic
    commitlog_sync_period: 10000ms        # 4.0: commitlog_sync_period_in_ms: 10000

Names, units and defaults are those of Cassandra 4.0 to 5.0 (`Config`, `DatabaseDescriptor.applySimpleConfig`,
`DataStorageSpec`, `DurationSpec`). Reads that one file; PyYAML is imported when it is read. Knows no option's door.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tailer.errors import UsageError
from tailer.limits import KIB, MIB, shown
from tailer.system_errors import system_error

PLACES: Final = (Path("/etc/cassandra/cassandra.yaml"), Path("/etc/cassandra/conf/cassandra.yaml"))
"""Where the packages put it: Debian's, and RPM's."""

HOME: Final = "CASSANDRA_HOME"

_NUMBER_MAX: Final = 1e15
_SIZE: Final = re.compile(r"(\d{1,15})(B|KiB|MiB|GiB)", re.ASCII)
_BYTES: Final = {"B": 1, "KiB": KIB, "MiB": MIB, "GiB": KIB * MIB}
_TIME: Final = re.compile(r"(\d{1,15})(d|h|m|s|ms|us|µs|ns)", re.ASCII)
_SECONDS: Final = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PERIODS: Final = {"periodic": "commitlog_sync_period", "group": "commitlog_sync_group_window"}
"""What says how long a change may wait until it is durable; with `batch` no change waits."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """What one file says. `cap`: `cdc_total_space` in bytes, None for the server's own default.

    `cdc_raw`: None where nothing tells. `delay`: seconds until a change is durable at the latest, None where the file
    does not say. `keystore`: of a log that is encrypted, as the file has it, and `keystore_at` where that is.
    """

    file: Path
    enabled: bool
    cdc_raw: Path | None
    cap: int | None
    sync: str
    delay: float | None
    keystore: str | None
    keystore_at: Path | None

    @property
    def folder(self) -> Path:
        """The log folder. UsageError where nothing tells which that is."""
        if self.cdc_raw is None:
            raise UsageError(
                "the file does not say where the log is",
                file=str(self.file),
                expected=f"cdc_raw_directory with a whole path, or {HOME} in the environment",
                found="neither",
                remedy="Write the path into the file, or name the folder.",
            )
        return self.cdc_raw

    @property
    def options(self) -> Mapping[str, tuple[Any, str]]:
        """The options that it gives a value, by name: the value, and the setting that says so."""
        given = {
            "cap": (self.cap, "cdc_total_space"),
            "keystore": (self.keystore_at, "transparent_data_encryption_options"),
        }
        return {name: said for name, said in given.items() if said[0] is not None}

    def notices(self) -> list[str]:
        """What there is to say of it to who follows the log."""
        told = []
        if not self.enabled:
            told.append(f"warning: {self.file} says cdc_enabled: false: that server captures nothing")
        if self.keystore is not None and self.keystore_at is None:
            told.append(f"{self.file}: where its keystore {self.keystore} lies is not known: name it with --keystore")
        if self.delay is not None:
            late = f"{self.delay:g} s" if self.delay else "milliseconds"
            told.append(f"{self.file}: commitlog_sync is {self.sync}: a change is durable within {late}")
        return told


def package_yaml(places: tuple[Path, ...] = PLACES) -> Path:
    """The file of a package that is installed here. UsageError where there is none."""
    found = next((place for place in places if place.exists()), None)
    if found is None:
        raise UsageError(
            "no log folder",
            expected="DIR, or a server's own settings",
            found=f"no {' and no '.join(map(str, places))}",
            remedy="Name the folder, or the file with --cassandra-yaml FILE.",
        )
    return found


def server_settings(file: Path, environ: Mapping[str, str] | None = None) -> ServerSettings:
    """What a cassandra.yaml says. UsageError for one that cannot be read, and for a value that no server takes."""
    said = _Said(file, _mapping(file))
    home = _home(file, os.environ if environ is None else environ)
    sync = said.text("commitlog_sync") or "periodic"
    if sync not in ("periodic", "group", "batch"):
        raise said.wrong("commitlog_sync", "periodic, group or batch")
    return ServerSettings(
        file=file,
        enabled=said.flag("cdc_enabled"),
        cdc_raw=_cdc_raw(said, home),
        # Zero and nothing mean the server's own.
        cap=said.size("cdc_total_space") or None,
        sync=sync,
        delay=said.seconds(_PERIODS[sync]) if sync in _PERIODS else 0.0,
        keystore=(keystore := _keystore(said)),
        keystore_at=None if keystore is None else _placed(keystore, home),
    )


class _Said:
    """The settings of one file, each read as its kind says."""

    def __init__(self, file: Path, settings: Mapping[str, Any]) -> None:
        self.file = file
        self._settings = settings

    def get(self, name: str) -> Any:
        return self._settings.get(name)

    def text(self, name: str) -> str | None:
        value = self.get(name)
        if value is None or isinstance(value, str):
            return value or None
        raise self.wrong(name, "a text")

    def flag(self, name: str) -> bool:
        value = self.get(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise self.wrong(name, "true or false")

    def size(self, name: str) -> int | None:
        """In bytes; `name` with its unit, or `name_in_mb` as 4.0 has it."""
        old = self._number(f"{name}_in_mb")
        if old is not None:
            return int(old * MIB)
        value = self.get(name)
        found = _SIZE.fullmatch(value) if isinstance(value, str) else None
        if value is not None and found is None:
            raise self.wrong(name, "a number with B, KiB, MiB or GiB, such as 4096MiB")
        return None if found is None else int(found[1]) * _BYTES[found[2]]

    def seconds(self, name: str) -> float | None:
        """`name` with its unit, or `name_in_ms` as 4.0 has it."""
        old = self._number(f"{name}_in_ms")
        if old is not None:
            return old / 1000
        value = self.get(name)
        found = _TIME.fullmatch(value) if isinstance(value, str) else None
        if value is not None and found is None:
            raise self.wrong(name, "a number with d, h, m, s, ms, us or ns, such as 200ms")
        return None if found is None else int(found[1]) * _SECONDS[found[2]]

    def wrong(self, name: str, expected: str) -> UsageError:
        """The error for a value that no server takes."""
        return UsageError(name, file=str(self.file), expected=expected, found=shown(self.get(name)))

    def _number(self, name: str) -> float | None:
        value = self.get(name)
        if value is None:
            return None
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _NUMBER_MAX:
            return value
        raise self.wrong(name, "a number")


def _mapping(file: Path) -> Mapping[str, Any]:
    import yaml

    # The one in C is not in every build of it.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        found = yaml.load(file.read_bytes(), Loader=loader)
    except FileNotFoundError:
        raise UsageError("no such cassandra.yaml", file=str(file)) from None
    except OSError as error:
        raise system_error("the server's settings cannot be read", error, file) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # ValueError: a number of thousands of digits, a day that no calendar has, bytes that are no UTF-8.
        raise UsageError(
            "the server's settings are not YAML", file=str(file), found=" ".join(str(error).split())
        ) from None
    if found is None or isinstance(found, dict):
        return found or {}
    raise UsageError(
        "the server's settings are not YAML's names and values", file=str(file), found=type(found).__name__
    )


def _home(file: Path, environ: Mapping[str, str]) -> Path | None:
    """The server's home: what the environment says, else where a distribution was unpacked around the file."""
    if said := environ.get(HOME):
        return Path(said)
    around = file.absolute().parent.parent
    unpacked = file.absolute().parent.name == "conf" and (around / "bin" / "cassandra").exists()
    return around if unpacked else None


def _cdc_raw(said: _Said, home: Path | None) -> Path | None:
    """As the server finds it. Its default lies in its storage folder, which its start script names: `HOME/data`."""
    return _placed(said.text("cdc_raw_directory") or "data/cdc_raw", home)


def _placed(path: str, home: Path | None) -> Path | None:
    """Where a path of the file leads to; None for a relative one where the server's home is not known."""
    if Path(path).is_absolute():
        return Path(path)
    return None if home is None else home / path


def _keystore(said: _Said) -> str | None:
    """The keystore of a log that is encrypted."""
    options = said.get("transparent_data_encryption_options")
    if not isinstance(options, dict) or options.get("enabled") is not True:
        return None
    parameters = (each for one in _listed(options.get("key_provider")) for each in _listed(one.get("parameters")))
    named = (each.get("keystore") for each in parameters)
    return next((each for each in named if isinstance(each, str)), None)


def _listed(value: object) -> list[dict[str, Any]]:
    """A server takes one of these, and a list of them."""
    listed = value if isinstance(value, list) else [value]
    return [each for each in listed if isinstance(each, dict)]
