"""What a consumer must get while a folder changes under it: each stage gives what that stage newly covers."""

from __future__ import annotations

from pathlib import Path

from tests.oracle.recording import is_schema, recording
from tests.oracle.rows import start, used_definitions
from tests.oracle.schema import Follower
from tests.oracle.segments import plan, segments
from tests.oracle.view import Expected, Row


class Replay:
    """Feed it the folder's states in order; each `stage` returns the rows not covered before, and the exit code.

    Definitions are those of every schema line seen at any stage so far, each valid from its own place.
    """

    def __init__(self, set_dir: Path) -> None:
        self._record = recording(set_dir)
        self._known: dict[int, int] = {}
        self._read: dict[int, int] = {}
        """Rows up to here were given."""

    def position(self) -> tuple[int, int]:
        """Segment and offset up to which everything was given."""
        segment = max(self._read)
        return segment, self._read[segment]

    def stage(self, folder: Path, *, stopped: bool = False) -> Expected:
        made = Expected(plan=plan(segments(folder), stopped=stopped))
        for reach in made.plan.reaches:
            self._known[reach.segment] = max(reach.known, self._known.get(reach.segment, 0))
        made.rows = self._newly_covered({reach.segment: reach.limit for reach in made.plan.reaches})
        for reach in made.plan.reaches:
            if reach.limit:
                self._read[reach.segment] = max(reach.limit, self._read.get(reach.segment, 0))
        if made.plan.promised:
            made.exit_code, made.held_back = 9, made.plan.held
        return made

    def _newly_covered(self, limits: dict[int, int]) -> list[Row]:
        follower = Follower()
        rows: list[Row] = []
        for line in self._record.every_line():
            segment, end = line["segment"], line["end"]
            if is_schema(line):
                if end <= self._known.get(segment, 0):
                    follower.apply(line["updates"])
            elif start(line) >= self._read.get(segment, 0) and end <= limits.get(segment, 0):
                definitions = used_definitions(line, follower.definitions)
                rows += [Row(*row, end) for row in self._record.rows(line, definitions)]
        return rows


def every_row(set_dir: Path) -> list[str]:
    """The texts of all rows of all segments, those long gone too, each with the definitions of its place."""
    record = recording(set_dir)
    follower = Follower()
    texts = []
    for line in record.every_line():
        if is_schema(line):
            follower.apply(line["updates"])
        else:
            texts += [text for _, text in record.rows(line, used_definitions(line, follower.definitions))]
    return texts
