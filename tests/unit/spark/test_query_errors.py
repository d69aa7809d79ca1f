"""What a query that failed says, in one sentence."""

from __future__ import annotations

import pytest

from tailer.spark.run import documented

CAUSES = (
    "Caused by: org.apache.spark.SparkException: Task failed\n\tat x.y(Z.scala:1)\nCaused by: java.io.IOException: gone"
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[TABLE_NOT_FOUND] no such table\nJVM stacktrace:\n" + CAUSES, "[TABLE_NOT_FOUND] no such table"),
        ("Exception thrown in awaitResult: \n\tat a.b(C.scala:2)\n" + CAUSES, "awaitResult: java.io.IOException: gone"),
        ("Exception thrown in awaitResult:\nGone", "awaitResult: Gone"),
        ("Exception thrown in awaitResult:", "awaitResult:"),
        ("", "RuntimeError"),
    ],
)
def test_its_last_cause_where_the_first_line_tells_none(text: str, told: str) -> None:
    error = documented(RuntimeError(text))
    assert error.code == 8
    assert f"{told}" in str(error)
    assert "Z.scala" not in str(error)


class Raised(Exception):
    """As Spark's are: the cause stands in an attribute of its own, and is not in the text."""

    def __init__(self, text: str, cause: Exception | None = None) -> None:
        super().__init__(text)
        self._cause = cause


AWAITED = "Exception thrown in awaitResult: \n=== Streaming Query ===\nIdentifier: x"


def test_the_last_cause_is_told_where_it_stands_beside() -> None:
    error = Raised(
        AWAITED, Raised("Exception thrown in awaitResult: ", Raised("the disk is full\n\tat a.b(C.scala:2)"))
    )
    assert "awaitResult: the disk is full. " in str(documented(error))


def test_a_documented_error_is_found_in_a_cause() -> None:
    error = documented(Raised(AWAITED, Raised("Task failed\n[CDC-4] segment 7 is damaged")))
    assert (error.code, str(error)) == (4, "segment 7 is damaged.")
