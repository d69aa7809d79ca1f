"""The table that several nodes' logs tell of, where one of them is late."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tailer.spark.known_table import find_table
from tests.helpers.log_writer import (
    TS,
    LogFolder,
    Mutation,
    completed,
    create_table,
    drop_table,
    encode_mutation,
    rename_column,
    segment_of,
    simple_table,
)

FIRST = 1_700_000_000_001
T = simple_table("ks", "t")
OTHER = simple_table("ks", "t", 2)
PK, CK, V = T.columns
CK2 = replace(CK, name="ck2")
RENAMED = replace(T, columns=(PK, CK2, V))


def node(tmp_path: Path, name: str, changes: list[Mutation], first: int = FIRST) -> str:
    """A log with these changes, as the source takes it."""
    log = LogFolder(tmp_path / name / "cdc_raw")
    made = segment_of(first, [[encode_mutation(each)] for each in changes])
    log.put(made, completed(made))
    return f"{name}={log.path}"


@pytest.mark.parametrize("first", ["n1", "n2"])
def test_a_key_column_that_one_log_shows_renamed(tmp_path: Path, first: str) -> None:
    changes = [create_table(T, TS), rename_column(T, CK, CK2, TS + 1_000_000)]
    nodes = [node(tmp_path, "n1", changes), node(tmp_path, "n2", changes[:1], FIRST + 5)]
    path = ",".join(nodes if first == "n1" else nodes[::-1])
    table = find_table(path, "ks.t", {}).table
    assert (table.key_names, table.keys, list(table.renamed)) == (("pk", "ck2"), (("pk", "ck"),), ["n1"])


@pytest.mark.parametrize("first", ["n1", "n2"])
def test_a_key_column_that_is_renamed_back(tmp_path: Path, first: str) -> None:
    changes = [create_table(T, TS), rename_column(T, CK, CK2, TS + 1), rename_column(RENAMED, CK2, CK, TS + 2)]
    nodes = [node(tmp_path, "n1", changes), node(tmp_path, "n2", changes[:1], FIRST + 5)]
    path = ",".join(nodes if first == "n1" else nodes[::-1])
    assert find_table(path, "ks.t", {}).table.key_names == ("pk", "ck")


@pytest.mark.parametrize("late", range(1, 5))
def test_an_id_that_comes_back(tmp_path: Path, late: int) -> None:
    """The other node's log has higher places, and is behind by some statements."""
    changes = [
        create_table(T, TS), drop_table(T, TS + 1_000_000), create_table(OTHER, TS + 2_000_000),
        drop_table(OTHER, TS + 3_000_000), create_table(T, TS + 4_000_000),
    ]  # fmt: skip
    path = f"{node(tmp_path, 'n1', changes)},{node(tmp_path, 'n2', changes[:late], FIRST + 5)}"
    table = find_table(path, "ks.t", {}).table
    former = (OTHER.id.hex,)
    assert (table.definition.id, table.definition.dropped, table.former) == (T.id.hex, False, former)
    assert list(table.ended) == ["n1"]
