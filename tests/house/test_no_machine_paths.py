"""No file names a place of one machine, and none names a package registry: both belong to whoever runs it."""

from __future__ import annotations

import re

from tests.house.source_tree import ROOT, kept_files

FOLDERS = ("work", "root", "farm", "home/[a-z]+", "tmp/(?:s|venv|cass|bash_jobs[^/]*)")
MACHINE_PATH = re.compile(rb"(?:^|[^a-zA-Z0-9_.])/(?:" + "|".join(FOLDERS).encode() + rb")/")
REGISTRY = re.compile(rb"(?:pypi|pythonhosted|repo1?\.maven|search\.maven)\.(?:org|apache)")


def places(pattern: re.Pattern[bytes]) -> list[str]:
    found = []
    for file in kept_files():
        content = file.read_bytes()
        if b"\0" not in content[:8192]:
            name = file.relative_to(ROOT)
            found += [f"{name}:{n}" for n, line in enumerate(content.split(b"\n"), 1) if pattern.search(line)]
    return found


def test_no_path_of_one_machine() -> None:
    assert places(MACHINE_PATH) == []


def test_no_registry_is_named() -> None:
    assert places(REGISTRY) == []
