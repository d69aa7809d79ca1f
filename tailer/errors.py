"""The documented errors: one class per exit code, each telling what, where, expected, found, and what to do.

Inside the package everything raises these; only the edges (`cli`, `spark`) turn them into exit codes and texts.
"""

from __future__ import annotations

from typing import ClassVar, Final

from tailer.position import Position

ACCEPT: Final = "Restore the files, or go on without these changes with --accept-loss (failOnDataLoss=false in Spark)."
"""The remedy of a loss."""


class CdcError(Exception):
    """A documented failure. `code` is the exit code of architecture section 9.

    Rendered as one sentence of what, where (`segment:offset`, file name), expected, found, and one of what to do.
    """

    code: ClassVar[int] = 1

    def __init__(
        self,
        what: str,
        *,
        at: Position | None = None,
        file: str | None = None,
        expected: object = None,
        found: object = None,
        remedy: str = "",
    ) -> None:
        self.what = what
        self.at = at
        self.file = file
        self.expected = expected
        self.found = found
        self.remedy = remedy
        super().__init__(self.sentence())

    def __reduce__(self) -> tuple[object, ...]:
        # Spark carries errors between processes; the default would call __init__ with the rendered sentence only.
        return (_rebuild, (type(self), self.__dict__.copy()))

    def tell(self, where: str) -> None:
        """It says in front where it is."""
        self.what = f"{where}: {self.what}"

    def sentence(self) -> str:
        """All of it, as a user reads it."""
        return f"{self.fact()} {self.remedy}" if self.remedy else self.fact()

    def fact(self) -> str:
        """The same without what to do."""
        text = self.what
        if self.at is not None and str(self.at) not in text:
            text += f" at {self.at}"
        if self.file is not None:
            text += f" ({self.file})"
        return f"{with_parts(text, self.expected, self.found)}."


def with_parts(text: str, expected: object, found: object) -> str:
    """The text, and behind it what was expected and found, as far as that is given."""
    parts = [f"{word} {part}" for word, part in (("expected", expected), ("found", found)) if part is not None]
    return f"{text}: {', '.join(parts)}" if parts else text


def _rebuild(kind: type[CdcError], state: dict[str, object]) -> CdcError:
    error = kind.__new__(kind)
    error.__dict__.update(state)
    Exception.__init__(error, error.sentence())
    return error


class UsageError(CdcError):
    """Wrong usage: an option, a missing folder, no permission at the start."""

    code = 2


class DefinitionError(CdcError):
    """No definition for a table or column, bytes that do not fit theirs, an unknown format version, a missing key."""

    code = 3


class UnknownTableError(DefinitionError):
    """An entry of a table that no definition names. `table`: its id as 32 hex digits; `beside_known`: rows of tables
    that are wanted stand in the same entry."""

    table: str = ""
    beside_known: bool = False


class OddKeyError(DefinitionError):
    """A key whose text Cassandra accepts and UTF-8 does not, where such keys are not delivered (--odd-keys)."""


class OtherKeyError(DefinitionError):
    """A row of an earlier table with the name of a typed one, which had another key. `table`: the name."""

    table: str = ""

    def begin_at(self, begins: Position, node: str | None = None) -> None:
        """Its remedy says where the table with the key of now begins. `node`: of several, the one of which that is."""
        alone = "" if node is None else f"read node {node} by itself, and "
        self.remedy = (
            "This is an earlier table of the same name with another key: read it in the generic form (--table), or "
            f"{alone}begin where the table of now does: --from {begins} (startingOffsets in Spark)."
        )


class CorruptError(CdcError):
    """Bytes that the log promised and that do not check."""

    code = 4


class LossError(CdcError):
    """Changes that were promised and are gone. `at` is the first position not read."""

    code = 5


class RefusedError(CdcError):
    """Somebody else holds the consumer, the log or the lock."""

    code = 6


class SinkError(CdcError):
    """The sink did not take the rows."""

    code = 7


class SystemFailedError(CdcError):
    """Disk full, I/O error: worth a restart."""

    code = 8


class QuarantineFullError(SystemFailedError):
    """The quarantine has reached its bound."""


class OwnLimitError(SystemFailedError):
    """This process or its machine has no descriptor or memory left: no node, server or target is away."""


class NodeAwayError(SystemFailedError):
    """A node that serves its log does not answer, or cannot be reached: it may be there again later."""


class HeldBackError(CdcError):
    """A run that does not wait ended with promised rows behind an unfinished segment."""

    code = 9
