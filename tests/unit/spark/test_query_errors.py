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
