"""What `contrib/` has for machines: units that systemd takes, a manifest that Kubernetes takes, a container file whose
words are this program's own."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tailer.options.declared_commands import COMMANDS, options_of
from tests.helpers.cli import ROOT

CONTRIB = ROOT / "contrib"
UNITS = sorted((CONTRIB / "systemd").iterdir())
CONTAINERFILE = CONTRIB / "container" / "Containerfile"
MANIFEST = CONTRIB / "kubernetes" / "cassandra.yaml"
NODE_EXTRAS = ("serve",)
KUBERNETES = "1.30"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not there")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_takes_the_unit(unit: Path, tmp_path: Path) -> None:
    """As it stands, but for the program, which is not installed here."""
    for each in UNITS:
        (tmp_path / each.name).write_text(
            each.read_text().replace("/opt/cdc-tail/bin/cdc-tail", shutil.which("true") or "")
        )
    told = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", tmp_path / unit.name], capture_output=True, text=True, timeout=60
    )
    about = [line for line in (told.stdout + told.stderr).splitlines() if "cdc-tail" in line]
    assert (told.returncode, about) == (0, []), told.stderr


def lines_of(file: Path) -> Iterator[list[str]]:
    """The command lines of this program in a file: their words behind `cdc-tail`."""
    text = re.sub(r"\\\n\s*", " ", file.read_text())
    commands = "|".join(COMMANDS)
    for found in re.findall(rf"cdc-tail (?=(?:{commands})\b)([^\n;\"]*)", text):
        yield found.split()


def words_in_lists() -> Iterator[list[str]]:
    """Those that stand as lists: the container's own, and of the pod's containers."""
    (said,) = re.findall(r"^CMD (\[.*\])", re.sub(r"\\\n\s*", " ", CONTAINERFILE.read_text()), re.MULTILINE)
    yield json.loads(said)
    for manifest in manifests():
        for container in manifest["spec"].get("template", {}).get("spec", {}).get("containers", ()):
            if container.get("args"):
                yield container["args"]


def manifests() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(MANIFEST.read_text()))


@pytest.mark.parametrize(
    "words",
    [*(words for file in (*UNITS, MANIFEST, CONTAINERFILE) for words in lines_of(file)), *words_in_lists()],
    ids=" ".join,
)
def test_the_words_are_the_programs_own(words: list[str]) -> None:
    command, *rest = words
    known = {f"--{option.word}" for option in options_of(command)}
    given = {word.partition("=")[0] for word in rest if word.startswith("--")}
    assert given <= known


@pytest.mark.parametrize("manifest", manifests(), ids=lambda manifest: manifest["kind"])
def test_kubernetes_takes_the_manifest(manifest: dict[str, Any]) -> None:
    kubernetes_validate.validate(manifest, KUBERNETES, strict=True)


def test_the_pods_ports_and_mounts_fit() -> None:
    (pod,) = (manifest["spec"]["template"]["spec"] for manifest in manifests() if manifest["kind"] == "StatefulSet")
    volumes = {volume["name"] for volume in pod["volumes"]} | {"data"}
    for container in pod["containers"]:
        ports = {port["name"] for port in container.get("ports", ())}
        probes = [container[probe]["httpGet"] for probe in ("livenessProbe", "readinessProbe") if probe in container]
        assert {probe["port"] for probe in probes} <= ports
        assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
    assert pod["securityContext"]["runAsNonRoot"]


def test_the_container_is_not_root_and_has_what_serve_needs() -> None:
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    text = CONTAINERFILE.read_text()
    assert re.search(r"^USER (?!root|0\b)\S+$", text, re.MULTILINE)
    assert re.search(r"^HEALTHCHECK ", text, re.MULTILINE)
    for extra in NODE_EXTRAS:
        for wanted in extras[extra]:
            assert f'"{wanted}"' in text


def test_units_start_again_what_a_restart_may_help() -> None:
    """The same codes as in the docs' unit, which is held to the errors themselves."""
    (said,) = set(
        re.findall(r"^RestartPreventExitStatus=(.*)$", (ROOT / "docs" / "errors.md").read_text(), re.MULTILINE)
    )
    for unit in UNITS:
        text = unit.read_text()
        if "Restart=on-failure" in text:
            assert re.findall(r"^RestartPreventExitStatus=(.*)$", text, re.MULTILINE) == [said]
        else:
            assert re.search(r"^Type=oneshot$|^\[Timer\]$", text, re.MULTILINE)


DOCS_UNITS = [
    text
    for page in sorted((ROOT / "docs").rglob("*.md"))
    for text in re.findall(r"```ini\n(.*?)```", page.read_text(), re.DOTALL)
    if "[Unit]" in text
]


@pytest.mark.parametrize("text", [*(unit.read_text() for unit in UNITS), *DOCS_UNITS], ids=itertools.count())
def test_units_wait_for_the_file_systems_of_what_they_read_and_write(text: str) -> None:
    lines = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    places = re.findall(r"\S+/cdc_raw\b", text) + re.findall(r"files:(/\S+)", text)
    places += [f"/var/lib/{name}" for name in lines.get("StateDirectory", "").split()]
    places += re.findall(r"^Standard(?:Output|Error)=(?:append|file|truncate):(\S+)", text, re.MULTILINE)
    mounted = lines.get("RequiresMountsFor", "").split()
    assert [place for place in places if not any(Path(place).is_relative_to(each) for each in mounted)] == []
