"""A table kept in Delta Lake or Iceberg, and current state, while the source is altered, dropped and created again.

`migrations_run` does the merging, by a new writer at each step, in a process of its own; here is what must come out:
worked out by hand from what SELECT shows after each statement.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from tests.helpers.amount import ALL
from tests.helpers.jvm.jars import Unavailable
from tests.spark.told import Told, of, told_by

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.delta, pytest.mark.oldest]


@pytest.fixture(scope="module", params=["delta", "iceberg"] if ALL else ["delta"])
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Told:
    if request.param == "delta" and find_spec("delta") is None:
        pytest.skip("delta-spark is not installed (it pins an older pyspark: pip install 'cdc-tail[delta]')")
    if request.param == "iceberg":
        from tests.helpers.iceberg import jar

        try:
            jar()
        except Unavailable as error:
            pytest.skip(f"Iceberg's jar: {error}")
    work = tmp_path_factory.mktemp(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAKEHOUSE", request.param)
        found = told_by("tests.spark.migrations_run", work, work)
    return [{"lakehouse": request.param, **line} for line in found]


def shown(told: Told, what: str) -> tuple[list[Any], list[Any]]:
    """The rows of now, and every column that the target has."""
    (line,) = of(told, what)
    return line["rows"], line["whole"]


ONE, TWO = {"k": 1, "v": 1, "u": {"a": 1, "b": None}, "s": None}, {"k": 2, "v": 2, "u": {"a": 2, "b": "y"}, "s": None}


def test_a_dropped_column_stays_behind_and_a_renamed_key_column_has_its_values_under_the_new_name(told: Told) -> None:
    rows, whole = shown(told, "altered")
    assert rows == [{**ONE, "c2": 1}, {**TWO, "c2": 2}]
    # Iceberg renames a column; Delta leaves the old one behind. Neither keeps values that the source has no longer.
    behind = {"w": None} | ({"c": None} if told[0]["lakehouse"] == "delta" else {})
    assert whole == [{**row, **behind} for row in rows]


def test_a_column_added_again_with_another_type_sets_the_earlier_one_aside(told: Told) -> None:
    rows, whole = shown(told, "added")
    third = {"k": 3, "c2": 3, "s": None, "v": None, "u": None, "w": "ff"}
    assert rows == [{**ONE, "c2": 1, "w": None}, {**TWO, "c2": 2, "w": None}, third]
    assert {row["w_before"] for row in whole} == {None}


def test_a_table_dropped_and_created_again_with_another_id_begins_again(told: Told) -> None:
    rows, whole = shown(told, "other")
    assert rows == whole == [{"k": "a", "z": 1}]


def test_and_so_does_one_with_the_same_id_and_another_key(told: Told) -> None:
    assert shown(told, "again")[0] == [{"k": 5, "y": 1}]


def test_a_late_node_brings_no_row_of_the_table_before(told: Told) -> None:
    assert shown(told, "late")[0] == [{"k": 5, "y": 1}, {"k": 6, "y": 2}]
    (line,) = of(told, "current state")
    assert line["rows"] == [{"k": 5, "y": 1}, {"k": 6, "y": 2}]


def test_by_images(told: Told) -> None:
    if told[0]["lakehouse"] != "delta":
        pytest.skip("images are merged into Delta tables alone")
    by_step = {
        line["what"].removeprefix("images "): line["rows"] for line in told if line["what"].startswith("images ")
    }
    assert by_step["made"] == [{"k": 1, "c": 1, "v": 1, "w": "x", "u": {"a": 1}}]
    behind = {"c": None, "w": None}
    assert by_step["altered"] == [{**ONE, "c2": 1, **behind}, {**TWO, "c2": 2, **behind}]
    assert "has an op that this version does not know" in by_step["unknown"][0]
    (again,) = by_step["again"]
    assert {name: value for name, value in again.items() if value is not None} == {"k": 9, "c": 9, "v": 9}
    assert by_step["other"] == [{"k": "a", "z": 1}]
