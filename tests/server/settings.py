"""The settings of a server as its version spells them.

4.1 gave the units of `cassandra.yaml` to the values; in 4.0 they stand in the names. Knows no process.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

_VALUE = re.compile(r"(\d+)(ms|s|KiB|MiB|GiB)")
_FORMERLY = {
    "ms": ("in_ms", 1),
    "s": ("in_ms", 1000),
    "KiB": ("in_kb", 1),
    "MiB": ("in_mb", 1),
    "GiB": ("in_mb", 1024),
}
"""The end that a name had in 4.0, and what to multiply by."""


def yaml_of(settings: Mapping[str, object], version: str) -> str:
    """The text of `cassandra.yaml`. `settings` have the names and units of 5.0; those that are None are left out."""
    wanted = {key: value for key, value in settings.items() if value is not None}
    if version == "4.0":
        wanted = dict(_as_in_40(key, value) for key, value in wanted.items())
    # JSON is YAML: no YAML library is needed.
    return json.dumps(wanted, indent=1)


def _as_in_40(key: str, value: object) -> tuple[str, object]:
    found = _VALUE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return key, value
    end, times = _FORMERLY[found[2]]
    return f"{key}_{end}", int(found[1]) * times
