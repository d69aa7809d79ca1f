"""Programs from Debian's archive for tests, without root: a package's files are unpacked into a folder of the cache.

What is installed already is taken from the PATH by whoever asks; here a package is brought by `apt-get download`, once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.helpers.jvm.jars import Unavailable, cache

DOWNLOAD_SECONDS = 300


_APART = ("-o", "Debug::NoLocking=1", "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=")
"""apt-get needs no rights for what it only downloads."""


def unpacked(package: str, *, whole: bool = False) -> Path:
    """The folder with a package's files under their own paths; raises Unavailable. `whole`: with those of what it
    depends on and is not installed: see `libraries`."""
    found = cache() / "debian" / (f"{package}-whole" if whole else package)
    if not found.exists():
        _bring(package, found, whole)
    return found


def libraries(found: Path) -> str:
    """LD_LIBRARY_PATH for programs of a folder that was unpacked whole."""
    return ":".join(sorted({str(file.parent) for file in (found / "usr" / "lib").rglob("*.so*")}))


def _bring(package: str, found: Path, whole: bool) -> None:
    for tool in ("apt-get", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise Unavailable(f"no {tool} on the PATH to bring {package}")
    # Two runs may bring it at once: each into a folder of its own, the first to end gives it its name.
    partial = found.with_name(f"{found.name}.{os.getpid()}")
    files = partial / "files"
    files.mkdir(parents=True)
    # apt-get's own, while it downloads.
    (partial / "partial").mkdir()
    words = ["install", "-y", "--no-install-recommends", "--download-only", "-o", f"Dir::Cache::archives={partial}"]
    try:
        _run(["apt-get", *(_APART + tuple(words) if whole else ("download",)), package], partial, package)
        for archive in partial.glob("*.deb"):
            _run(["dpkg-deb", "-x", str(archive), str(files)], partial, package)
        if not found.exists():
            files.rename(found)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _run(command: list[str], folder: Path, package: str) -> None:
    try:
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=DOWNLOAD_SECONDS)
    except subprocess.TimeoutExpired as expired:
        raise Unavailable(f"{command[0]} took more than {DOWNLOAD_SECONDS} s to bring {package}") from expired
    if ran.returncode != 0:
        raise Unavailable(f"{command[0]} could not bring {package}: {ran.stderr.strip().splitlines()[-1:]}")
