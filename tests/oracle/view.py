"""What `follow --once` must give for one folder: rows, exit code, and where it stops."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from tests.oracle.recording import Recording, is_schema, recording
from tests.oracle.rows import UnknownError, start, used_definitions
from tests.oracle.schema import Follower
from tests.oracle.segments import Plan, Reach, plan, segments


class Row(NamedTuple):
    """A change row as values and as the text of `--output json`; `end` is the end of its entry."""

    data: dict[str, Any]
    text: str
    end: int


class Undefined(NamedTuple):
    """An entry that nothing known defines: where it starts, and which id or column is missing."""

    segment: int
    offset: int
    size: int
    reason: str


@dataclass
class Expected:
    """`held_back` names the unfinished segment that later promises wait for; `undefined` what stops or is kept."""

    exit_code: int = 0
    rows: list[Row] = field(default_factory=list)
    undefined: list[Undefined] = field(default_factory=list)
    held_back: int | None = None
    plan: Plan = field(default_factory=lambda: Plan((), None, ()))

    @property
    def texts(self) -> list[str]:
        return [row.text for row in self.rows]


def expected(
    set_dir: Path,
    folder: Path,
    *,
    stopped: bool = False,
    base: bool = False,
    quarantine: bool = False,
    tables: Collection[str] = (),
) -> Expected:
    """The rows of `folder`, a state of the set's `cdc_raw`, link counts as they are there.

    `base`: definitions of the end are given beforehand (`--schema schema.cql`). `quarantine`: go on behind an entry
    that cannot be decoded.
    `tables`: deliver these (`keyspace.table`) and no others, whatever their cdc flag says.
    """
    record = recording(set_dir)
    made = Expected(plan=plan(segments(folder), stopped=stopped))
    follower = Follower(record.final if base else None)
    for reach in made.plan.reaches:
        if not _read(record, reach, follower, made, quarantine, tables):
            made.exit_code = 3
            return made
    if made.plan.promised:
        made.exit_code = 9
        made.held_back = made.plan.held
    return made


def _read(
    record: Recording, reach: Reach, follower: Follower, made: Expected, quarantine: bool, tables: Collection[str]
) -> bool:
    """One segment's lines in order; False where an entry is not defined and nothing says to go on."""
    for line in record.lines.get(reach.segment, []):
        if line["end"] <= reach.known and is_schema(line):
            follower.apply(line["updates"])
        elif line["end"] <= reach.limit:
            try:
                definitions = used_definitions(line, follower.definitions)
            except UnknownError as error:
                made.undefined.append(Undefined(reach.segment, start(line), line["size"], str(error)))
                if not quarantine:
                    return False
                continue
            if tables:
                definitions = tuple(
                    replace(each, cdc=f"{each.keyspace}.{each.table}" in tables) for each in definitions
                )
            made.rows += [Row(*row, line["end"]) for row in record.rows(line, definitions)]
    return True
