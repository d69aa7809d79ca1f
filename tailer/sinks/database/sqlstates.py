"""Which documented error PostgreSQL's refusals are, by SQLSTATE. One table; knows no connection.

https://www.postgresql.org/docs/current/errcodes-appendix.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tailer.errors import CdcError, SinkError, SystemFailedError, UsageError
from tailer.sinks.database.store import RowsRefusedError
from tailer.sinks.outlet import TargetAwayError

LOGIN: Final = (
    "Give the user in the URL or PGUSER; the password in PGPASSWORD, PGPASSFILE or ~/.pgpass, not on the command line."
)
_ROOM: Final = "Free space on the server, and start again."
_RIGHTS: Final = (
    "Grant this user CREATE on the schema (or SELECT, INSERT, UPDATE on both tables), and TEMPORARY on the database."
)
_MANY_COLUMNS: Final = (
    "Send this table's rows in the generic form, by another --consumer into another --into: --mode changes without "
    "--typed. With --mode table leave the table out (--exclude)."
)

_STATES: Final[Mapping[str, tuple[type[CdcError], str]]] = {
    "08": (TargetAwayError, ""),  # connection
    "0A": (SinkError, ""),  # what it cannot do with this table
    "22": (RowsRefusedError, ""),  # data: out of range, NUL in a text, no JSON
    "23": (RowsRefusedError, ""),  # constraints
    "25": (TargetAwayError, ""),  # the transaction was ended
    "25006": (TargetAwayError, "Is it a standby? It takes no writes."),
    "28": (UsageError, LOGIN),
    "3D": (UsageError, "Create the database, or give another one in --to."),
    "3F": (UsageError, "Create the schema, or give another one in --into."),
    "40": (TargetAwayError, ""),  # serialization, deadlock
    "42": (SinkError, ""),  # the statement does not fit the table
    "42501": (UsageError, _RIGHTS),
    "44": (RowsRefusedError, ""),  # a view's WITH CHECK OPTION
    "53": (TargetAwayError, ""),  # too many connections, out of memory
    "53100": (SystemFailedError, _ROOM),
    "53400": (SystemFailedError, _ROOM),
    "54": (RowsRefusedError, ""),  # a row that is too large
    "54011": (SinkError, _MANY_COLUMNS),  # of a typed form, or of a kept table
    "55": (TargetAwayError, ""),  # locked, or not ready
    "57": (TargetAwayError, ""),  # shut down, crashed, cancelled
    "57P04": (UsageError, "The database was dropped."),
    "58": (SystemFailedError, "Look after the server's disk and log."),
    "P0": (RowsRefusedError, ""),  # a trigger's own words
    "XX": (SystemFailedError, "Look after the server's log."),
}
"""By the code, or its first two letters: the class."""

_LOGIN_WORDS: Final = re.compile(
    r"no password supplied|authentication failed|no pg_hba|certificate|not support SSL|permission denied"
    r"|(role|database) \"[^\"]*\" (does not exist|is not permitted)"
)
"""What servers say when they refuse a connection for good: libpq hands on no code for these."""


def documented(what: str, sentence: str, state: str | None) -> CdcError:
    """The error of a SQLSTATE; without one the connection was cut."""
    if state is None:
        return TargetAwayError(f"{what}: {sentence}")
    kind, remedy = _STATES.get(state) or _STATES.get(state[:2]) or (SinkError, "")
    return kind(f"{what}: {sentence}", remedy=remedy)


def no_connection(what: str, sentence: str, *, needs_password: bool) -> CdcError:
    """The error of a connection that did not come up: refused for good, or worth another try."""
    if needs_password or _LOGIN_WORDS.search(sentence):
        return UsageError(f"{what} refuses the connection: {sentence}", remedy=LOGIN)
    return TargetAwayError(f"{what}: {sentence}")
