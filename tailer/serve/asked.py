"""What a request says, checked: its body, its numbers, its range, whose lease it is under. Does nothing of it."""

from __future__ import annotations

import asyncio
import re
from typing import Any, Final, NamedTuple

import msgspec
from aiohttp import web

from tailer.framing.name import SegmentName, parse_log_name
from tailer.options.names import NAME_WORDS, is_name
from tailer.serve.problems import ProblemError, refused
from tailer.wire import words
from tailer.wire.paths import BODY_BYTES_MAX, LEASE_HEADER, LIST_WAIT_SECONDS, READER_HEADER
from tailer.wire.state import Problem, decode
from tailer.wire.wishes import PARAMETER, WISHES_MAX, Wish, parse_wishes

BODY_SECONDS: Final = 20.0
"""How long a body may take to come."""

READER_LETTERS_MAX: Final = 100

_NUMBER: Final = re.compile(r"\d{1,18}", re.ASCII)
_SECONDS: Final = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)s?", re.ASCII)
_RANGE: Final = re.compile(r"bytes=(\d{1,18})-(\d{1,18})?", re.ASCII)
_HOLD: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,149}")
_READER: Final = re.compile(r"[!-~]+")


class Claim(NamedTuple):
    """A reader says that a name is leased to it."""

    reader: str
    version: int


class ByteRange(NamedTuple):
    """From `first` to before `end`; `end` None for all that there is."""

    first: int
    end: int | None


async def body_of(request: web.Request, form: type[Any]) -> Any:
    """The request's body as one of the shapes of `wire/`."""
    if (request.content_length or 0) > BODY_BYTES_MAX:
        raise _too_large()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            data = await request.read()
    except TimeoutError:
        raise refused(f"the body did not come within {BODY_SECONDS:.0f} s", status=408) from None
    except web.HTTPRequestEntityTooLarge:
        raise _too_large() from None
    try:
        return decode(data, form)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError, UnicodeDecodeError) as error:
        raise refused("the body is not what is taken here", expected=form.__name__, found=str(error)) from error


def number_of(request: web.Request, name: str, default: int | None = None) -> int | None:
    """A whole number of the query."""
    text = request.query.get(name)
    if text is None:
        return default
    if _NUMBER.fullmatch(text) is None:
        raise refused(f"{name} in the address", expected="a whole number", found=repr(text[:50]))
    return int(text)


def wait_of(request: web.Request) -> float:
    """How long a list that has nothing new is waited for: seconds, with or without their `s`."""
    text = request.query.get("wait", "0")
    found = _SECONDS.fullmatch(text)
    if found is None:
        raise refused("wait in the address", expected="seconds, such as 25s", found=repr(text[:50]))
    return min(float(found[1]), LIST_WAIT_SECONDS)


def wishes_of(request: web.Request) -> tuple[Wish, ...]:
    """The bytes that are to come with a list."""
    text = request.query.get(PARAMETER, "")
    found = parse_wishes(text)
    if found is None:
        expected = f"NAME@PLACE, and at most {WISHES_MAX} of them with ',' between"
        raise refused(f"{PARAMETER} in the address", expected=expected, found=repr(text[:100]))
    return found


def range_of(request: web.Request) -> ByteRange:
    """Of a file. One range with a beginning alone: nothing here needs another, and many may be one attack."""
    text = request.headers.get("Range")
    if text is None:
        return ByteRange(0, None)
    found = _RANGE.fullmatch(text.strip())
    if found is None or len(request.headers.getall("Range")) > 1 or (found[2] and int(found[2]) < int(found[1])):
        raise refused("the range", expected="bytes=FIRST-LAST or bytes=FIRST-, one range", found=repr(text[:100]))
    return ByteRange(int(found[1]), None if found[2] is None else int(found[2]) + 1)


def segment_of(request: web.Request) -> SegmentName:
    """The segment that the address names: of the grammar, or there is none of that name."""
    text = request.match_info["name"]
    name = parse_log_name(text)
    if name is None or name.log != text:
        found = repr(text[:100])
        what = "no segment has such a name"
        raise ProblemError(404, Problem(words.GONE, what, expected="CommitLog-VERSION-ID.log", found=found))
    return name


def hold_of(request: web.Request) -> str:
    """The hold that the address names."""
    text = request.match_info["name"]
    if _HOLD.fullmatch(text) is None:
        raise refused(
            "the name of a hold", expected="up to 150 letters, digits, '.', '_' and '-'", found=repr(text[:100])
        )
    return text


def name_of(request: web.Request) -> str:
    """The consumer that the address names."""
    text = request.match_info["name"]
    if not is_name(text):
        raise refused("the name in the address", expected=NAME_WORDS, found=repr(text[:100]))
    return text


def claim_of(request: web.Request) -> Claim | None:
    """Whose lease a request is under; None where it says nothing of one."""
    reader, version = request.headers.get(READER_HEADER), request.headers.get(LEASE_HEADER)
    if reader is None and version is None:
        return None
    if version is None or _NUMBER.fullmatch(version) is None:
        raise refused(LEASE_HEADER, expected="a whole number", found=repr((version or "")[:50]))
    return Claim(check_reader(reader or ""), int(version))


def check_reader(reader: str) -> str:
    """The random name that a reader gave itself."""
    if len(reader) > READER_LETTERS_MAX or _READER.fullmatch(reader) is None:
        raise refused("the reader's name", expected=f"1 to {READER_LETTERS_MAX} printable letters")
    return reader


def _too_large() -> ProblemError:
    return refused("the body is too large", status=413, expected=f"{BODY_BYTES_MAX} bytes at most")
