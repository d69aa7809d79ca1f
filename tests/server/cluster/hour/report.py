"""The checks of a run's folder, as often as wanted: figures in `report.json`, and what is needed to find a cause."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.oracle.jsontext import loads
from tests.server.cluster.hour.accounts import Accounts, LogRows, accounts, schema_changes
from tests.server.cluster.hour.compare import Compared, Difference, compared, folded, kept, selected
from tests.server.cluster.hour.data_files import lines
from tests.server.cluster.hour.fold import Fold
from tests.server.cluster.hour.recording import Definition, definitions
from tests.server.cluster.hour.values import of_json
from tests.server.cluster.hour.workload import entries

SOURCES = ("sqlite", "postgresql", "fold")
SCHEMA_CHANGES = (
    "create", "add", "drop_column", "add_again", "drop_table", "create_same_id", "create_other_id", "truncate",
    "add_static", "drop_static",
)  # fmt: skip
OUTAGE_FIGURES = 3
EVENTS = 8
EVENT_BYTES = 700
LEAST_TABLES = 15
LEAST_AN_HOUR = 20_000
LEAST_HELD = 0.5
"""Of the acknowledged values, how many have to be held to an image: else the reasons for none hide too much."""
WRONG_FIGURES = ("WITHOUT AN IMAGE", "without a row in any log", "with two images")


class Checked:
    """All checks of one folder. `wrong`: one sentence for each kind of fault; empty where nothing is wrong."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run: dict[str, Any] = json.loads((folder / "run.json").read_text())
        self.tables = definitions(folder)
        self.fold = fold_of(folder)
        self.accounts = _accounts(folder, self.fold)
        select = selected(folder, self.tables)
        rows = {"fold": folded(self.fold, self.tables)}
        rows |= {source: kept(folder, source, self.tables) for source in SOURCES if source != "fold"}
        self.compared: dict[str, dict[str, Compared]] = {
            name: {source: compared(source, table, select[name], rows[source][name]) for source in SOURCES}
            for name, table in self.tables.items()
        }
        self.wrong = [*self._wrong()]

    def _wrong(self) -> Iterator[str]:
        for name, sources in self.compared.items():
            for source, found in sources.items():
                if not found.equal:
                    yield (
                        f"{name}: {source} lacks {found.missing} rows, has {found.extra} too many, "
                        f"{found.differing} differ, {found.twice} twice"
                    )
                if found.incomplete:
                    yield f"{name}: {found.incomplete} of {found.rows} rows of {source} are not complete"
        for kind, count in self.fold.counts.items():
            yield f"images: {count} {kind}"
        for name in WRONG_FIGURES:
            if self.accounts.figures[name]:
                yield f"acknowledged values {name}: {self.accounts.figures[name]}"
        for (consumer, code), ends in self.ends().items():
            yield f"consumer {consumer} ended by itself with {code}, {len(ends)} times"
        for failure in self.run["failures"]:
            yield f"the run failed: {failure}"
        yield from self._not_reached()

    def _not_reached(self) -> Iterator[str]:
        """What a run has to do to be one."""
        figures, run = self.accounts.figures, self.run
        least = LEAST_AN_HOUR * run["minutes"] / 60
        if figures["acknowledged"] < least:
            yield f"{figures['acknowledged']} writes are acknowledged, expected {least:.0f}"
        if figures["held to an image"] < LEAST_HELD * figures["acknowledged values"]:
            yield f"{figures['held to an image']} of {figures['acknowledged values']} values are held to an image"
        written = {kind.partition(".")[0] for kind in self.accounts.by_kind} & set(self.tables)
        if len(written) < LEAST_TABLES:
            yield f"{len(written)} kinds of tables, expected {LEAST_TABLES}"
        for kind in SCHEMA_CHANGES:
            if not run["schema changes"].get(kind):
                yield f"no schema change {kind}"
        for name, kills in run["kills"].items():
            if not kills:
                yield f"{name} was never killed"
        if not run.get("rests of the lagging consumer") or len(run.get("outages", {})) < OUTAGE_FIGURES:
            yield "the run did not come to its end"

    def ends(self) -> dict[tuple[str, int], list[dict[str, Any]]]:
        """The consumers that ended by themselves, by name and exit code."""
        found: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
        for end in self.run["ended by themselves"]:
            found[end["consumer"], end["code"]].append(end)
        return found

    def figures(self) -> dict[str, Any]:
        """What `report.json` has."""
        return {
            "wrong": self.wrong,
            "summary": self._summary(),
            "run": self.run,
            "requests": dict(self.accounts.figures),
            "acknowledged by kind": dict(sorted(self.accounts.by_kind.items())),
            "images": {
                "images": self.fold.images,
                "ops": dict(self.fold.ops),
                "wrong": dict(self.fold.counts),
                "examples": dict(self.fold.found),
            },
            "acknowledged values without an image": self.accounts.without_image,
            "acknowledged values without a row": self.accounts.without_row,
            "acknowledged values with two images": self.accounts.twice,
            "tables": {
                name: {
                    source: {key: value for key, value in asdict(found).items() if key != "examples"}
                    for source, found in sources.items()
                }
                for name, sources in self.compared.items()
            },
            "differences": [
                {**asdict(example), "images": events}
                for example, events in with_events(self.folder, self.tables, self._examples())
            ],
        }

    def _summary(self) -> dict[str, Any]:
        rows = [found for sources in self.compared.values() for found in sources.values()]
        return {
            "acknowledged writes": self.accounts.figures["acknowledged"],
            "kinds of tables": self.run["tables at the start"],
            "schema changes": sum(n for kind, n in self.run["schema changes"].items() if kind != "refused"),
            "kills of consumers": sum(self.run["kills"].values()),
            "images": self.fold.images,
            "images twice": sum(n for kind, n in self.fold.counts.items() if kind.startswith("twice")),
            "sequence breaks": sum(n for kind, n in self.fold.counts.items() if not kind.startswith("twice")),
            "acknowledged values held to an image": self.accounts.figures["held to an image"],
            "acknowledged values without an image": self.accounts.figures["WITHOUT AN IMAGE"],
            "rows of SELECT": sum(found["fold"].select for found in self.compared.values()),
            "rows missing, too many or differing": sum(f.missing + f.extra + f.differing + f.twice for f in rows),
            "rows not complete": sum(found.incomplete for found in rows),
        }

    def _examples(self) -> list[Difference]:
        return [one for sources in self.compared.values() for found in sources.values() for one in found.examples]


def fold_of(folder: Path) -> Fold:
    """Of the images that the lagging consumer wrote."""
    made = Fold()
    made.add(lines(folder / "images" / "images"))
    return made


def _accounts(folder: Path, fold: Fold) -> Accounts:
    logs = LogRows()
    for node in sorted(path for path in (folder / "rows").iterdir() if path.is_dir() and not path.name.startswith(".")):
        logs.add(node.name, lines(node))
    changes = schema_changes(folder / "schema_changes.jsonl")
    return accounts(entries(folder / "ledger.jsonl"), changes, logs, fold)


def with_events(
    folder: Path, tables: Mapping[str, Definition], examples: Sequence[Difference]
) -> Iterator[tuple[Difference, list[str]]]:
    """Each difference with the newest images of its row, and of what happened to many rows of its table at once."""
    wanted = {(one.table, one.key) for one in examples}
    names = {name for name, _ in wanted}
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for line in lines(folder / "images" / "images") if wanted else ():
        image = loads(line)
        if image["table"] not in names:
            continue
        table = tables[image["table"]]
        key = {**(image["partition_key"] or {}), **(image["clustering"] or {})}
        spelled = [of_json(table.types.get(name, "text"), key.get(name)) for name in table.key]
        found[image["table"], json.dumps(spelled, ensure_ascii=False)].append(line[:EVENT_BYTES])
    for one in examples:
        yield one, found[one.table, one.key][-EVENTS:]


def report(folder: Path) -> list[str]:
    """Checks the folder, writes `report.json`, prints what is wrong; gives that."""
    checked = Checked(folder)
    figures = checked.figures()
    (folder / "report.json").write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    _print_tables(checked)
    print(
        json.dumps({key: figures[key] for key in ("summary", "requests")} | {"ops": dict(checked.fold.ops)}, indent=1)
    )
    for kind, texts in figures["images"]["examples"].items():
        for text in texts[:2]:
            print(f"  image {kind}: {text[:900]}")
    for difference in figures["differences"]:
        events = difference.pop("images")
        print(f"  {Difference(**difference)}")
        for event in events:
            print(f"      {event}")
    for text in [*checked.accounts.without_image, *checked.accounts.without_row, *checked.accounts.twice]:
        print(f"  {text}")
    for (consumer, code), ends in checked.ends().items():
        print(f"  {consumer} ended by itself with {code}, {len(ends)} times: {ends[0]['errors']}")
    print(f"{len(checked.wrong)} kinds of faults" if checked.wrong else "nothing is wrong")
    for sentence in checked.wrong:
        print(f"  {sentence}")
    return checked.wrong


def _print_tables(checked: Checked) -> None:
    print(f"{'table':10} {'select':>7} " + " ".join(f"{source:>10} {'diff':>5} {'inc':>5}" for source in SOURCES))
    for name, sources in checked.compared.items():
        parts = []
        for source in SOURCES:
            found = sources[source]
            wrong = found.missing + found.extra + found.differing + found.twice
            parts.append(f"{found.rows:>10} {wrong:>5} {found.incomplete:>5}")
        print(f"{name:10} {sources['fold'].select:>7} " + " ".join(parts))
