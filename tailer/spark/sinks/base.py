"""What a sink of a query is to the command that runs it. Knows no option of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class QuerySink(Protocol):
    """One place for rows. Made before the JVM has started: what is wrong with the choice is a UsageError by then."""

    name: str
    """As the command names it at the start."""

    max_bytes: str
    """Bytes of log in one micro-batch, unless another limit was given."""

    failure: BaseException | None
    """What stopped this sink, where Spark's own error would not tell."""

    def packages(self) -> tuple[str, ...]:
        """Maven coordinates that the session needs."""
        ...

    def conf(self) -> Mapping[str, str]:
        """Settings that the session needs."""
        ...

    def prepare(self, session: SparkSession, frame: DataFrame) -> None:
        """Make and check what rows go into. Raises the documented errors."""
        ...

    def writer(self, frame: DataFrame) -> Any:
        """The query's DataStreamWriter, all but its checkpoint and trigger."""
        ...

    def close(self) -> None:
        """No more rows will come."""
        ...


class PlainSink:
    """What most sinks have in common: nothing."""

    failure: BaseException | None = None

    def packages(self) -> tuple[str, ...]:
        return ()

    def conf(self) -> Mapping[str, str]:
        return {}

    def prepare(self, session: SparkSession, frame: DataFrame) -> None:
        """Nothing to make."""

    def close(self) -> None:
        """Nothing is open."""
