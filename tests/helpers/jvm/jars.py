"""What a Java program needs on this machine: a JDK, its jars from Maven, our own sources compiled.

Jars are resolved once into a folder of the cache and then used for ever: Maven is not asked again. Whatever is missing
is `Unavailable`, with what to do. Knows no program by name: whoever starts one says what it is made of.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

OLDEST_JAVA = 17
# The first run brings some hundred jars from Maven Central.
MAVEN_SECONDS = 900

_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"


class Unavailable(Exception):
    """This machine cannot run the program; the text says what is missing."""


def lacking(bring: Callable[[], object]) -> str | None:
    """Why what `bring` brings is not to be had here, or None: then it is there."""
    try:
        bring()
    except Unavailable as reason:
        return str(reason)
    return None


class Artifact(NamedTuple):
    """A jar of Maven Central with all that it needs to run, but for the groups in `without`."""

    group: str
    name: str
    version: str
    without: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def cache() -> Path:
    """The folder for what is brought or compiled once."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cdc-tail"


def java() -> Path:
    """The Java to run with; raises Unavailable where there is none, or an old one."""
    found = _tool("java")
    told = subprocess.run([found, "-version"], capture_output=True, text=True, check=False, timeout=60).stderr
    match = re.search(r'version "(\d+)', told)
    if match is None or int(match[1]) < OLDEST_JAVA:
        said = told.splitlines()[0] if told else "nothing"
        raise Unavailable(f"Java {OLDEST_JAVA} or newer is needed, {found} says: {said}")
    return found


def _tool(name: str) -> Path:
    home = os.environ.get("JAVA_HOME")
    found = Path(home, "bin", name) if home else shutil.which(name)
    if not found or not Path(found).exists():
        where = f"in JAVA_HOME ({home})" if home else "on the PATH"
        raise Unavailable(f"no {name} {where}: install a JDK {OLDEST_JAVA} (Debian: openjdk-17-jdk-headless)")
    return Path(found).resolve()


def jars_of(folder: Path, *artifacts: Artifact) -> Path:
    """The folder in `folder` with the artifacts' jars, brought by Maven if it is not there yet; raises Unavailable."""
    jars = folder / "jars"
    if not jars.exists():
        _resolve(folder, jars, artifacts)
    return jars


def _resolve(folder: Path, jars: Path, artifacts: Sequence[Artifact]) -> None:
    names = ", ".join(map(str, artifacts))
    maven = shutil.which("mvn")
    if maven is None:
        raise Unavailable(f"no Maven (mvn) on the PATH to bring {names} (Debian: maven)")
    folder.mkdir(parents=True, exist_ok=True)
    # Two runs may resolve at once: each into a folder of its own, the first to end gives it its name.
    partial = folder / f"jars.{os.getpid()}"
    pom = folder / f"pom.{os.getpid()}.xml"
    pom.write_text(_pom(artifacts))
    command = [maven, "-q", "-B", "-Dstyle.color=never", "-f", str(pom), f"{_PLUGIN}:copy-dependencies"]
    command += ["-DincludeScope=runtime", f"-DoutputDirectory={partial}"]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=MAVEN_SECONDS)
        if ran.returncode != 0:
            first = re.search(r"\[ERROR\] (\S.*)", ran.stdout)
            raise Unavailable(f"Maven could not bring {names}: {first[1] if first else ran.stderr}")
        if not jars.exists():
            partial.rename(jars)
    except subprocess.TimeoutExpired as expired:
        raise Unavailable(f"Maven took more than {MAVEN_SECONDS} s to bring {names}") from expired
    finally:
        pom.unlink()
        shutil.rmtree(partial, ignore_errors=True)


def _pom(artifacts: Sequence[Artifact]) -> str:
    wanted = "\n".join(map(_dependency, artifacts))
    return f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>cdc-tail</groupId><artifactId>under-test</artifactId><version>1</version>
  <dependencies>
{wanted}
  </dependencies>
</project>
"""


def _dependency(artifact: Artifact) -> str:
    left_out = "".join(
        f"<exclusion><groupId>{group}</groupId><artifactId>*</artifactId></exclusion>" for group in artifact.without
    )
    return (
        f"<dependency><groupId>{artifact.group}</groupId><artifactId>{artifact.name}</artifactId>"
        f"<version>{artifact.version}</version><exclusions>{left_out}</exclusions></dependency>"
    )


def compiled(source: Path, folder: Path, jars: Path | None = None) -> Path:
    """The folder in `folder` with the classes of a Java file of ours, named by what they were compiled from.

    A source that does not compile is a failure, and not Unavailable.
    """
    compiler = _tool("javac")
    stamp = hashlib.sha256(source.read_bytes() + bytes(compiler)).hexdigest()[:16]
    classes = folder / f"{source.stem.lower()}-{stamp}"
    if classes.exists():
        return classes
    partial = classes.with_name(f"{classes.name}.{os.getpid()}")
    partial.mkdir(parents=True)
    path = ["-cp", f"{jars}/*"] if jars else []
    command = [str(compiler), "-nowarn", "-encoding", "UTF-8", *path, "-d", str(partial), str(source)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if ran.returncode != 0:
        shutil.rmtree(partial)
        raise RuntimeError(f"{source} does not compile:\n{ran.stderr}")
    if classes.exists():
        shutil.rmtree(partial)
    else:
        partial.rename(classes)
    return classes
