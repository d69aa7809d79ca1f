"""What an option's value may be, the same at every door: a text is read, and any value is checked.

Knows no option and no door.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple
from uuid import UUID

from tailer.errors import UsageError
from tailer.limits import shown, whole_number
from tailer.options.amounts import lacks_zone, lag_of, moment_of, seconds_of, size_of
from tailer.options.listen import listen_of
from tailer.options.names import NAME_WORDS, is_name
from tailer.options.token_range import TokenRange, token_range
from tailer.position import Position

Shape = Literal["value", "flag", "list"]
"""How a value is given on a command line: behind the option, by the option itself, or again and again."""

_NUMBER_MAX: Final = 1e9
_SYNC_MS_MAX: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class Kind:
    """`check`: the value as the program has it, None for one that is refused. `read`: a text's value, unchecked.

    `expected` is for errors, `metavar` for help.
    """

    expected: str
    check: Callable[[Any], Any]
    metavar: str = "TEXT"
    read: Callable[[str], Any] = str.strip
    shape: Shape = "value"

    def take(self, value: object, what: str, *, file: str | None = None) -> Any:
        """The value, checked; UsageError for a wrong one, which says `what` it was given for."""
        return self._known(self.check(value), value, what, file)

    def take_text(self, text: str, what: str, *, file: str | None = None) -> Any:
        """The value that a text says; UsageError."""
        return self._known(self.check(self.read(text)), text, what, file)

    def _known(self, found: Any, given: object, what: str, file: str | None) -> Any:
        if found is None:
            raise UsageError(what, file=file, expected=self.expected, found=shown(given))
        return found


class CommitEvery(NamedTuple):
    """When a position is saved: after each `batch` or `segment`, or after `number` `rows` or `ms`."""

    unit: Literal["batch", "segment", "rows", "ms"]
    number: int = 1

    def __str__(self) -> str:
        return f"{self.number} {self.unit}" if self.unit in ("rows", "ms") else self.unit


def word(*words: str) -> Kind:
    """One of a few words; a text's case does not matter."""
    known = {each.lower(): each for each in words}
    return Kind(
        " or ".join(words),
        lambda value: value if isinstance(value, str) and value in words else None,
        f"[{'|'.join(words)}]",
        lambda text: known.get(text.strip().lower(), text),
    )


def matching(pattern: str, expected: str, metavar: str) -> Kind:
    """A text that a regular expression matches as a whole."""
    fits = re.compile(pattern, re.DOTALL)
    return Kind(expected, lambda value: value if isinstance(value, str) and fits.fullmatch(value) else None, metavar)


def whole(least: int, most: int, metavar: str) -> Kind:
    """A whole number within bounds."""
    return Kind(
        f"a whole number, {least} to {most}",
        lambda value: value if type(value) is int and least <= value <= most else None,
        metavar,
        whole_number,
    )


def number(metavar: str, *, least: float = 0) -> Kind:
    """A number of at least `least`."""
    return Kind(
        f"a number, {least:g} or more",
        lambda value: float(value) if _is_number(value) and least <= value < _NUMBER_MAX else None,
        metavar,
        _number,
    )


def amount(parse: Callable[[str], Any], expected: str, metavar: str) -> Kind:
    """A time or size in words; a size may be a number too."""
    return Kind(
        expected,
        lambda value: parse(str(value)) if isinstance(value, str) or _is_short(value) else None,
        metavar,
    )


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_short(value: object) -> bool:
    """Whether it is a whole number of 64 bits: of longer ones Python may make no text."""
    return type(value) is int and value.bit_length() <= 64


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _path(value: object) -> Path | None:
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    return Path(text) if isinstance(text, str) and text else None


def _texts(value: object) -> tuple[str, ...] | None:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return None
    found = tuple(sorted(value) if isinstance(value, AbstractSet) else value)
    return found if all(isinstance(each, str) and each for each in found) else None


def _table_ids(value: object) -> tuple[str, ...] | None:
    """Ids of tables as 32 hex digits."""
    found = _texts(value)
    try:
        return None if found is None else tuple(UUID(each).hex for each in found)
    except ValueError:
        return None


def _pairs(value: object) -> dict[str, str] | None:
    if isinstance(value, Mapping):
        if not all(isinstance(each, str | bool | float) or _is_short(each) for each in value.values()):
            return None
        return {str(name): each if isinstance(each, str) else str(each).lower() for name, each in value.items()}
    texts = _texts(value)
    if texts is None or not all("=" in text for text in texts):
        return None
    return {name: rest for name, _, rest in (text.partition("=") for text in texts)}


def _position(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    if value.lower() in ("earliest", "latest"):
        return value.lower()
    return value if Position.parse(value) is not None or _is_json(value) else None


def _start(value: object) -> str | None:
    if isinstance(value, str) and value.lower() == "snapshot":
        return value.lower()
    if isinstance(value, str) and lacks_zone(value):
        raise without_zone(value)
    return _position(value) or (value if isinstance(value, str) and moment_of(value) is not None else None)


def without_zone(text: str) -> UsageError:
    """The error for a moment that may be any of some twenty-five."""
    return UsageError(
        "a time without its zone",
        expected=f"{text}Z for UTC, or an offset such as {text}+01:00",
        found=repr(text),
    )


def _is_json(text: str) -> bool:
    import msgspec

    try:
        return text.lstrip().startswith("{") and msgspec.json.decode(text) is not None
    except msgspec.DecodeError:
        return False


_COMMIT: Final = re.compile(r"(\d{1,9})\s*(rows?|ms)", re.ASCII)


def _commit(value: object) -> CommitEvery | None:
    if isinstance(value, CommitEvery):
        return value
    if value == "batch":
        return CommitEvery("batch")
    if value == "segment":
        return CommitEvery("segment")
    match = _COMMIT.fullmatch(value) if isinstance(value, str) else None
    if match is None or int(match[1]) == 0:
        return None
    return CommitEvery("ms" if match[2] == "ms" else "rows", int(match[1]))


def _sync(value: object) -> str | None:
    name, _, ms = value.partition(":") if isinstance(value, str) else ("", "", "")
    fits = name in ("group", "periodic") and 0 < (whole_number(ms) or 0) < _SYNC_MS_MAX
    return value if isinstance(value, str) and (fits or value == "batch") else None


FLAG: Final = Kind(
    "true or false",
    lambda value: value if isinstance(value, bool) else None,
    "",
    lambda text: {"true": True, "false": False}.get(text.strip().lower()),
    "flag",
)
TEXT: Final = matching(r".+", "a text that is not empty", "TEXT")
NODE: Final = matching(r"[A-Za-z0-9][A-Za-z0-9._-]*", "letters, digits, '.', '_' and '-'", "NAME")
NAME: Final = Kind(NAME_WORDS, lambda value: value if isinstance(value, str) and is_name(value) else None, "NAME")
TABLE: Final = matching(r".+", "keyspace.table", "KS.TABLE")
TOPIC: Final = matching(r"[A-Za-z0-9._-]{1,249}", "letters, digits, '.', '_' and '-'", "TOPIC")
PREFIX: Final = matching(r"\w{1,40}", "letters, digits and '_', 1 to 40 of them", "TEXT")
ADDRESS: Final = matching(r".+", "HOST or HOST:PORT", "HOST[:PORT]")
LISTEN: Final = Kind("PORT or HOST:PORT", listen_of, "[HOST:]PORT")
FILE: Final = Kind("a path", _path, "FILE", str)
FOLDER: Final = Kind("a path", _path, "DIR", str)
POSITION: Final = Kind("segment:offset, earliest, latest, or an offset's JSON", _position, "POSITION")
START: Final = Kind(
    "segment:offset, earliest, latest, snapshot, a time such as 2026-11-20T10:00Z, or an offset's JSON",
    _start,
    "POSITION",
)
TOKENS: Final = Kind(
    f"a range of tokens, such as {-(2**63)}..0",
    lambda value: token_range(value) if isinstance(value, str) else value if isinstance(value, TokenRange) else None,
    "A..B",
)
SECONDS: Final = number("SECONDS")
MILLIS: Final = number("MILLIS")
SIZE: Final = amount(size_of, "a size, such as 1048576, 64m or 10g", "SIZE")
BYTES: Final = amount(lambda text: size_of(text) or None, "a number of bytes, such as 67108864 or 64m", "BYTES")
TIME: Final = amount(seconds_of, "a time, such as 30s, 5min, 12h or 7d", "TIME")
LAG: Final = amount(lag_of, "a time (30s, 5min, 2h) or a size (64m, 1g; m is MiB)", "LIMIT")
COMMIT: Final = Kind("batch, segment, '1000 rows' or '500 ms'", _commit, "WHEN", str)
SYNC: Final = Kind("batch, group:MS or periodic:MS", _sync, "POLICY")
TABLES: Final = Kind(
    "a sequence of names",
    _texts,
    "KS.TABLE",
    lambda text: [name for part in text.split(",") if (name := part.strip())],
    "list",
)
NAMES: Final = replace(TABLES, metavar="NAME")
NODES: Final = replace(
    TABLES,
    expected=f"names of nodes ({NODE.expected})",
    check=lambda value: found if (found := _texts(value)) is not None and all(map(NODE.check, found)) else None,
    metavar="NAME",
)
TABLE_IDS: Final = replace(TABLES, expected="ids of tables, as UUIDs", check=_table_ids, metavar="ID")
MASKS: Final = replace(TABLES, expected="a sequence of masks", metavar="KS.TABLE.COLUMN=WORD")
EXCLUDED: Final = replace(TABLES, metavar="KS.TABLE[.COLUMN]")
PAIRS: Final = Kind("NAME=VALUE", _pairs, "NAME=VALUE", str.split, "list")
