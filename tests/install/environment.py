"""Virtual environments with nothing in them but what a list of requirements asks for.

One of links takes it from the environment that runs the tests, in an instant and without network. Whatever the list
does not ask for is not there: neither to import nor to look up.
"""

from __future__ import annotations

import os
import re
import subprocess
import venv
from collections.abc import Iterable, Sequence
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

from tests.helpers.cli import ROOT, Result

NODE = ROOT / "contrib" / "requirements-node.txt"
_OF_THE_TESTS = ("PYTHON", "PYSPARK", "SPARK", "CDC_TAIL", "VIRTUAL_ENV")


class Environment:
    """A virtual environment. Programs run in it outside the repository, and find none of ours by themselves."""

    def __init__(self, folder: Path, *, pip: bool) -> None:
        venv.create(folder, with_pip=pip, symlinks=True)
        self.folder = folder
        (self.packages,) = folder.glob("lib/python*/site-packages")

    def run(
        self, program: str, *arguments: str | Path, stdin: str = "", timeout: float = 300, **environment: str
    ) -> Result:
        """Runs one of the environment's programs. Of the variables here those of Python, Spark and ours are not set."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OF_THE_TESTS)}
        ran = subprocess.run(
            [self.folder / "bin" / program, *arguments],
            cwd=self.folder,
            env={**kept, **environment},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        return Result(ran.returncode, ran.stdout, ran.stderr)


def linked(folder: Path, requirements: Iterable[str]) -> Environment:
    """An environment of links to what is installed here, and to this repository."""
    made = Environment(folder, pip=False)
    for each in _needed(requirements):
        for name in {file.parts[0] for file in each.files or ()} - {"..", "__pycache__"}:
            (made.packages / name).symlink_to(Path(str(each.locate_file(name))))
    (made.packages / "repository.pth").write_text(f"{ROOT}\n")
    return made


def requirements_of(file: Path) -> list[str]:
    """The lines of a file of requirements."""
    lines = (line.partition("#")[0].strip() for line in file.read_text("utf-8").splitlines())
    return [line for line in lines if line]


def _needed(requirements: Iterable[str]) -> Sequence[Distribution]:
    """The distributions that are asked for, and those that they ask for."""
    found: dict[str, Distribution] = {}
    waiting = list(requirements)
    while waiting:
        wanted = Requirement(waiting.pop())
        name = re.sub(r"[-_.]+", "-", wanted.name).lower()
        if name not in found and (wanted.marker is None or wanted.marker.evaluate({"extra": ""})):
            found[name] = distribution(name)
            waiting += found[name].requires or ()
    return list(found.values())
