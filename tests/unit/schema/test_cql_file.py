"""CQL text → base rows: every form that DESCRIBE prints or people write, and where it says a text cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.errors import UsageError
from tailer.schema.cql_file import parse_cql, read_cql
from tailer.schema.follow import SchemaState
from tailer.schema.model import Column, TableDefinition, TypeField

ID = "11111111-2222-1333-8444-555555555555"


def table(text: str, name: str = "ks.t") -> TableDefinition:
    """The definition of `name`; tables without an id get one."""
    state = SchemaState()
    state.apply(parse_cql(text))
    for number, unbound in enumerate(sorted(state.unbound)):
        keyspace, _, bare = unbound.partition(".")
        state.bind(keyspace, bare, f"{number:032x}")
    return next(held for held in state.definitions.values() if held.name == name)


def columns(text: str, name: str = "ks.t") -> list[tuple[str, str, str, int]]:
    return [(held.name, held.kind, held.type, held.position) for held in table(text, name).columns]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a int PRIMARY KEY, b text", [("a", "partition_key", "int", 0), ("b", "regular", "text", -1)]),
        (
            "b int, a text, s int static, PRIMARY KEY (a, b)",
            [("a", "partition_key", "text", 0), ("b", "clustering", "int", 0), ("s", "static", "int", -1)],
        ),
        (
            "a int, b int, c int, d int, PRIMARY KEY ((b, a), d, c)",
            [
                ("b", "partition_key", "int", 0),
                ("a", "partition_key", "int", 1),
                ("d", "clustering", "int", 0),
                ("c", "clustering", "int", 1),
            ],
        ),
        ("PRIMARY KEY ((a)), a int", [("a", "partition_key", "int", 0)]),
        (
            'A int PRIMARY KEY, "B" int, "quo""te" int, "中 x" int, "select" int',
            [
                ("a", "partition_key", "int", 0),
                ("B", "regular", "int", -1),
                ('quo"te', "regular", "int", -1),
                ("select", "regular", "int", -1),
                ("中 x", "regular", "int", -1),
            ],
        ),
        (
            "a int PRIMARY KEY, m text MASKED WITH system.mask_inner(1, null), n int STATIC MASKED WITH DEFAULT",
            [("a", "partition_key", "int", 0), ("n", "static", "int", -1), ("m", "regular", "text", -1)],
        ),
    ],
)
def test_columns_and_keys(text: str, expected: list[tuple[str, str, str, int]]) -> None:
    assert columns(f"CREATE TABLE ks.t ({text});") == expected


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("VARCHAR", "text"),
        ("map<text,INT>", "map<text, int>"),
        ("tuple<int, text>", "frozen<tuple<int, text>>"),
        ("list<tuple<int>>", "list<frozen<tuple<int>>>"),
        ("frozen<map<text, list<int>>>", "frozen<map<text, frozen<list<int>>>>"),
        ("list<addr>", "list<frozen<addr>>"),
        ("frozen<addr>", "frozen<addr>"),
        ("ks.addr", "addr"),
        ('"My Type"', '"My Type"'),
        ('frozen<list<frozen<"My ""T""">>>', 'frozen<list<frozen<"My ""T""">>>'),
        ("vector<float, 3>", "vector<float, 3>"),
        ("frozen<vector<frozen<list<int>>, 2>>", "vector<frozen<list<int>>, 2>"),
        (
            "'org.apache.cassandra.db.marshal.CompositeType(a,b)'",
            "'org.apache.cassandra.db.marshal.CompositeType(a,b)'",
        ),
    ],
)
def test_types_are_spelled_as_system_schema_does(written: str, stored: str) -> None:
    assert columns(f"CREATE TABLE ks.t (a int PRIMARY KEY, c {written});")[1][2] == stored


def test_options_and_comments() -> None:
    held = table(
        f"""-- made by hand
        /* several
           lines; */ CREATE TABLE IF NOT EXISTS ks.t (a int, b int, c int, PRIMARY KEY (a, b, c)) // and more
        WITH comment = 'it''s; AND cdc = false' AND caching = {{'keys': 'ALL', 'AND': 'x'}}
        AND CLUSTERING ORDER BY (b DESC, c ASC) AND ID = {ID} AND CDC = true AND gc_grace_seconds = 864000"""
    )
    assert (held.id, held.cdc) == (ID.replace("-", ""), True)
    assert [column.desc for column in held.clustering] == [True, False]


def test_how_long_deletions_are_kept_is_told_beside_the_definition() -> None:
    state = SchemaState()
    state.apply(parse_cql(f"CREATE TABLE ks.t (a int PRIMARY KEY) WITH ID = {ID} AND gc_grace_seconds = 7200;"))
    assert state.gc_grace == {ID.replace("-", ""): 7200}
    with pytest.raises(UsageError, match="a number of seconds"):
        parse_cql("CREATE TABLE ks.t (a int PRIMARY KEY) WITH gc_grace_seconds = 'two hours';")


def test_use_gives_the_keyspace_and_types_of_it_are_resolved() -> None:
    held = table(
        """CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': '1'};
        USE ks; CREATE TYPE inner (x int); CREATE TYPE outer (i frozen<inner>, n text);
        ALTER TYPE outer ADD m map<int, int>; ALTER TYPE outer RENAME n TO nn;
        CREATE TABLE t (a int PRIMARY KEY, o outer);"""
    )
    assert held.types == {
        "inner": (TypeField("x", "int"),),
        "outer": (
            TypeField("i", "frozen<inner>"),
            TypeField("nn", "text"),
            TypeField("m", "map<int, int>"),
        ),
    }


def test_dropped_added_and_renamed_columns() -> None:
    held = table(
        """CREATE TABLE ks.t (a int, b int, c list<int>, d text, PRIMARY KEY (a, b));
        ALTER TABLE ks.t DROP c USING TIMESTAMP 1795257920452001;
        ALTER TABLE ks.t DROP d USING TIMESTAMP 7; ALTER TABLE ks.t ADD d text;
        ALTER TABLE ks.t ADD (e int, f int static); ALTER TABLE ks.t RENAME b TO bb;
        ALTER TABLE ks.t WITH cdc = true;"""
    )
    assert held.columns == (
        Column("a", "partition_key", "int", 0),
        Column("bb", "clustering", "int", 0),
        Column("f", "static", "int"),
        Column("d", "regular", "text", dropped_time=7),
        Column("e", "regular", "int"),
        Column("c", "regular", "list<int>", dropped=True, dropped_time=1795257920452001),
    )
    assert held.cdc


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "(id int, x int, y text, PRIMARY KEY (id)) WITH COMPACT STORAGE AND CLUSTERING ORDER BY (column1 ASC)",
            [
                ("id", "partition_key", "int", 0),
                ("column1", "clustering", "text", 0),
                ("x", "static", "int", -1),
                ("y", "static", "text", -1),
                ("value", "regular", "blob", -1),
            ],
        ),
        (
            "(id int PRIMARY KEY, column1 counter, value counter) WITH COMPACT STORAGE",
            [
                ("id", "partition_key", "int", 0),
                ("column2", "clustering", "text", 0),
                ("column1", "static", "counter", -1),
                ("value", "static", "counter", -1),
                ("value1", "regular", "counter", -1),
            ],
        ),
        (
            "(id int, a int, PRIMARY KEY (id, a)) WITH COMPACT STORAGE",
            [("id", "partition_key", "int", 0), ("a", "clustering", "int", 0), ("value", "regular", "empty", -1)],
        ),
    ],
)
def test_compact_storage_has_its_hidden_columns(text: str, expected: list[tuple[str, str, str, int]]) -> None:
    assert columns(f"CREATE TABLE ks.t {text};") == expected


def test_counters_are_flagged() -> None:
    assert table("CREATE TABLE ks.t (a int PRIMARY KEY, c counter);").counter
    assert not table("CREATE TABLE ks.t (a int PRIMARY KEY, c bigint);").counter


def test_a_view_takes_its_columns_types_from_its_table() -> None:
    base = "CREATE TABLE ks.b (id int, ck int, v int, w text, PRIMARY KEY (id, ck));"
    where = "FROM ks.b WHERE v IS NOT NULL AND id IS NOT NULL AND ck IS NOT NULL PRIMARY KEY (v, id, ck)"
    view = table(
        f"{base} CREATE MATERIALIZED VIEW ks.t AS SELECT * {where} WITH CLUSTERING ORDER BY (id DESC, ck ASC);"
    )
    assert [(held.name, held.kind, held.desc) for held in view.columns] == [
        ("v", "partition_key", False),
        ("id", "clustering", True),
        ("ck", "clustering", False),
        ("w", "regular", False),
    ]
    assert view.view
    assert len(columns(f"{base} CREATE MATERIALIZED VIEW ks.t AS SELECT v, id, ck {where};")) == 3


def test_everything_else_is_stepped_over() -> None:
    text = """CREATE TABLE ks.t (a int PRIMARY KEY);
    CREATE CUSTOM INDEX i ON ks.t (keys(a)) USING 'x' WITH OPTIONS = {'a': ';'};
    CREATE OR REPLACE FUNCTION ks.f (a int) CALLED ON NULL INPUT RETURNS int LANGUAGE java AS $$ return a; $$;
    CREATE AGGREGATE ks.g (int) SFUNC f STYPE int; INSERT INTO ks.t (a) VALUES (1); DROP INDEX ks.i;
    CREATE TABLE ks.u (a int PRIMARY KEY); DROP TABLE IF EXISTS ks.u; CREATE TYPE ks.v (a int); DROP TYPE ks.v;"""
    assert [delta.clustering for delta in parse_cql(text)] == [("t",), ("t", "a")]
    assert parse_cql(f"{text} DROP KEYSPACE ks;") == []


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("\nCREATE TABLE t (a int PRIMARY KEY);", 2, "a keyspace before the name"),
        ("CREATE TABLE ks.t (\n a int);", 1, "a PRIMARY KEY"),
        ("CREATE TABLE ks.t (a int,\n PRIMARY KEY (b));", 2, "a column b"),
        ("CREATE TABLE ks.t (a int PRIMARY KEY,\n a int);", 2, "a column of another name"),
        ("CREATE TABLE ks.t (a list<int PRIMARY KEY);", 1, "`>`"),
        ("CREATE TABLE ks.t (a map<int> PRIMARY KEY);", 1, "`,`"),
        ("CREATE TABLE ks.t (a int PRIMARY KEY)\nWITH ID = 12;", 2, "a table id (UUID)"),
        ("CREATE TABLE ks.t (a int PRIMARY KEY) WITH cdc = maybe;", 1, "true or false"),
        ("CREATE TABLE ks.t (a int PRIMARY KEY) CREATE TABLE", 1, "`;`"),
        ("CREATE TABLE ks.t (a int PRIMARY KEY) WITH CLUSTERING ORDER BY (a);", 1, "a clustering column"),
        ("CREATE TABLE ks.t (a other.u PRIMARY KEY);", 1, "a type of keyspace ks"),
        ("ALTER TABLE ks.t DROP a;", 1, "CREATE TABLE ks.t before"),
        ("ALTER TYPE ks.t ADD a int;", 1, "CREATE TYPE ks.t before"),
        ("CREATE TABLE ks.t (a int PRIMARY KEY);\nALTER TABLE ks.t DROP a;", 2, "a data column"),
        ("CREATE TABLE ks.t (a int PRIMARY KEY, b int);\nALTER TABLE ks.t DROP b USING TIMESTAMP x;", 2, "a timestamp"),
        ("CREATE MATERIALIZED VIEW ks.v AS SELECT * FROM ks.t WHERE a IS NOT NULL PRIMARY KEY (a);", 1, "a table desc"),
        ("hello", 1, "a CQL statement"),
        ("CREATE TABLE ks.t (a int PRIMARY KEY) WITH comment = 'open\n;", 1, "its closing quote"),
        ("\n\n/* open", 3, "its closing quote"),
        ("CREATE TABLE ks.t (a " + "list<" * 100 + "int", 1, "nested types"),
    ],
)
def test_what_cannot_be_read_names_the_line_and_what_was_expected(text: str, line: int, expected: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_cql(text, "my.cql")
    assert raised.value.file == "my.cql"
    assert raised.value.what == f"line {line} of the CQL file cannot be read"
    assert expected in str(raised.value.expected)


def assert_rows_or_line(text: str) -> None:
    try:
        parse_cql(text)
    except UsageError as error:
        found = error.what
    else:
        return
    assert found.startswith("line ")


@given(st.text(alphabet="CREATE TABLE ks.t(),;'\"<>*/-$int PRIMARY KEY=ALTER DROP ADD{}\n", max_size=80))
def test_any_text_gives_rows_or_one_documented_error(text: str) -> None:
    assert_rows_or_line(text)


def test_any_cut_of_a_recorded_description_gives_rows_or_a_documented_error(sets_root: Path) -> None:
    text = (sets_root / "50-cases" / "schema.cql").read_text("utf-8")
    for cut in range(0, 6000, 7):
        assert_rows_or_line(text[:cut])


def test_a_file_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_cql(tmp_path / "absent.cql")
    (tmp_path / "bytes.cql").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not UTF-8"):
        read_cql(tmp_path / "bytes.cql")


def test_a_compact_table_that_the_server_describes_in_a_comment_is_read() -> None:
    """What DESCRIBE of 5.0.9 prints; other comments stay comments, and lines are counted as they stand."""
    legacy = f"""CREATE TABLE ks.t (id int PRIMARY KEY);
/*
Warning: Table ks.cs omitted because it has constructs not compatible with CQL (was created via legacy API).
Approximate structure, for reference:
(this should not be used to reproduce this schema)

CREATE TABLE ks.cs (
    id int,
    a int,
    PRIMARY KEY (id)
) WITH COMPACT STORAGE
    AND ID = {ID}
    AND CLUSTERING ORDER BY (column1 ASC)
    AND comment = '';
*/
/* CREATE TABLE ks.not_this (id int PRIMARY KEY); */
"""
    assert [name for name, *_ in columns(legacy, "ks.cs")] == ["id", "column1", "a", "value"]
    assert {delta.clustering[0] for delta in parse_cql(legacy)} == {"t", "cs"}
    with pytest.raises(UsageError, match="line 17 of"):
        parse_cql(legacy + "oops")
