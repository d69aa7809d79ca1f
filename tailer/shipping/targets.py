"""Which target a `--to` of `ship` means: scheme and module. Imports one when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from tailer.errors import UsageError
from tailer.shipping.target import Target

_STORE: Final = "tailer.shipping.to_store"
_WEB: Final = "tailer.shipping.to_web"
_BULK: Final = "tailer.shipping.to_bulk"
_OUTLET: Final = "tailer.shipping.to_outlet"
TARGETS: Final[Mapping[str, str]] = {
    "files": "tailer.shipping.to_folder",
    "kafka": _OUTLET,
    "s3": _STORE,
    "gs": _STORE,
    "http": _WEB,
    "https": _WEB,
}
"""By what stands before the first colon. Each module has `open_target(to, values, say)`."""

FILES: Final = "files"
BULK: Final = "elasticsearch-bulk"
_FORMS: Final[Mapping[str, tuple[str, ...]]] = {
    _WEB: (FILES, BULK),
    _OUTLET: ("rows", "debezium", "debezium-avro", "debezium-cassandra"),
}
"""What `--format` may be; of other targets files alone."""

_EXAMPLES: Final = "kafka, files:DIR, http://HOST/PATH, https://HOST/PATH, s3://BUCKET/FOLDER or gs://BUCKET/FOLDER"


def open_target(to: str | None, values: Mapping[str, Any], say: Callable[[str], None]) -> Target:
    """The target of a `--to`, not connected yet. `values`: the command's options. UsageError."""
    scheme = (to or "").partition(":")[0]
    module = TARGETS.get(scheme)
    if to is None or module is None:
        raise UsageError("--to", expected=_EXAMPLES, found=repr(to))
    form = values["format"]
    if form is not None and form not in _FORMS.get(module, (FILES,)):
        raise UsageError(f"--to {scheme}", expected=f"--format {' or '.join(_FORMS.get(module, (FILES,)))}", found=form)
    if form == BULK:
        module = _BULK
    opened: Target = import_module(module).open_target(to, values, say)
    return opened
