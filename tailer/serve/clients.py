"""Who may ask, and for what: clients by their certificate's names or by their token. Reads two files at the start.

    [spark]                               # a name for people
    certificate = "spark.prod.example"    # its common name, or one of its alternative names; or:
    token = "..."                         # at least 16 letters, in the file of tokens
    prefix = "spark-"                     # of its consumers' names; without it any
    consumers = 8                         # how many there may be of that prefix
    journal = "64m"                       # bytes of their records in the journal
    quarantine = "256m"                   # bytes of their entries in quarantine
    read_only = false
    defines_for_all = false               # its readers' definitions count for every consumer

Tokens are compared in constant time, and stand in no line that is printed.
"""

from __future__ import annotations

import hmac
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tailer.errors import UsageError
from tailer.limits import MIB, QUARANTINE_BYTES_MAX
from tailer.options.amounts import size_of
from tailer.system_errors import system_error

CONSUMERS_MAX: Final = 100
"""How many consumers a client may have where its entry says nothing."""

JOURNAL_BYTES_MAX: Final = 64 * MIB
"""How much of the journal may be a client's where its entry says nothing. A consumer has some hundred bytes for each
segment that it reads, until `clean` puts them together."""

TOKEN_LETTERS_MIN: Final = 16
_MOST_MAX: Final = 1_000_000_000
_KEYS: Final = {
    "prefix": str, "consumers": int, "journal": str, "quarantine": str, "read_only": bool, "defines_for_all": bool,
}  # fmt: skip
_BYTES: Final = {"journal": "journal_bytes", "quarantine": "quarantine_bytes"}
_AS_IS: Final = ("prefix", "read_only", "defines_for_all")
_EXAMPLE: Final = '[spark]\\ntoken = "..."\\nprefix = "spark-"'


@dataclass(frozen=True, slots=True)
class Client:
    """Who asks. `name`: for people. `prefix`: of its consumers; `most`: how many of them there may be, and how many
    bytes of their records and entries (`journal_bytes`, `quarantine_bytes`).

    `defines_for_all`: definitions that its readers have from a file, a server or another node count for every consumer.
    """

    name: str
    prefix: str = ""
    most: int = CONSUMERS_MAX
    read_only: bool = False
    defines_for_all: bool = False
    journal_bytes: int = JOURNAL_BYTES_MAX
    quarantine_bytes: int = QUARANTINE_BYTES_MAX

    def owns(self, consumer: str | None) -> bool:
        """Whether a consumer is one of the client's; None, nobody's, is everybody's."""
        return consumer is None or consumer.startswith(self.prefix)


EVERYBODY: Final = Client("everybody", most=1_000_000, journal_bytes=MIB * MIB)
"""Who asks where nobody has to say who he is."""


@dataclass(frozen=True, slots=True)
class Clients:
    """Those that are known. `certificates`: by a name in them, None where any of the authority's counts.

    `tokens`: pairs, for they are not looked up, but compared. `open`: nobody has to say who he is.
    """

    certificates: Mapping[str, Client] | None
    tokens: Sequence[tuple[bytes, Client]] = ()
    open: bool = False

    def defines_for_all(self, name: str) -> bool:
        """Whether each client of that name may give definitions that count for every consumer."""
        every = [*(self.certificates or {}).values(), *(client for _, client in self.tokens)]
        named = [client.defines_for_all for client in every if client.name == name]
        return bool(named) and all(named)

    def by_token(self, token: bytes) -> Client | None:
        """Whose token that is. Takes as long whether one fits or not."""
        found = None
        for known, client in self.tokens:
            if hmac.compare_digest(known, token):
                found = client
        return found

    def by_certificate(self, names: Collection[str]) -> Client | None:
        """Whose certificate has one of these names, of those that the authority has signed."""
        if self.certificates is None:
            return Client(next(iter(names), "a certificate"))
        return next((self.certificates[name] for name in names if name in self.certificates), None)


def read_clients(path: Path) -> dict[str, Client]:
    """The file of certificates: clients by the name in theirs. UsageError."""
    found: dict[str, Client] = {}
    for name, client, entry in _entries(path, "certificate"):
        if entry in found:
            raise _wrong(path, f"one certificate for two clients ({name})")
        found[entry] = client
    return found


def read_tokens(path: Path) -> list[tuple[bytes, Client]]:
    """The file of tokens. UsageError, which never shows one."""
    found: dict[bytes, Client] = {}
    for name, client, entry in _entries(path, "token"):
        if len(entry) < TOKEN_LETTERS_MIN or not all("!" <= letter <= "~" for letter in entry):
            raise _wrong(path, f"the token of {name} is no {TOKEN_LETTERS_MIN} printable letters or more")
        if entry.encode() in found:
            raise _wrong(path, f"one token for two clients ({name})")
        found[entry.encode()] = client
    return list(found.items())


def _entries(path: Path, key: str) -> list[tuple[str, Client, str]]:
    tables = _read(path)
    found = []
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise _wrong(path, f"{name} stands in no table")
        entry = table.get(key)
        if not isinstance(entry, str) or not entry:
            raise _wrong(path, f"client {name} has no {key}")
        for word, value in table.items():
            if word != key and type(value) is not _KEYS.get(word):
                raise _wrong(path, f"{word} of client {name}")
        more = {word: value for word, value in table.items() if word in _AS_IS}
        for word in _BYTES.keys() & table.keys():
            if (size := size_of(table[word])) is None:
                raise _wrong(path, f"{word} of client {name}, which is no size such as '64m'")
            more[_BYTES[word]] = size
        most = table.get("consumers", CONSUMERS_MAX)
        if not 0 <= most <= _MOST_MAX:
            raise _wrong(path, f"consumers of client {name}")
        found.append((name, Client(name, most=most, **more), entry))
    if not found:
        raise _wrong(path, "no client")
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise UsageError("no such file", file=str(path)) from None
    except OSError as error:
        raise system_error("cannot read the file", error, path) from error
    except (ValueError, RecursionError):
        # Not TOMLDecodeError alone: a number of thousands of digits is a ValueError of Python's own. Not what it says
        # is wrong: that may be a part of a token.
        raise _wrong(path, "no TOML") from None


def _wrong(path: Path, found: str) -> UsageError:
    return UsageError(
        "who may ask cannot be read",
        file=str(path),
        expected=f"tables of clients such as {_EXAMPLE!r}, with certificate or token, and {', '.join(_KEYS)}",
        found=found,
    )
