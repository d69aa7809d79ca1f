"""A live server's definitions over CQL: the tracked tables of its `system_schema` with their write timestamps.

It knows the driver, which is an extra and imported when a server is asked; so does `server_rows`, and nobody else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import UUID

from tailer.errors import CdcError, SystemFailedError, UsageError
from tailer.limits import whole_number
from tailer.schema.rows import IGNORED_KEYSPACES, TRACKED, Cell, SchemaDelta, Value
from tailer.system_errors import lack_behind, system_error

if TYPE_CHECKING:
    import ssl

DRIVER: Final = "cassandra-driver>=3.29"
PORT: Final = 9042
TIMEOUT_SECONDS: Final = 30.0
READINGS: Final = 20
"""How often the schema is read again until two readings are equal."""

_NO_TABLE: Final = re.compile(r"unconfigured table|(table|keyspace) \S+ does not exist", re.IGNORECASE)
"""What 4.0, 4.1 and 5.0 say of a table, or a keyspace, that they do not have."""

USER: Final = "CDC_TAIL_CQL_USER"
PASSWORD: Final = "CDC_TAIL_CQL_PASSWORD"

_KEYS: Final = {
    "tables": ("keyspace_name", "table_name"),
    "views": ("keyspace_name", "view_name"),
    "columns": ("keyspace_name", "table_name", "column_name"),
    "dropped_columns": ("keyspace_name", "table_name", "column_name"),
    "types": ("keyspace_name", "type_name"),
    "keyspaces": ("keyspace_name",),
}


@dataclass(frozen=True)
class Tls:
    """How to reach a server that wants TLS: PEM files. Without `ca` the system's certificates count, without `key`
    the certificate's file holds it."""

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    verify_host: bool = True

    def context(self) -> ssl.SSLContext:
        import ssl

        if self.key is not None and self.certificate is None:
            raise UsageError("a key without its certificate", file=str(self.key), remedy="Give both files.")
        try:
            context = ssl.create_default_context(cafile=self.ca)
            context.check_hostname = self.verify_host
            if self.certificate is not None:
                context.load_cert_chain(self.certificate, self.key)
        except (OSError, ssl.SSLError) as error:
            raise UsageError("the TLS files for the server cannot be used", found=str(error)) from None
        return context


@dataclass(frozen=True)
class Server:
    """A node to ask. The password never stands in a command line and is not shown."""

    host: str
    port: int = PORT
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: Tls | None = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @classmethod
    def parse(cls, text: str, tls: Tls | None = None, environment: Mapping[str, str] | None = None) -> Server:
        """`HOST`, `HOST:PORT` or `[IPv6]:PORT`; user and password come from the environment."""
        environment = os.environ if environment is None else environment
        host, port = _split(text)
        user, password = environment.get(USER), environment.get(PASSWORD)
        if (user is None) != (password is None):
            raise UsageError(f"only one of {USER} and {PASSWORD} is set", remedy="Set both, or neither.")
        return cls(host, port, user, password, tls)


class Session(Protocol):
    """What is needed of the driver's session."""

    def execute(self, query: str, *, timeout: float) -> Any: ...


def read_server(server: Server) -> list[SchemaDelta]:
    """Everything the server's `system_schema` says now, with its true write timestamps.

    Raises UsageError without the driver or with wrong credentials, SystemFailedError if the server does not answer.
    """
    with open_session(server) as session:
        return read_session(session)


def read_session(session: Session) -> list[SchemaDelta]:
    """As `read_server`, over a session that is open: one row a delta, each cell with its `writetime`.

    The tables are read one after the other, and a schema change in between would be in one and not in another. So all
    are read until two readings in succession are equal: there was a moment between them at which all were as read.
    Raises SystemFailedError where the schema does not stay the same for so long.
    """
    before = _read_tables(session)
    for _ in range(READINGS):
        found = _read_tables(session)
        if found == before:
            return found
        before = found
    raise SystemFailedError(
        "the server's schema changed each time while it was read",
        expected="two equal readings in succession",
        found=f"none of {READINGS + 1}",
        remedy="Ask again when no schema changes are executed.",
    )


def _read_tables(session: Session) -> list[SchemaDelta]:
    found = []
    for table, keys in _KEYS.items():
        columns = tuple(TRACKED[table])
        # The driver fails on a timestamp outside Python's years; as a number any is read.
        values = [f"toUnixTimestamp({name})" if name == "dropped_time" else name for name in columns]
        times = [f"writetime({name})" for name in columns]
        query = f"SELECT {', '.join([*keys, *values, *times])} FROM system_schema.{table}"
        for row in session.execute(query, timeout=TIMEOUT_SECONDS):
            found.append(_delta(table, tuple(row)))
    return [delta for delta in found if delta.keyspace not in IGNORED_KEYSPACES]


def of_table(server: Sequence[SchemaDelta], id: str) -> list[SchemaDelta]:
    """What a server says of one table or view, by its id (32 hex digits): its own rows, and its keyspace's types. Empty
    where the server does not know the id."""
    places = {
        (delta.keyspace, delta.clustering[0])
        for delta in server
        if delta.table in ("tables", "views") and delta.cells.get("id", (0, None))[1] == id
    }
    keyspaces = {keyspace for keyspace, _ in places}
    own = [delta for delta in server if delta.table != "types" and (delta.keyspace, delta.clustering[0]) in places]
    return [*(delta for delta in server if delta.table == "types" and delta.keyspace in keyspaces), *own]


def _delta(table: str, row: tuple[Any, ...]) -> SchemaDelta:
    keys, columns = _KEYS[table], tuple(TRACKED[table])
    names, rest = row[: len(keys)], row[len(keys) :]
    cells: dict[str, Cell] = {}
    for column, value, ts in zip(columns, rest[: len(columns)], rest[len(columns) :], strict=True):
        if value is not None and ts is not None:
            # Milliseconds → µs, the unit of write timestamps.
            cells[column] = (int(ts), value * 1000 if column == "dropped_time" else _value(value))
    return SchemaDelta(table, names[0], tuple(names[1:]), cells, max((ts for ts, _ in cells.values()), default=None))


def _value(value: Any) -> Value:
    """The driver's Python value as a delta has it."""
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, UUID):
        return value.hex
    if isinstance(value, bytes):
        return value.hex()
    return [str(item) for item in value]


def _split(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if text.endswith("]") or not colon or (":" in host and not host.startswith("[")):
        host, port = text, str(PORT)
    number = whole_number(port) or 0
    if not host.strip("[]") or not 0 < number < 65536:
        raise UsageError("the server's address cannot be read", expected="HOST or HOST:PORT", found=repr(text))
    return host.strip("[]"), number


def _no_driver(error: ImportError) -> UsageError:
    return UsageError(
        "asking a server needs the Python driver, which is not installed",
        found=str(error),
        # Not cdc-tail's own extra: where cdc-tail was installed without PySpark, that would bring it after all.
        remedy=f"Run: pip install '{DRIVER}'.",
    )


@contextmanager
def open_session(server: Server) -> Iterator[Session]:
    """A session with this very node, whose rows are tuples. Raises as `read_server` does; UsageError for a query that
    the server refuses."""
    try:
        from cassandra import AuthenticationFailed, DriverException, InvalidRequest, Unauthorized
        from cassandra.cluster import NoHostAvailable
    except ImportError as error:
        raise _no_driver(error) from None
    cluster: Any = None
    try:
        cluster = _cluster(server)
        yield cluster.connect()
    except NoHostAvailable as error:
        rejected = any(isinstance(cause, AuthenticationFailed) for cause in _causes(error))
        raise _refused(server, error, rejected) from error
    except AuthenticationFailed as error:
        raise _refused(server, error, True) from error
    except (InvalidRequest, Unauthorized) as error:
        raise UsageError(
            "the server refuses what it is asked",
            file=str(server),
            found=str(error),
            remedy="May this role read the table? Has the table been altered, and is that not followed yet?",
        ) from error
    except (DriverException, OSError) as error:
        raise _refused(server, error, False) from error
    finally:
        if cluster is not None:
            cluster.shutdown()


def is_refused_query(error: Exception) -> bool:
    """Whether a server refuses a query for what it asks: a column or a table that it does not have."""
    from cassandra import InvalidRequest

    return isinstance(error, InvalidRequest)


def lacks_table(error: BaseException) -> bool:
    """Whether an error of `open_session` says that the server does not have the table: it was dropped."""
    return error.__cause__ is not None and _NO_TABLE.search(str(error.__cause__)) is not None


def has_another(server: Server, name: str, id: str) -> bool:
    """Whether a server has a table `keyspace.table` with another id than this one (32 hex digits), which was dropped
    then. False where the server has no such table, and where the request fails."""
    query = "SELECT keyspace_name, table_name, id FROM system_schema.tables"
    try:
        with open_session(server) as session:
            rows = [tuple(row) for row in session.execute(query, timeout=TIMEOUT_SECONDS)]
    except (SystemFailedError, UsageError):
        return False
    ids = [found.hex for keyspace, table, found in rows if f"{keyspace}.{table}" == name]
    return bool(ids) and id not in ids


def _cluster(server: Server) -> Any:
    """The driver's `Cluster` of this very node."""
    from cassandra.auth import PlainTextAuthProvider
    from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
    from cassandra.policies import WhiteListRoundRobinPolicy
    from cassandra.query import tuple_factory

    auth = PlainTextAuthProvider(server.user, server.password) if server.user is not None else None
    # This very node: its own system_schema is what its log goes by, whatever the others have.
    profile = ExecutionProfile(WhiteListRoundRobinPolicy([server.host]), row_factory=tuple_factory)
    return Cluster(
        [server.host],
        port=server.port,
        protocol_version=4,
        auth_provider=auth,
        ssl_context=server.tls.context() if server.tls is not None else None,
        ssl_options={"server_hostname": server.host} if server.tls is not None else None,
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        schema_metadata_enabled=False,
        token_metadata_enabled=False,
        connect_timeout=TIMEOUT_SECONDS,
    )


def _refused(server: Server, error: Exception, credentials: bool) -> CdcError:
    if credentials:
        return UsageError(
            "the server does not accept the credentials",
            file=str(server),
            remedy=f"Set {USER} and {PASSWORD} to those of a role that may read system_schema.",
        )
    cause = _causes(error)[0]
    if (lack := lack_behind(cause)) is not None:
        return system_error("cannot connect to the server", lack, str(server))
    return SystemFailedError(
        "the server does not answer",
        file=str(server),
        found=str(cause),
        remedy="Check the address, and that the node takes CQL connections there.",
    )


def _causes(error: Exception) -> list[Exception]:
    """Why no host was available; the error itself where it names no host. The driver gives causes by host, or a list
    where it knew none; of a request that took too long it gives texts."""
    errors = getattr(error, "errors", None) or []
    causes = errors.values() if isinstance(errors, Mapping) else errors
    return [each for each in causes if isinstance(each, Exception)] or [error]
