"""The docs are complete and true where a machine can tell: commands, options, exit codes, links, examples."""

from __future__ import annotations

import ast
import json
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from tailer import errors
from tailer.cli.app import COMMANDS, app
from tailer.metrics.declared import TABLE
from tests.house.source_tree import ROOT
from tests.oracle import expected

PAGES = (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
FOREIGN_COMMANDS = ("apt-get", "demo.replay", "kafka-console-consumer.sh")
FOREIGN_OPTIONS = {"--help", "--no-deps"}


def text_of(*pages: Path) -> str:
    return "\n".join(page.read_text("utf-8") for page in pages)


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def command(name: str) -> Any:
    group: Any = typer.main.get_command(app)
    return group.get_command(group.make_context("cdc-tail", [], resilient_parsing=True), name)


def anchors(page: Path) -> set[str]:
    """GitHub's names of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links() -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
            if "://" not in target:
                yield page, target


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_in_the_readme_and_has_help_with_an_example(name: str) -> None:
    assert f"cdc-tail {name}" in text_of(ROOT / "README.md")
    found = command(name)
    assert found.help
    assert "cdc-tail " + name in (found.epilog or "") + found.help
    assert [option.name for option in found.params if not getattr(option, "help", "")] == []


def test_every_command_in_the_docs_is_there() -> None:
    named = set(re.findall(r"(?<![\w/.-])cdc-tail ([a-z]+)\b", "".join(re.findall(r"`[^`]+`", text_of(*PAGES)))))
    assert named - set(COMMANDS) == set()


def test_every_option_in_the_docs_is_there() -> None:
    options = {word for name in COMMANDS for option in command(name).params for word in getattr(option, "opts", [])}
    lines = [line for line in text_of(*PAGES).splitlines() if not any(word in line for word in FOREIGN_COMMANDS)]
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", "\n".join(lines)))
    assert named - options - FOREIGN_OPTIONS == set()


def test_the_tables_of_options_are_those_of_the_program() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "option_tables.py"))
    pages = {page.name: page.read_text("utf-8") for page in script["PAGES"]}
    assert [name for name, page in pages.items() if script["current"](page) != page] == [], "run the script"


def test_the_tables_of_metrics_are_those_of_the_program() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "metric_table.py"))
    page = script["PAGE"].read_text("utf-8")
    assert script["current"](page) == page, "run the script"
    assert {metric.name for metric in TABLE} == set(re.findall(r"^\| `(cdc_tail_\w+)` \|", page, re.MULTILINE))


def test_every_alert_is_in_the_docs() -> None:
    rules = (ROOT / "contrib" / "monitoring" / "alerts.yml").read_text("utf-8")
    page = text_of(ROOT / "docs" / "metrics.md")
    assert set(re.findall(r"- alert: (\w+)", rules)) == set(re.findall(r"`(CdcTail\w+)`", page))
    for name in re.findall(r"\bcdc_tail_\w+", rules + (ROOT / "scripts" / "grafana_board.py").read_text("utf-8")):
        assert re.sub(r"_(bucket|count|sum)$", "", name) in {metric.name for metric in TABLE}


def test_every_exit_code_is_documented() -> None:
    classes = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.CdcError)]
    codes = {0, 1} | {kind.code for kind in classes}
    for page in (ROOT / "README.md", ROOT / "docs" / "errors.md"):
        assert {int(code) for code in re.findall(r"^\| (\d) \|", text_of(page), re.MULTILINE)} == codes
    table = text_of(ROOT / "docs" / "errors.md")
    for kind in classes:
        if kind is not errors.CdcError:
            assert f"| {kind.code} | `{kind.__name__}` |" in table


def test_every_exit_code_has_a_page() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.CdcError)]
    pages = {int(page.stem): page.read_text("utf-8") for page in (ROOT / "docs" / "errors").glob("*.md")}
    assert pages.keys() == {kind.code for kind in kinds}
    for kind in kinds:
        assert kind is errors.CdcError or f"`{kind.__name__}`" in pages[kind.code]
    for code, page in pages.items():
        assert page.startswith(f"# {code}: ")
        assert re.search("^> ``cdc-tail: .+``$", page, re.MULTILINE), "what it says stands there"


def test_the_pages_are_a_site(tmp_path: Path) -> None:
    """With each page in its navigation, and no link or anchor that leads nowhere."""
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    made = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "errors" / "9.html").is_file()
    assert (tmp_path / "contrib" / "monitoring" / "alerts.yml").is_file()
    assert "quarantine" in (tmp_path / "search" / "search_index.json").read_text("utf-8")


@pytest.mark.parametrize("page", [page for page in PAGES if "ExecStart=" in text_of(page)], ids=lambda page: page.name)
def test_a_documented_unit_starts_again_what_a_restart_may_help(page: Path) -> None:
    """All but wrong usage, no permission among it, and what needs a person."""
    worth = {errors.SinkError, errors.SystemFailedError, errors.NodeAwayError, errors.HeldBackError}
    worth |= {errors.QuarantineFullError, errors.OwnLimitError}
    classes = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.CdcError)]
    others = {kind.code for kind in classes if kind not in worth} - {errors.CdcError.code}
    for unit in blocks(page, "ini"):
        if "Restart=on-failure" in unit:
            (said,) = re.findall(r"^RestartPreventExitStatus=(.*)$", unit, re.MULTILINE)
            assert {int(code) for code in said.split()} == others
        else:
            assert re.search(r"^Type=oneshot$|^\[Timer\]$", unit, re.MULTILINE), "what follows is started again"


@pytest.mark.parametrize(("page", "target"), list(links()), ids=lambda value: getattr(value, "name", value))
def test_links_lead_somewhere(page: Path, target: str) -> None:
    name, _, anchor = target.partition("#")
    file = (page.parent / name).resolve() if name else page
    assert file.exists()
    if anchor:
        assert anchor in anchors(file)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples_are_python(page: Path) -> None:
    for block in blocks(page, "python"):
        ast.parse(block)


def test_example_rows_are_what_the_server_saw(sets_root: Path) -> None:
    recorded = sets_root / "50-cases"
    rows = {row.data["event_id"]: json.loads(row.text) for row in expected(recorded, recorded / "cdc_raw").rows}
    examples = [json.loads(block) for block in blocks(ROOT / "docs" / "change-rows.md", "json")]
    assert len(examples) >= 6
    for example in examples:
        row = rows[example["event_id"]]
        assert example == {name: value for name, value in row.items() if value is not None}
