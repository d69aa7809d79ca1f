"""The sidecar's text (architecture section 3; format page 7.2). Knows no file.

    Cassandra 4.0+            writer_hooks
    <end>                     <min> <end> <restart>
    <end>\\nCOMPLETED          <min> <end> <restart>\\nDONE

A sidecar is rewritten in place, so a reader can meet it empty or cut: that means "look again", never an error.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tailer.limits import OFFSET_MAX, SIDECAR_BYTES_MAX
from tailer.position import Position

_LAST_WORDS: Final = {b"COMPLETED", b"DONE"}


class Sidecar(NamedTuple):
    """What a sidecar says: `end` = durable logical end, `completed` = no more will come.

    `first` and `restart` are there only in this project's own grammar.
    """

    end: int
    completed: bool
    first: int | None = None
    restart: Position | None = None


def encode_sidecar(sidecar: Sidecar) -> bytes:
    """The text as its writer leaves it: no newline at the end."""
    if sidecar.restart is None:
        text, word = str(sidecar.end), "COMPLETED"
    else:
        text, word = f"{sidecar.first} {sidecar.end} {sidecar.restart}", "DONE"
    return (f"{text}\n{word}" if sidecar.completed else text).encode()


def decode_sidecar(text: bytes) -> Sidecar | None:
    """The sidecar's content, or None for "look again" (empty, cut inside a word, not a number)."""
    if not text or len(text) > SIDECAR_BYTES_MAX:
        return None
    line, _, word = text.partition(b"\n")
    word = word.strip()
    if word and word not in _LAST_WORDS:
        return None
    numbers = line.split(b" ")
    if len(numbers) == 1:
        end = _number(numbers[0])
        return None if end is None else Sidecar(end, bool(word))
    if len(numbers) != 3:
        return None
    first, end = _number(numbers[0]), _number(numbers[1])
    restart = Position.parse(numbers[2].decode("ascii", "replace"))
    if first is None or end is None or restart is None:
        return None
    return Sidecar(end, bool(word), first, restart)


def _number(text: bytes) -> int | None:
    if not text.isdigit() or len(text) > 10:
        return None
    value = int(text)
    return value if value <= OFFSET_MAX else None
