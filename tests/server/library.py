"""What is needed to run a Cassandra server here: a JDK, the server's jars from Maven, and `Node.java` compiled.

Jars are resolved once into a cache folder: `$CDC_TAIL_CASSANDRA_LIB` or `~/.cache/cdc-tail/cassandra/<version>`.
If that folder itself holds the server's jar, it is a ready-made set: Maven is not asked and nothing is written to it.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

VERSION = "5.0.9"
OLDEST_JAVA = 17
# The first run brings about 100 jars (90 MB) from Maven Central.
MAVEN_SECONDS = 900

_SOURCE = Path(__file__).with_name("Node.java")
_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
_POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>cdc-tail</groupId><artifactId>server-under-test</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId><version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""


class Unavailable(Exception):
    """This machine cannot run the server; the text says what is missing."""


@dataclass(frozen=True)
class Library:
    """A Java program and the class path that make a node."""

    java: Path
    jars: Path
    classes: Path

    @property
    def agent(self) -> Path:
        """The jar of the agent that measures object sizes: 5.0 asks for it at start."""
        return next(self.jars.glob("jamm-*.jar"))


def available() -> str | None:
    """Why a server cannot run here, or None if it can.

    Resolves the jars on the way (minutes at the very first call, then nothing): only so is it known that it works.
    """
    try:
        library()
    except Unavailable as reason:
        return str(reason)
    return None


@functools.cache
def library() -> Library:
    """The jars and the compiled `Node.java`; raises Unavailable. A `Node.java` that does not compile is a failure."""
    if importlib.util.find_spec("cassandra") is None:
        raise Unavailable("the Python package cassandra-driver is not installed")
    java, javac = _tool("java"), _tool("javac")
    _check_version(java)
    jars = _jars()
    return Library(java=java, jars=jars, classes=_classes(javac, jars))


def _tool(name: str) -> Path:
    home = os.environ.get("JAVA_HOME")
    found = Path(home, "bin", name) if home else shutil.which(name)
    if not found or not Path(found).exists():
        where = f"in JAVA_HOME ({home})" if home else "on the PATH"
        raise Unavailable(f"no {name} {where}: install a JDK {OLDEST_JAVA} (Debian: openjdk-17-jdk-headless)")
    return Path(found).resolve()


def _check_version(java: Path) -> None:
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False, timeout=60).stderr
    match = re.search(r'version "(\d+)', told)
    if match is None or int(match[1]) < OLDEST_JAVA:
        found = told.splitlines()[0] if told else "nothing"
        raise Unavailable(f"Java {OLDEST_JAVA} or newer is needed, {java} says: {found}")


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cdc-tail" / "cassandra" / VERSION


def _jars() -> Path:
    given = os.environ.get("CDC_TAIL_CASSANDRA_LIB")
    folder = Path(given).expanduser() if given else _cache()
    if any(folder.glob(f"cassandra-all-{VERSION}.jar")):
        return folder
    jars = folder / "jars"
    if not jars.exists():
        _resolve(folder, jars)
    return jars


def _resolve(folder: Path, jars: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise Unavailable("no Maven (mvn) on the PATH to bring the server's jars (Debian: maven)")
    folder.mkdir(parents=True, exist_ok=True)
    # Two runs may resolve at once: each into a folder of its own, the first to end gives it its name.
    partial = folder / f"jars.{os.getpid()}"
    pom = folder / f"pom.{os.getpid()}.xml"
    pom.write_text(_POM)
    command = [maven, "-q", "-B", "-Dstyle.color=never", "-f", str(pom), f"{_PLUGIN}:copy-dependencies"]
    command += ["-DincludeScope=runtime", f"-DoutputDirectory={partial}"]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=MAVEN_SECONDS)
        if ran.returncode != 0:
            first = re.search(r"\[ERROR\] (\S.*)", ran.stdout)
            raise Unavailable(f"Maven could not bring cassandra-all {VERSION}: {first[1] if first else ran.stderr}")
        if not jars.exists():
            partial.rename(jars)
    except subprocess.TimeoutExpired as expired:
        raise Unavailable(f"Maven took more than {MAVEN_SECONDS} s to bring cassandra-all {VERSION}") from expired
    finally:
        pom.unlink()
        shutil.rmtree(partial, ignore_errors=True)


def _classes(javac: Path, jars: Path) -> Path:
    """The folder of the compiled `Node.java`, named by what it was compiled from."""
    stamp = hashlib.sha256(_SOURCE.read_bytes() + bytes(javac)).hexdigest()[:16]
    classes = _cache() / f"node-{stamp}"
    if classes.exists():
        return classes
    partial = classes.with_name(f"{classes.name}.{os.getpid()}")
    partial.mkdir(parents=True)
    command = [str(javac), "-nowarn", "-encoding", "UTF-8", "-cp", f"{jars}/*", "-d", str(partial), str(_SOURCE)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if ran.returncode != 0:
        shutil.rmtree(partial)
        raise RuntimeError(f"{_SOURCE} does not compile:\n{ran.stderr}")
    if classes.exists():
        shutil.rmtree(partial)
    else:
        partial.rename(classes)
    return classes
