"""What a journal refuses, and what is to be done then. Sentences only: `journal.py` says when."""

from __future__ import annotations

from pathlib import Path

from tailer.errors import CdcError, RefusedError, UsageError


def shorter(where: str, expected: int, found: int) -> CdcError:
    """A position was given that left when there were more records."""
    return RefusedError(
        "the journal is shorter than the position given says",
        file=where,
        expected=f"{expected} records",
        found=str(found),
        remedy="The state folder was deleted or replaced: start with a new consumer or checkpoint.",
    )


def of_another_state(where: str, expected: str, found: str) -> CdcError:
    """A position was given that left a state with another id."""
    return RefusedError(
        "the position given is of another state folder",
        file=where,
        expected=f"one of state {expected}",
        found=f"one of state {found}",
        remedy="Restore that folder, or start with a new consumer or checkpoint; a place in this log is named "
        "as SEGMENT:OFFSET.",
    )


def not_retractable(path: Path, number: int, found: str) -> CdcError:
    """Somebody asked to take back what is no schema record."""
    return UsageError(
        f"record {number} cannot be retracted",
        file=str(path),
        expected="the number of a schema record",
        found=found,
        remedy="`cdc-tail schema DIR --source` lists them.",
    )


def damaged(path: Path, number: int, expected: str, found: str) -> CdcError:
    """A record that no torn append explains."""
    return RefusedError(
        "the journal is damaged",
        file=f"{path}, record {number}",
        expected=expected,
        found=found,
        remedy="Restore the state folder from a backup; what the journal decided cannot be guessed.",
    )


def unknown_form(where: str, error: Exception) -> RefusedError:
    """The error of a record that no version up to this one wrote."""
    return RefusedError(
        "a journal record is of a form that this version does not know",
        file=where,
        expected="a kind and the fields of this version",
        found=str(error),
        remedy="A newer version of cdc-tail wrote it: use that version or a newer one.",
    )
