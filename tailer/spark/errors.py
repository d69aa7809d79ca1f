"""The documented errors as Spark's users see them: exceptions whose message is `[CDC-n] sentence`, and back again.

Spark wraps what a source raises in a traceback of its own; the code in brackets is what can be found in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tailer import errors
from tailer.errors import CdcError
from tailer.system_errors import system_error
from tailer.versions import UndecodableError

_TOLD: Final = re.compile(r"\[CDC-(\d)\] (.+?)(?: SQLSTATE: \w+)?$", re.MULTILINE)
_KINDS: Final[dict[int, type[CdcError]]] = {
    kind.code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, CdcError) and kind is not CdcError
}


_REMEDY: Final = "Restore the checkpoint, or an earlier version of the table, or begin anew with another one."


class CdcTailError(Exception):
    """What the data source raises; the message is one line."""


@contextmanager
def told() -> Iterator[None]:
    """Turns the documented errors, and the system's, into `CdcTailError`."""
    try:
        yield
    except UndecodableError as error:
        # State that a task read does not know where it is from.
        error.found_in("of a checkpoint, or of a table that is merged into", _REMEDY)
        raise CdcTailError(_line(error)) from None
    except CdcError as error:
        raise CdcTailError(_line(error)) from None
    except OSError as error:
        raise CdcTailError(_line(system_error("", error))) from error


def find_error(text: str) -> CdcError | None:
    """The documented error that a text of Spark's carries, as an error of its class; None where it has none."""
    found = _TOLD.search(text)
    if found is None:
        return None
    kind = _KINDS.get(int(found[1]), CdcError)
    # The sentence is whole already; the class ends it again.
    return kind(found[2].strip().removesuffix("."))


def _line(error: CdcError) -> str:
    return f"[CDC-{error.code}] " + " ".join(error.sentence().splitlines())
