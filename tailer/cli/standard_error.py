"""Sentences of the commands on standard error, in the form that `--log-format` asks for.

    nothing    cdc-tail: SENTENCE
    text       2026-11-22T14:05:43.123Z notice cdc-tail: SENTENCE; on a terminal as without, for people look at a clock;
               in systemd's journal <5>cdc-tail: SENTENCE, whence the journal takes the level, and has a time itself
    json       {"time": …, "level": …, "message": …}, a line each

Levels: `error` ends the run, `warning` is of what is left out, lost or stuck, `notice` of what a log or its state gives
reason to say, `info` of how far it is. The only place that knows these forms; bars are drawn elsewhere, if at all.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import IO, Any, Final, Literal

from tailer.options.declared_commands import LOG_FORMAT
from tailer.sinks.text import printable

NAME: Final = "cdc-tail"
WARNING: Final = "warning: "
"""What a sentence begins with that is a warning, wherever it comes from: Spark hands on nothing but text."""

Level = Literal["error", "warning", "notice", "info"]
Form = Literal["text", "json"]

_PRIORITIES: Final[Mapping[Level, int]] = {"error": 3, "warning": 4, "notice": 5, "info": 6}
"""As syslog numbers them."""


class StandardError:
    """What one run says; `begin` makes it anew."""

    def __init__(self) -> None:
        self._form: Form | None = None

    def begin(self, arguments: Sequence[str], environ: Mapping[str, str]) -> None:
        """A run begins: until its options are known the form is what its words or the environment seem to say."""
        said = environ.get(LOG_FORMAT.variable, "")
        for word, behind in zip(arguments, [*arguments[1:], ""], strict=False):
            name, equals, value = word.partition("=")
            if name == f"--{LOG_FORMAT.word}":
                said = value if equals else behind
        self._form = _known(said.strip().lower())

    def choose(self, options: Mapping[str, Any]) -> None:
        """The options of the run are known."""
        self._form = options[LOG_FORMAT.name]

    def info(self, sentence: str) -> None:
        """How far a run is, and what it does."""
        self._write("info", sentence)

    def notice(self, sentence: str) -> None:
        """What a log or its state gives reason to say; a warning if it says so itself."""
        self._write("notice", sentence)

    def error(self, sentence: str, code: int, traceback: str | None = None) -> None:
        """What ended the run, the exit code that it has, and the traceback for who asked for it."""
        self._write("error", sentence, code, traceback)

    def draws(self) -> bool:
        """Whether a bar may be drawn: on a terminal that is not kept for lines of JSON."""
        return sys.stderr.isatty() and self._form != "json"

    def _write(self, level: Level, sentence: str, code: int | None = None, traceback: str | None = None) -> None:
        if level == "notice" and sentence.startswith(WARNING):
            level = "warning"
        if self._form == "json":
            line = _json(level, sentence.removeprefix(WARNING), {"exit": code, "traceback": traceback})
        else:
            line = f"{_shown(traceback or '')}{self._for_people(level, printable(sentence))}"
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()

    def _for_people(self, level: Level, sentence: str) -> str:
        if self._form is None or sys.stderr.isatty():
            return f"{NAME}: {sentence}"
        if _is_journal(sys.stderr, os.environ):
            return f"<{_PRIORITIES[level]}>{NAME}: {sentence}"
        return f"{_now()} {level} {NAME}: {sentence.removeprefix(WARNING)}"


def _shown(traceback: str) -> str:
    """Of a traceback the lines, in which an error's text stands raw."""
    return "\n".join(map(printable, traceback.split("\n"))) if sys.stderr.isatty() else traceback


def _json(level: Level, message: str, more: Mapping[str, object]) -> str:
    import msgspec

    fields = {"time": _now(), "level": level, "message": message, **more}
    return msgspec.json.encode({name: value for name, value in fields.items() if value is not None}).decode()


def _known(said: str) -> Form | None:
    return "json" if said == "json" else "text" if said == "text" else None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _is_journal(stream: IO[str], environ: Mapping[str, str]) -> bool:
    """Whether systemd made this very stream a way into its journal: the variable alone is inherited by everybody."""
    told = environ.get("JOURNAL_STREAM")
    if not told:
        return False
    try:
        state = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return told == f"{state.st_dev}:{state.st_ino}"


STANDARD_ERROR: Final = StandardError()
