"""Tables kept in Delta Lake are what the server answered to SELECT: late, repeated and replayed batches included.

`delta_run` does the merging, in a process of its own; here is what must come out.
"""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import UsageError
from tests.helpers.arrow_rows import without_empty
from tests.helpers.rebuilt import recorded, spelled
from tests.oracle.jsontext import loads
from tests.spark.delta_run import CHOSEN, FOLLOWED, IMAGED
from tests.spark.told import Told, not_as_selected, of, told_by

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.delta, pytest.mark.oldest]


@pytest.fixture(scope="module")
def told(sets_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Told:
    if find_spec("delta") is None:
        pytest.skip("delta-spark is not installed (it pins an older pyspark: pip install 'cdc-tail[delta]')")
    return told_by("tests.spark.delta_run", tmp_path_factory.mktemp("delta"), sets_root)


def test_tables_of_every_set_are_what_select_shows(told: Told, sets_root: Path) -> None:
    lines = of(told, "set")
    assert not_as_selected(told, sets_root) == []
    assert {line["set"] for line in lines} == set(CHOSEN)
    assert len({line["table"] for line in lines}) > len(CHOSEN) // 2


def test_a_batch_given_again_writes_nothing(told: Told) -> None:
    assert {line["table"]: line["rows"] for line in of(told, "replay")} == {
        "cdc.truncated": 0,
        "cdc.ttl": 0,
        "cdc.deletes": 0,
    }


def test_a_late_truncate_and_ttls(told: Told, sets_root: Path) -> None:
    """What expires within 50 seconds is what another server, asked that much later, no longer showed."""
    shown = recorded("50-cases", sets_root).shown
    for line in of(told, "table"):
        assert line["rows"] == without_empty(shown[line["table"]])
    minute = {'{"a":1,"b":"cell ttl differs","id":2}', '{"a":1,"b":"far and near","id":9}'}
    later = [row for row in shown["cdc.ttl"] if row not in minute] + ['{"a":1,"id":2}', '{"a":1,"id":9}']
    assert minute <= set(shown["cdc.ttl"])
    (line,) = [line for line in of(told, "later") if line["table"] == "cdc.ttl"]
    (refreshed,) = of(told, "refreshed")
    assert line["rows"] == refreshed["rows"] == sorted(spelled(loads(row)) for row in without_empty(later))


def test_a_table_of_an_earlier_version_is_gone_on_with(told: Told, sets_root: Path) -> None:
    (line,) = of(told, "earlier")
    assert line["rows"] == without_empty(recorded("50-cases", sets_root).shown["cdc.deletes"])
    assert (line["written"], line["version"]) == (0, 2)


def test_a_table_of_a_later_version_is_refused_and_left_as_it_is(told: Told) -> None:
    refused = [line["rows"][0] for line in of(told, "refused")]
    assert len(refused) == 3, "a merge, a refresh, a read"
    for sentence in refused:
        assert sentence.startswith("the version of the merged table (")
        assert sentence.endswith("): expected 2 or lower, found 3. A newer cdc-tail wrote it: use that version.")
    (left,) = of(told, "left")
    assert (left["rows"], left["altered"]) == (0, False)


def test_a_stream_keeps_it_and_a_second_one_changes_nothing(told: Told, sets_root: Path) -> None:
    shown = without_empty(recorded("50-cases", sets_root).shown["cdc.altered"])
    assert [line["rows"] for what in ("first", "second") for line in of(told, what)] == [shown, shown]


def test_the_change_feed_tells_rows_before_and_after(told: Told, sets_root: Path) -> None:
    (line,) = of(told, "feed")
    assert line["rows"] == without_empty(recorded("50-cases", sets_root).shown["cdc.coll"])
    assert line["chained"]
    assert line["updates"] > 0


def test_tables_that_images_keep_are_what_select_shows(told: Told, sets_root: Path) -> None:
    shown = recorded("50-cases", sets_root).shown
    assert {line["table"]: line["rows"] for line in of(told, "imaged")} == {
        table: without_empty(shown[table]) for table in IMAGED
    }
    assert [line["written"] for line in of(told, "imaged")] == [0] * len(IMAGED), "the last batch once more"


def test_images_and_changes_do_not_go_into_one_table(told: Told) -> None:
    no_images, no_changes, other = (line["rows"][0] for line in of(told, "refused images"))
    assert no_images.startswith("these are no images: expected the columns table_id, ")
    assert no_changes.startswith("this is no table that changes are merged into")
    assert other.startswith("this is no table that images are merged into")


def test_a_table_of_images_that_is_dropped_is_empty_and_stays_so(told: Told) -> None:
    assert [line["rows"] for line in of(told, "dropped")] == [[], []]


def test_a_table_that_version_1_kept_as_dropped_has_rows_once_it_is_created_again(told: Told, sets_root: Path) -> None:
    shown = recorded("50-cases", sets_root).shown
    dropped, again = of(told, "created again")
    assert dropped["rows"] == []
    assert again["rows"] == without_empty(shown[again["table"]])


@pytest.mark.parametrize("form", FOLLOWED)
def test_a_table_that_was_written_without_a_jvm_is_read(told: Told, form: str) -> None:
    """What `follow --to delta:` wrote by delta-rs holds, for Spark too, the rows that `follow` prints."""
    if not (lines := of(told, f"followed {form}")):
        pytest.skip("deltalake is not installed here")
    (line,) = lines
    name, *columns = FOLLOWED[form][1]
    printed = {row[name]: row for row in map(json.loads, line["printed"])}
    assert 0 < line["first"] <= len(printed)
    assert len(line["rows"]) == len(printed)
    for row in line["rows"]:
        expected = {column: printed[row[name]][column] for column in columns}
        found = {column: json.loads(row[column]) if _is_json(expected[column]) else row[column] for column in columns}
        assert found == expected


def _is_json(value: object) -> bool:
    """A text in the table, and what it says in `--output json`."""
    return isinstance(value, dict)


def test_without_delta_spark_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from tailer.rebuild import Table
    from tailer.schema.model import TableDefinition
    from tailer.spark.delta import DeltaMerge

    monkeypatch.setitem(sys.modules, "delta.tables", None)
    session: Any = None
    with pytest.raises(UsageError, match=r"pip install 'cdc-tail\[delta\]'"):
        DeltaMerge(session, "/lake/t", Table.of(TableDefinition("00" * 16, "ks", "t", ())))
