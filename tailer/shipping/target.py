"""What data files are sent to: the protocol of all targets, and which number a shipper goes on behind.

Target first, the shipper's own file after it: after a kill the target may be one file ahead. Knows no target.
"""

from __future__ import annotations

from typing import Protocol

from tailer.errors import LossError, RefusedError
from tailer.shipping.shippers import Sent
from tailer.sinks.files.series import DataFile, Series


class Target(Protocol):
    """Takes whole data files, each node's by number. Not thread-safe.

    `name`: in words, without a password. `keeps_numbers`: it knows what it has, so that a file is there once; without,
    the shipper's own file counts, and what was sent behind that comes again after a kill.
    """

    name: str
    keeps_numbers: bool

    def standing(self, newest: DataFile) -> int | None:
        """The last number of a node's files that a target has which keeps numbers; None where it has none of them.

        `newest`: the last of these files here. Raises TargetAwayError, UsageError, RefusedError where another's stand
        there.
        """
        ...

    def send(self, file: DataFile) -> None:
        """When this returns the target has the file. Sent again, it is as if it had come once, as far as the target
        can: see docs/files.md. Raises TargetAwayError, SinkError, UsageError, RefusedError."""
        ...

    def close(self) -> None: ...


def check_not_ahead(held: Sent, series: Series) -> None:
    """RefusedError for a shipper that has sent more than there ever was: numbers would be taken for sent."""
    newest = series.numbers()[-1]
    if held.upto > newest:
        raise RefusedError(
            f"the shipper is ahead of the data files of node {series.node}: were these restored from a backup?",
            expected=f"at most number {newest}",
            found=held.upto,
            remedy="Restore all of the folder of one time; or forget this shipper (--drop), which then sends again "
            "what is here.",
        )


def check_follows(file: DataFile, held: Sent) -> None:
    """RefusedError for a file that was not written behind the one that was sent last."""
    if held.sha256 and file.index.previous != held.sha256:
        raise RefusedError(
            f"data files of node {file.node} are not those that were sent up to {held.upto}: numbers were given twice",
            file=str(file.path),
            expected=f"one behind the SHA-256 {held.sha256}",
            found=file.index.previous or "none",
            remedy="Were indexes deleted, or the folder restored? Forget this shipper (--drop), which then sends again "
            "what is here.",
        )


def go_on_behind(held: Sent, stands: int | None, series: Series, where: str) -> int:
    """The number behind which a shipper goes on, with what its target has. RefusedError, LossError."""
    numbers = series.numbers()
    if stands is None:
        if held.upto == held.since:
            return held.upto
        raise RefusedError(
            f"{where} has none of the data files of node {series.node}, of which {held.upto} were sent",
            remedy="Was it emptied, or is it another target? Give the shipper another name (--consumer); or forget "
            "this one (--drop) to begin with what is still here.",
        )
    if stands > numbers[-1]:
        raise RefusedError(
            f"{where} is ahead of the data files of node {series.node}: were these restored from a backup?",
            expected=f"at most number {numbers[-1]}",
            found=stands,
            remedy="Restore folder and target of one time, or ship to another target.",
        )
    if stands < held.upto and stands + 1 < numbers[0]:
        raise LossError(
            f"{where} is behind: the data files of node {series.node} that it lacks were removed",
            expected=f"number {numbers[0] - 1} or a later one",
            found=stands,
            remedy="Restore the target, or forget this shipper (--drop) to begin with what is still here.",
        )
    return stands
