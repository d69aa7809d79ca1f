"""The node's own reading of its log: the definitions and log ends that hold for everybody, journalled as it finds them.

A reader elsewhere says what it has found; nobody's word is taken for what the log itself says. A tail without consumer
reads from the segment that is asked about, delivers nothing, and leaves in the journal what every tail leaves there.
One thread reads.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from tailer.errors import CdcError
from tailer.options.tail import TailOptions
from tailer.state.journal_records import AnyRecord, DefinitionRecord, SchemaRecord, SegmentEndRecord
from tailer.state.node_log import folder_log
from tailer.state.offset import Memory, NodeOffset

if TYPE_CHECKING:
    from tailer.tail.tail import Tail

READ_SECONDS: Final = 300.0
"""After so long who asked is told to ask again."""

READING: Final[Mapping[str, Any]] = MappingProxyType(
    # What cannot be decoded keeps nobody from the rest, and nothing is left out that some reader may want.
    {"on_error": "quarantine", "schema_changes": True, "program": "cdc-tail serve"}
)
"""Options of this reading, besides keys."""

_NOT_VISIBLE_SECONDS: Final = 2.0
_WAIT_SECONDS: Final = 0.1

Known = Callable[[], bool]


class OwnReading:
    """Of one folder. `options`: `READING`, with keys of encrypted segments at most."""

    def __init__(self, folder: Path, options: TailOptions, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._options = options
        self._clock = clock
        self._tail: Tail | None = None
        self._ends = threading.Event()

    def read(self, wanted: Sequence[AnyRecord], known: Known) -> CdcError | bool:
        """Read until what is `wanted` is `known`: True, or False where the time is over before that is clear.

        An error: what reading stops at, or that the log says nothing like it.
        """
        segments = [segment_of(record) for record in wanted]
        until = self._clock() + READ_SECONDS
        for anew in (False, True):
            found = self._read(min(segments), max(segments), known, until, anew=anew)
            if found is not None:
                return found
        return CdcError("the node's own reading of its log gives no such record")

    def end(self) -> None:
        """The server stops: whoever reads ends soon."""
        self._ends.set()

    def close(self) -> None:
        if self._tail is not None:
            self._tail.close()
            self._tail = None

    def _read(self, first: int, last: int, known: Known, until: float, *, anew: bool) -> CdcError | bool | None:
        """None: reading has come behind it, or to the log's end, without having found it."""
        try:
            tail = self._at(first, anew=anew)
            seen = self._clock()
            while not known():
                if self._ends.is_set() or self._clock() >= until:
                    return False
                step = tail.step()
                tail.advance(step)
                tail.take_notices()
                if step.brings:
                    seen = self._clock()
                elif step.error is not None:
                    return True if known() else step.error
                elif step.waiting and self._clock() - seen < _NOT_VISIBLE_SECONDS:
                    tail.wait(_WAIT_SECONDS)
                else:
                    return True if known() else None
                if tail.offset.s > last:
                    return True if known() else None
        except CdcError as error:
            self.close()
            return error
        except BaseException:
            self.close()
            raise
        return True

    def _at(self, segment: int, *, anew: bool) -> Tail:
        """A tail that stands in a segment, where it can at its beginning."""
        # Who reads logs needs far more than who serves their bytes, and not every node is asked to.
        from tailer.tail.open import open_tail

        tail = self._tail
        if tail is None:
            tail = self._tail = open_tail(folder_log(self._folder, self._options.state), self._options)
        elif not anew and tail.offset.s == segment and not tail.offset.done:
            return tail
        offset = tail.parts.journal.stamped(NodeOffset(0, segment, 0, False))
        tail.go_on(offset, Memory())
        return tail


def segment_of(record: AnyRecord) -> int:
    """The segment in which the log says what a record says."""
    if isinstance(record, SchemaRecord):
        return (record.found or record.at).segment
    if isinstance(record, DefinitionRecord):
        return record.at.segment
    assert isinstance(record, SegmentEndRecord)
    return record.segment
