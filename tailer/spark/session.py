"""A local Spark session with settings for short delays, for the commands that bring their own. Tells what is missing.

The workers run under this process's interpreter, whatever is on PATH: it is the one that has cdc-tail.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from tailer.errors import SystemFailedError, UsageError
from tailer.options.sources import SECRET
from tailer.spark.spark_home import light_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA_MIN: Final = 17
PYSPARK_MIN: Final = (4, 0)
PREFIX: Final = "cdc_tail: "
"""What the source has to say stands in the JVM's output behind this."""

_CHECKPOINTS: Final = "org.apache.spark.sql.execution.streaming.%sFileSystemBasedCheckpointFileManager"
_JAVA_FAILS: Final = 'Exception in thread "main" '
_KEPT_LINES: Final = 40

JARS: Final = "spark.jars"
PACKAGES: Final = "spark.jars.packages"
JVM_OPTIONS: Final = "spark.driver.extraJavaOptions"
_FULL: Final = "-XX:+UseSerialGC"
# With its first compiler alone a JVM reserves 48 MiB for code; when that is full it compiles nothing more, and says so
# on standard output.
_LITTLE: Final = f"-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m {_FULL}"


def settings(version: tuple[int, int], *, long: bool = False) -> dict[str, str]:
    """The settings of our sessions, for a Spark version; `docs/spark.md` tells what each brings.

    `long`: for much work, so that it pays to compile fully (`purpose.py`).
    """
    sockets = {"spark.python.unix.domain.socket.enabled": "true"} if version >= (4, 1) else {}
    return {
        "spark.sql.streaming.checkpointFileManagerClass": _CHECKPOINTS
        % ("checkpointing." if version >= (4, 1) else ""),
        **sockets,
        # A JVM that spends little on compiling itself is ready sooner, and takes each row at twice the cost.
        JVM_OPTIONS: _FULL if long else _LITTLE,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
    }


def spark_line(version: str) -> tuple[int, int]:
    """The first two numbers of a version of Spark's: what it can do goes by them."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def use_this_python() -> None:
    """Make this interpreter that of Spark's Python processes. Before the session is built."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    # numpy would start a pool of threads in each of them, which nothing here uses.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def check_java() -> None:
    """UsageError with what to install unless there is a Java that Spark can use."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which(f"{home}/bin/java" if home else "java")
    found = "no java" if program is None else _java_version(program)
    if isinstance(found, str) or found < JAVA_MIN:
        raise UsageError(
            "Spark needs Java" + (f" (JAVA_HOME is {home})" if home else ""),
            expected=f"{JAVA_MIN} or newer",
            found=found,
            remedy="Install it (Debian: `apt-get install openjdk-17-jre-headless`); JAVA_HOME chooses one of several.",
        )


def check_pyspark() -> None:
    """UsageError with what to install unless there is a PySpark that the data source can run on."""
    try:
        import pyspark
    except ImportError as error:
        raise _no_pyspark(str(error)) from error
    if spark_line(pyspark.__version__) < PYSPARK_MIN:
        raise _no_pyspark(pyspark.__version__)


def open_session(
    name: str,
    say: Callable[[str], None],
    *,
    master: str = "local[*]",
    packages: Sequence[str] = (),
    conf: Mapping[str, str] | None = None,
    tell: Callable[[str], None] | None = None,
    long: bool = False,
) -> SparkSession:
    """Start a JVM and a session in it. Its log is kept to itself; lines of the data source go to `say`.

    `packages`: Maven coordinates to bring, unless `conf` says where jars are. `conf` is stronger than `settings`.
    `tell` takes each setting; `long`: see `settings`. UsageError where Java or pyspark is missing, SystemFailedError
    where the JVM does not start.
    """
    check_pyspark()
    check_java()
    use_this_python()
    import pyspark
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    wanted = _wanted(settings(spark_line(pyspark.__version__), long=long), master, packages, conf or {})
    if tell is not None:
        for setting, value in wanted.items():
            tell(f"set {setting}={'***' if SECRET.search(setting) else value}")
    made = SparkConf().setAppName(name).setAll(list(wanted.items()))
    output = JvmOutput(say)
    try:
        with output.pipe() as stderr, light_home(Path(pyspark.__file__).parent):
            gateway = launch_gateway(made, {"stderr": stderr})  # type: ignore[no-untyped-call]
        context = SparkContext(conf=made, gateway=gateway)
    except Exception as error:
        raise _not_started(output.last(), wanted.get(PACKAGES)) from error
    context.setLogLevel("ERROR")
    return SparkSession(context)


def _wanted(ours: Mapping[str, str], master: str, packages: Sequence[str], conf: Mapping[str, str]) -> dict[str, str]:
    """Every setting of a session: ours, then what the user gave."""
    brought = {PACKAGES: ",".join(packages)} if packages and not conf.keys() & {JARS, PACKAGES} else {}
    return {"spark.master": master, **ours, **brought, **conf}


class JvmOutput:
    """What the JVM and the Python processes under it write to standard error: noise, but for the source's own lines.

    With CDC_TAIL_DEBUG=1 everything is shown.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._all = os.environ.get("CDC_TAIL_DEBUG") == "1"
        self._kept: deque[str] = deque(maxlen=_KEPT_LINES)
        self._thread: threading.Thread | None = None

    def pipe(self) -> IO[bytes]:
        """A file for the child's standard error. Close it here once the child has it."""
        # Files at once: what nobody refers to any more is closed.
        reading, writing = (os.fdopen(end, mode) for end, mode in zip(os.pipe(), ("rb", "wb"), strict=True))
        self._thread = threading.Thread(target=self._read, args=(reading,), daemon=True)
        self._thread.start()
        return writing

    def last(self) -> str:
        """The line that tells most: of an exception of Java, else the last."""
        told = [line for line in self._kept if line.strip()]
        failures = [line for line in told if line.startswith(_JAVA_FAILS)]
        return (failures or told or ["it wrote nothing"])[-1].strip().removeprefix(_JAVA_FAILS)

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            for data in stream:
                line = data.decode("utf-8", "replace").rstrip("\n")
                self._kept.append(line)
                if line.startswith(PREFIX):
                    self._say(line.removeprefix(PREFIX))
                elif self._all:
                    self._say(line)


def _not_started(told: str, packages: str | None) -> SystemFailedError:
    if packages is None:
        return SystemFailedError(f"the JVM did not start: {told}")
    return SystemFailedError(
        f"the JVM did not start: {told}",
        remedy=f"It needs {packages} from Maven. Without network, give the jars: --conf {JARS}=FILE,FILE.",
    )


def _no_pyspark(found: str) -> UsageError:
    wanted = ".".join(map(str, PYSPARK_MIN))
    return UsageError(
        "this runs a Spark query, which needs PySpark",
        expected=f"{wanted} or newer",
        found=found,
        remedy=f"Install it where cdc-tail is: pip install 'pyspark>={wanted}'. All other commands do without.",
    )


def _java_version(program: str) -> int | str:
    """The major version; before Java 9 the number began with `1.`."""
    try:
        told = subprocess.run([program, "-version"], capture_output=True, timeout=60, check=False).stderr.decode()
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{program}: {error}"
    found = re.search(r'version "(\d{1,9})', told)
    return int(found[1]) if found else f"{program}, which does not tell its version"
