"""What a query of images finds of its consumer's past: tables that it has read before, and does not any more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tailer.errors import UsageError
from tailer.options.to_spark import SourceOptions, parse_options
from tailer.planning.batch_tasks import RowOptions
from tailer.schema.masks import Masks
from tailer.spark.images.followed import followed
from tailer.state.folder_journal import FolderJournal
from tailer.state.log_folder import state_folder
from tests.helpers.log_writer import LogFolder, create_payload, drop_table, encode_mutation, live, segment_of
from tests.helpers.log_writer import simple_table as table

ONE = 1_700_000_000_000


@pytest.fixture
def log(tmp_path: Path) -> Path:
    folder = LogFolder(tmp_path / "cdc_raw")
    gone = encode_mutation(drop_table(table("ks", "gone", 3), 1_800_000_000_000_000))
    made = [create_payload(table("ks", name, number)) for name, number in (("t", 1), ("u", 2), ("gone", 3))]
    written = segment_of(ONE, [[*made, gone]])
    folder.put(written, live(written))
    return folder.path


def told(log: Path, *selections: RowOptions, consumer: str = "spark") -> None:
    FolderJournal(state_folder(log)).append([each.record(consumer) for each in selections])


def read(log: Path, **options: str) -> SourceOptions:
    given: dict[str, Any] = {"path": str(log), "includeSchemaChanges": "true", **options}
    return parse_options(given)


BOTH = RowOptions(("ks.*",), schema_changes=True)


@pytest.mark.parametrize(
    "options",
    [{"tables": "ks.t"}, {"tables": "ks.*", "exclude": "ks.u"}, {"tables": "ks.t,ks.v", "tablesMayCome": "true"}],
)
def test_a_table_that_is_read_no_more_is_refused(log: Path, options: dict[str, str]) -> None:
    told(log, BOTH)
    with pytest.raises(UsageError, match=r"consumer spark has read ks\.u, which it reads no more.*same tables again"):
        followed([read(log, **options)], [], None)


@pytest.mark.parametrize("options", [{}, {"tables": "ks.t,ks.u"}, {"tables": "ks.?"}])
def test_the_same_and_more_are_taken(log: Path, options: dict[str, str]) -> None:
    told(log, RowOptions(("ks.t",), schema_changes=True), BOTH)
    assert list(followed([read(log, **options)], [], None).nodes) == ["local"]


@pytest.mark.parametrize(
    ("before", "consumer"),
    [(RowOptions(("ks.*",)), "spark"), (BOTH, "other"), (RowOptions((), True, masks=Masks((), ("ks.u",))), "spark")],
    ids=["rows alone", "another consumer", "left out before"],
)
def test_what_was_no_image_s_does_not_count(log: Path, before: RowOptions, consumer: str) -> None:
    told(log, before, consumer=consumer)
    assert followed([read(log, tables="ks.t")], [], None).tables
