"""Real users for a test, made by root and removed behind it, and commands that run as one of them.

An interpreter that lies where only root may go (a home of root's) is brought, by links, to where everybody may.
"""

from __future__ import annotations

import grp
import os
import pwd
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli import ROOT, Result

PROGRAM = "from tailer.cli.app import run; run()"
_LEFT_OUT = shutil.ignore_patterns("site-packages", "test", "idlelib", "ensurepip", "config-*")


@dataclass(frozen=True)
class User:
    """A user of this system; groups are asked for at each use, for a test may put it into more."""

    name: str

    @property
    def uid(self) -> int:
        return pwd.getpwnam(self.name).pw_uid

    @property
    def gid(self) -> int:
        return pwd.getpwnam(self.name).pw_gid

    @property
    def groups(self) -> list[int]:
        return os.getgrouplist(self.name, self.gid)


@contextmanager
def users(*names: str) -> Iterator[list[User]]:
    """Users with a group of their own, for as long as the context lasts. Skips where this process may not make them."""
    if os.geteuid() != 0 or shutil.which("useradd") is None:
        pytest.skip("only root may make users")
    made: list[User] = []
    try:
        for name in names:
            run_tool("useradd", "--system", "--user-group", "--no-create-home", "--shell", "/bin/sh", name)
            made.append(User(name))
        yield made
    finally:
        for user in made:
            run_tool("userdel", user.name)
        # Of one that has other members the group stays.
        there = {each.gr_name for each in grp.getgrall()}
        for user in made:
            if user.name in there:
                run_tool("groupdel", user.name)


def run_tool(*words: str) -> None:
    """A tool of the system. Raises with what it said where it fails."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (words, done.stderr)


class Shared:
    """A folder that every user may enter, and the interpreter in it if theirs is out of reach. Close it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="cdc-tail-users-"))
        self.path.chmod(0o755)
        self._python = Path(sys.executable)
        self._environment: dict[str, str] = {}
        # What the tests import lies there too.
        packages = Path(sysconfig.get_path("purelib"))
        for needed in (ROOT, packages):
            if not _reachable(needed):
                self.close()
                pytest.skip(f"other users may not read {needed}")
        if not _reachable(Path(sys.executable).resolve()):
            self._bring_python(packages)

    def close(self) -> None:
        shutil.rmtree(self.path)

    def run(
        self,
        user: User | None,
        words: Sequence[str | Path],
        program: str = PROGRAM,
        env: Mapping[str, str] | None = None,
    ) -> Result:
        """A command of ours as a user, None for root as it is. `program`: Python that runs it, if not the usual."""
        command = [self._python, "-c", program, *map(str, words)]
        done = subprocess.run(command, capture_output=True, timeout=300, check=False, **self.how(user, env))
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    def how(self, user: User | None, env: Mapping[str, str] | None = None) -> dict[str, Any]:
        """What `subprocess` is given for a process that is a user's, None for root."""
        who = {} if user is None else {"user": user.uid, "group": user.gid, "extra_groups": user.groups}
        ours = {"PYTHONPATH": str(ROOT), "HOME": str(self.path), **self._environment}
        return {"env": {**os.environ, **ours, **(env or {})}, "cwd": self.path, "umask": 0o027, **who}

    @property
    def python(self) -> Path:
        """One that every user may run."""
        return self._python

    def _bring_python(self, packages: Path) -> None:
        home, base = self.path / "python", Path(sys.base_prefix)
        library = Path(sysconfig.get_path("stdlib")).relative_to(base)
        shutil.copytree(base / library, home / library, ignore=_LEFT_OUT, copy_function=_link)
        for file in (base / "lib").glob("libpython*.so*"):
            _link(str(file), str(home / "lib" / file.name))
        self._python = home / "bin" / "python3"
        self._python.parent.mkdir()
        _link(str(Path(sys.executable).resolve()), str(self._python))
        self._environment = {
            "PYTHONHOME": str(home),
            "PYTHONPATH": f"{ROOT}{os.pathsep}{packages}",
            "LD_LIBRARY_PATH": str(home / "lib"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        # Another file system.
        shutil.copy2(source, target)


def _reachable(path: Path) -> bool:
    """Whether everybody may read it and go there."""
    return all(each.stat().st_mode & 0o001 for each in path.parents) and bool(path.stat().st_mode & 0o004)
