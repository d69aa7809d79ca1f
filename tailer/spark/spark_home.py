"""Where Spark's Python processes find PySpark: in this environment, compiled, as this process does.

The JVM puts `python/lib/pyspark.zip` of its home before everything else. What Python imports from a zip it compiles
anew, in each process, half a second of processor and of waiting; a query has eight of them before its first row. A home
without that zip, links to the rest of the real one, leaves them the package that is installed. Starts nothing.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

SPARK_HOME: Final = "SPARK_HOME"
_ZIP: Final = Path("python", "lib", "pyspark.zip")
_NEEDED: Final = ("bin", "jars")


@contextmanager
def light_home(package: Path) -> Iterator[None]:
    """For a JVM that is launched in here: SPARK_HOME is such a home, where `package`, PySpark's folder, allows it.

    It does where that came with pip, so that the interpreter finds it by itself, and nobody has named another home. The
    home is there until this process ends, and with it its JVM.
    """
    if SPARK_HOME in os.environ or not _is_installed(package):
        yield
        return
    os.environ[SPARK_HOME] = str(_linked(package))
    try:
        yield
    finally:
        del os.environ[SPARK_HOME]


def _is_installed(package: Path) -> bool:
    """Whether it is an installed package that brings Spark with it, and the zip."""
    places = {os.path.realpath(sysconfig.get_path(name)) for name in ("purelib", "platlib")}
    whole = (package / _ZIP).is_file() and all((package / name).is_dir() for name in _NEEDED)
    return whole and os.path.realpath(package.parent) in places


def _linked(package: Path) -> Path:
    # A folder that nobody else may write: what lies under it is run.
    home = Path(tempfile.mkdtemp(prefix="cdc-tail-spark-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    for part in package.iterdir():
        if part.is_dir() and part.name != _ZIP.parts[0]:
            (home / part.name).symlink_to(part)
    return home
