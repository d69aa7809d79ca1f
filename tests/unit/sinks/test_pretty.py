"""The form for people: one change at a glance, never wider than the terminal, colour only where it is wanted."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.sinks.pretty import PrettySink
from tailer.sinks.table_text import Tables
from tailer.sinks.terminal import terminal_columns, wants_colour
from tailer.sinks.text import width
from tests.unit.sinks.rows import batch, row
from tests.unit.sinks.streams import Terminal
from tests.unit.sinks.tables import no_table, table


def shown(*rows: tuple[Any, ...], tables: Tables = no_table, columns: int = 80, colour: bool = False) -> list[str]:
    out = io.BytesIO()
    PrettySink(out, tables, colour=colour, columns=columns).write(batch(*rows))
    return out.getvalue().decode().splitlines()


def test_changes_stand_under_each_other() -> None:
    assert shown(
        row(),
        row(op="update", columns='{"state":null}', ttl=60),
        row(op="delete_row", columns=None),
        row(op="delete_partition", clustering=None, columns=None),
        row(op="update", is_static=True, clustering=None, columns='{"owner":"ä"}'),
    ) == [
        "── 2026-11-21 UTC ──",
        '11:14:02.123  insert      shop.orders  id=17 at="a"  state="new" total=12.50',
        '11:14:02.123  update      shop.orders  id=17 at="a"  state=null ttl=60s',
        '11:14:02.123  delete row  shop.orders  id=17 at="a"',
        "11:14:02.123  delete partition  shop.orders  id=17",
        '11:14:02.123  update            shop.orders  id=17 static  owner="ä"',
    ]


def test_a_range_says_its_conditions() -> None:
    text = '{"start":{"at":1},"start_inclusive":false,"end":{"at":9},"end_inclusive":true}'
    deleted = row(op="delete_range", clustering=None, columns=None, range=text)
    for order, expected in (("at", "at > 1 AND at <= 9"), ("at DESC", "at >= 9 AND at < 1")):
        lines = shown(deleted, tables=table(order))
        assert lines[1] == f"11:14:02.123  delete range  shop.orders  id=17 {expected}"
    assert shown(deleted)[1].endswith("id=17 (at=1 .. at=9]")


def test_a_truncation_says_before_where() -> None:
    text = '{"before":{"segment":1795259642879,"offset":77}}'
    lines = shown(row(op="truncate", partition_key=None, clustering=None, columns=None, range=text))
    assert lines[1] == "11:14:02.123  truncate    shop.orders  before 1795259642879:77"


def test_a_change_that_does_not_fit_goes_on_under_itself() -> None:
    columns = json.dumps({f"column_{number}": "x" * 30 for number in range(4)})
    assert shown(row(columns=columns))[1:] == [
        '11:14:02.123  insert      shop.orders  id=17 at="a"',
        f'{" " * 14}column_0="{"x" * 30}"',
        f'{" " * 14}column_1="{"x" * 30}"',
        f'{" " * 14}column_2="{"x" * 30}"',
        f'{" " * 14}column_3="{"x" * 30}"',
    ]


def test_a_row_of_many_columns_says_how_many_are_left() -> None:
    columns = json.dumps({f"column_{number}": number for number in range(200)})
    lines = shown(row(columns=columns))[1:]
    assert len(lines) == 5
    assert lines[-1].endswith(" more")
    seen = sum(line.count("column_") for line in lines)
    assert lines[-1].endswith(f"… {200 - seen} more")


@pytest.mark.parametrize("columns", [60, 80, 132, 400])
def test_a_value_is_cut_where_the_terminal_ends(columns: int) -> None:
    (line,) = [text for text in shown(row(columns=json.dumps({"a": "b" * 500})), columns=columns) if "bbb" in text]
    assert line.endswith("b…")
    assert len(line) == columns


def test_what_the_terminal_holds_is_whole() -> None:
    columns = json.dumps({"a": "b" * 100, "c": "d" * 50})
    lines = shown(row(columns=columns), columns=132)[1:]
    assert lines[1:] == [f'{" " * 14}a="{"b" * 100}"', f'{" " * 14}c="{"d" * 50}"']
    last = shown(row(columns=json.dumps({f"c{number}": "x" * 200 for number in range(5)})))[1:]
    assert [len(line) for line in last[1:]] == [80, 80, 80, 77]
    assert last[-1].endswith("x… … 1 more")


def test_a_change_of_definitions_is_no_change_of_a_table() -> None:
    """Its columns are words of ours, which a table may have too."""
    told = row(op="schema", partition_key=None, clustering=None, columns='{"table":[{"total":1}]}')
    assert shown(told, tables=table(table="counter"))[1].endswith('table=[{"total":1}]')


def test_the_day_is_said_when_it_changes_only() -> None:
    day = 86_400_000_000
    lines = shown(row(write_ts=0), row(write_ts=day - 1), row(write_ts=day), row(write_ts=None), row(write_ts=day + 1))
    assert [line for line in lines if "UTC" in line] == ["── 1970-01-01 UTC ──", "── 1970-01-02 UTC ──"]


@pytest.mark.parametrize("write_ts", [-(2**63), 2**63 - 1, 253_402_300_800_000_000])
def test_a_timestamp_beyond_the_calendar_is_a_number(write_ts: int) -> None:
    assert shown(row(write_ts=write_ts))[0].startswith(str(write_ts)[:8])


def test_nothing_that_a_terminal_obeys_comes_through() -> None:
    columns = json.dumps({"\x1b[31m": "\u202e\u009b2J"}, ensure_ascii=False)
    text = "\n".join(shown(row(columns=columns, table="t\x07")))
    assert text.replace("\n", "").isprintable()
    assert "\\u202e\\u009b2J" in text


def test_colour_is_around_words_and_changes_no_width() -> None:
    plain, painted = shown(row()), shown(row(), colour=True)
    assert any("\x1b[32minsert" in line for line in painted)
    for style in ("\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[32m"):
        painted = [line.replace(style, "") for line in painted]
    assert painted == plain


def test_who_gets_colour() -> None:
    assert wants_colour(Terminal(), {"TERM": "xterm"})
    assert not wants_colour(Terminal(), {"TERM": "xterm", "NO_COLOR": "1"})
    assert not wants_colour(Terminal(), {"TERM": "dumb"})
    assert not wants_colour(io.BytesIO(), {"TERM": "xterm"})


def test_how_wide_it_is() -> None:
    assert terminal_columns(io.BytesIO(), {}) == 80
    assert terminal_columns(io.BytesIO(), {"COLUMNS": "200"}) == 200
    assert [terminal_columns(io.BytesIO(), {"COLUMNS": wrong}) for wrong in ("", "0", "wide", "-9", "9" * 9)] == [
        80
    ] * 5


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
VALUES = st.recursive(
    st.none() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])), st.lists, max_leaves=5
)


@given(
    fields=st.dictionaries(NAMES, VALUES, max_size=12),
    columns=st.integers(1, 200),
    write_ts=st.integers(-(2**63), 2**63 - 1),
)
def test_any_row_fits_any_terminal(fields: dict[str, Any], columns: int, write_ts: int) -> None:
    changed = row(columns=json.dumps(fields, ensure_ascii=False), write_ts=write_ts)
    lines = shown(changed, changed, columns=columns)
    assert all(width(line) <= max(columns, 40) for line in lines)
    assert 2 <= len(lines) <= 11
