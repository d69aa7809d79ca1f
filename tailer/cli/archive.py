"""`cdc-tail archive`: lists what `clean --archive` has put away, and makes a log folder of it again.

Parses words; what is brought back, and how it is checked, is `retention/restore.py`'s.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import typer

from tailer.cli.as_owner import as_owner
from tailer.cli.command import command
from tailer.cli.rows import Form, output_form
from tailer.cli.standard_error import STANDARD_ERROR
from tailer.errors import UsageError
from tailer.options.to_terminal import argument
from tailer.sinks.text import printable, size_text

if TYPE_CHECKING:
    from tailer.archive.manifest import Manifest

app = typer.Typer(add_completion=False)


class Action(StrEnum):
    """What to do."""

    LIST = "list"
    RESTORE = "restore"


_ARGUMENTS: Final = {
    "where": argument(str, "The archive: a folder, or a URI of an object store.", metavar="WHERE"),
    "action": argument(Action, "list, or restore INTO."),
    "into": argument(Path | None, "A folder of its own for the log.", metavar="INTO"),
}


@command(
    app,
    "archive",
    _ARGUMENTS,
    epilog="Example: cdc-tail archive s3://backups/cdc restore /tmp/old/cdc_raw, and then "
    "cdc-tail follow /tmp/old/cdc_raw --once --stopped",
)
def run(
    where: str,
    log: str | None,
    max_age: int | None,
    output: Form | None,
    action: Action = Action.LIST,
    into: Path | None = None,
) -> None:
    """List what `clean --archive` has put away; or restore it: a log folder of its own, which every reader reads."""
    from tailer.archive.manifest import identities, manifests, the_identity
    from tailer.retention.restore import restore
    from tailer.stores.open import open_store

    if (action is Action.RESTORE) != (into is not None):
        raise UsageError(f"archive WHERE {action}", expected="list, or restore INTO", found=f"{action} {into or ''}")
    store = open_store(where)
    if into is None:
        pretty = output_form(output) == "pretty"
        for identity in [log] if log is not None else identities(store):
            _write(_line(identity, each) if pretty else _facts(identity, each) for each in manifests(store, identity))
        return
    as_owner(into)
    identity = log or the_identity(store)
    done = restore(store, identity, into, 0.0 if max_age is None else time.time() - max_age)
    if not done.segments:
        raise UsageError("nothing to restore", file=where, remedy="`archive WHERE list` has what there is.")
    STANDARD_ERROR.info(f"{len(done.segments)} segments are in {into}: {size_text(done.bytes)} came")


def _facts(identity: str, manifest: Manifest) -> str:
    return msgspec.json.encode({"log": identity, "manifest": manifest}).decode()


def _line(identity: str, manifest: Manifest) -> str:
    written = datetime.fromtimestamp(manifest.written, UTC)
    end = "" if manifest.end is None else f", log end {manifest.end}"
    return printable(
        f"{identity} {manifest.segment}  {size_text(manifest.log.size)}{end}, written {written:%Y-%m-%d %H:%M:%S} UTC"
    )


def _write(lines: Iterator[str]) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)
