"""Standard output and standard error where they are terminals: nothing of what is shown acts as a command there.

Control characters beyond ASCII (U+0080 to U+009F, of which U+009B begins a command as ESC [ does) and characters that
change the order or the look of others (bidirectional controls, zero-width ones) are written as `\\u009b`. In JSON,
which leaves them as they are, that is the same text. Control characters of ASCII are escaped where a text is made, for
our own colours have them. Files and pipes get every byte as it is.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import re
import sys
import unicodedata
from collections.abc import Iterator
from typing import IO, Any, BinaryIO, Final, TextIO, cast

_BEYOND: Final = re.compile(r"[^\x00-\x7e]")


def without_commands(text: str) -> str:
    """`text` with everything escaped that is neither ASCII nor a letter or space to be seen."""
    if text.isascii() and "\x7f" not in text:
        return text
    return _BEYOND.sub(lambda found: _shown(found[0]), text)


def _shown(letter: str) -> str:
    if letter.isprintable() or unicodedata.category(letter) == "Zs":
        return letter
    units = letter.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


class _TerminalBytes(io.BufferedIOBase):
    """A terminal's stream of UTF-8. A letter may come in two writes."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def write(self, data: Any) -> int:
        self._stream.write(without_commands(self._decoder.decode(bytes(data))).encode())
        return len(data)

    def flush(self) -> None:
        self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return True

    def writable(self) -> bool:
        return True


class _TerminalText(io.TextIOWrapper):
    """The same for text. `buffer`: for what writes bytes."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream.buffer, stream.encoding, stream.errors, line_buffering=True, write_through=True)
        self._bytes = _TerminalBytes(stream.buffer)

    @property
    def buffer(self) -> BinaryIO:
        return cast(BinaryIO, self._bytes)

    def write(self, text: str) -> int:
        super().write(without_commands(text))
        return len(text)


@contextlib.contextmanager
def terminals_guarded() -> Iterator[None]:
    """While it lasts, standard output and standard error are such streams where they are terminals."""
    kept = sys.stdout, sys.stderr
    made = [_TerminalText(stream) if stream is not None and stream.isatty() else None for stream in kept]
    sys.stdout, sys.stderr = (new or old for new, old in zip(made, kept, strict=True))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = kept
        for each in made:
            if each is not None:
                # Or the terminal's own stream is closed with this one. What cannot be written was said already.
                with contextlib.suppress(OSError, ValueError):
                    each.detach()
