"""What a damaged reading may give: the invariant, by what the sidecar as read vouches for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tests.damage.deliver import Outcome, check_sentence
from tests.damage.sample import SEGMENT, Sample

LOG_END = re.compile(rf"the log ends at {SEGMENT}:(\d+)\b")
PLACE = re.compile(rf"\b{SEGMENT}:\d+\b")


def promised(outcome: Outcome, rows: Sequence[str]) -> str:
    """These rows were promised: they came, or those before the damage and one documented error. How it ended."""
    check_prefix(outcome, rows)
    if outcome.error is None:
        assert outcome.rows == list(rows), f"{len(outcome.rows)} of {len(rows)} rows with exit 0: {outcome.said}"
    return ending(outcome)


def crashed(outcome: Outcome, sample: Sample, vouched: Sequence[str], data: bytes) -> str:
    """Rows beyond `vouched` may be missing: where the log ends in zeros or with the file, else with a notice."""
    check_prefix(outcome, sample.rows)
    if outcome.error is None and len(outcome.rows) < len(sample.rows):
        assert len(outcome.rows) >= len(vouched), f"{len(outcome.rows)} of {len(vouched)} promised rows: {outcome.said}"
        told = any(PLACE.search(line) for line in outcome.said)
        assert told or ends_in_order(outcome, sample, data), f"silently lost rows: {outcome.said}"
        return "0, log ends"
    return ending(outcome)


def ends_in_order(outcome: Outcome, sample: Sample, data: bytes) -> bool:
    """Whether the file shows no more behind the section edge up to which rows came: it ends there, or has zeros."""
    edges = {0: 0, sample.writer.header_length: sample.writer.header_length}
    edges |= {section.end: section.next_at for section in sample.writer.sections}
    return any(
        outcome.rows == list(sample.vouched(end)) and (len(data) < at + 8 or not any(data[at : at + 8]))
        for end, at in edges.items()
    )


def check_prefix(outcome: Outcome, rows: Sequence[str]) -> None:
    """Each delivered row is that of the undamaged log, in its place; none is beyond what is vouched for."""
    assert outcome.rows == list(rows[: len(outcome.rows)]), "rows that the log does not hold"
    if outcome.error is not None:
        check_sentence(outcome.error)
        assert PLACE.search(outcome.error.sentence()), outcome.error.sentence()


def told_end(outcome: Outcome) -> int | None:
    """The logical offset at which a notice says that the log ends."""
    found = [match for line in outcome.said if (match := LOG_END.search(line))]
    return int(found[0][1]) if found else None


def ending(outcome: Outcome) -> str:
    return str(outcome.code)
