"""Histories themselves, without a server: the same from the same seed, shorter without some steps, of every kind."""

from __future__ import annotations

import random
import re

from tests.server.migrations.history import history
from tests.server.migrations.migrations import Migrations
from tests.server.migrations.model import Schema, number_of
from tests.server.migrations.running import Plan

SEEDS = range(1, 11)
STEPS = 100


def test_a_seed_gives_the_same_history() -> None:
    assert history(3, STEPS) == history(3, STEPS)
    assert history(3, STEPS) != history(4, STEPS)


def test_a_shorter_history_has_the_same_steps() -> None:
    whole = history(3, STEPS)
    assert history(3, 10) == whole[:11]
    assert history(3, STEPS, without=(4, 9)) == [step for step in whole if step.number not in (4, 9)]


def test_ten_seeds_have_every_kind_of_migration() -> None:
    titles = {title for seed in SEEDS for step in history(seed, STEPS) for title in step.title.split(", ")}
    kinds = Migrations(Schema("5.0", 1), random.Random(0)).every()
    missing = {kind.__name__.replace("_", " ") for _, kind in kinds} - titles
    assert missing == set()


def test_ten_seeds_have_rows_of_every_kind() -> None:
    texts = [one.text for seed in SEEDS for step in history(seed, STEPS) for one in step.statements]
    for pattern in (
        r" IF NOT EXISTS$",
        r" IF EXISTS$",
        r"^BEGIN BATCH",
        r"USING TTL [2-5] ",
        r"^DELETE FROM .* USING TIMESTAMP (32503680000000000|@\+\d+@)",
        r"^DELETE FROM .* >= ",
        r"SET c\d = c\d \+ \d",
        r"SET s\d? = ",
        r"^DROP KEYSPACE",
        r"^DROP TYPE",
        r"^CREATE MATERIALIZED VIEW",
        r"^CREATE INDEX",
        r"WITH ID = ",
        r"WITH cdc = false",
        r" static$",
    ):
        assert any(re.search(pattern, text) for text in texts), pattern


def test_tables_are_made_again_with_the_same_id_and_with_another() -> None:
    ids: dict[str, list[str]] = {}
    for step in history(1, STEPS):
        for one in step.statements:
            if found := re.match(r"CREATE TABLE (\S+) .* WITH ID = (\S+)", one.text):
                ids.setdefault(found[1], []).append(found[2])
    assert any(len(set(each)) < len(each) for each in ids.values())
    assert any(len(set(each)) > 1 for each in ids.values())


def test_a_partition_is_known_by_its_number() -> None:
    assert [number_of(each) for each in (5, "k51", "00000000-0000-4000-8000-000000000102")] == [5, 51, 102]


def test_a_plan_says_how_to_run_it_again() -> None:
    plan = Plan(seed=7, steps=20, version="4.1", server=False, without=(2, 5))
    assert plan.replay() == (
        "python -m tests.server.migrations 7 --steps 20 --version 4.1 --nodes 1 --no-server --without 2,5"
    )
    assert plan.name == "seed7-steps20-4.1-nodes1-alone-without2+5"
