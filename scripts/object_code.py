"""Makes the object code that a wheel carries: `python scripts/object_code.py FOLDER`, which `make wheel` runs.

The same sources, numba and llvmlite give the same bytes: what else numba could depend on is given to it. It takes a
minute of CPU, and Linux on x86-64; elsewhere the folder stays empty, and such a wheel compiles where it is installed.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from hashlib import blake2b
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tailer.jit.ahead import COMPILED  # noqa: E402
from tailer.jit.baseline import baseline_name, made_for  # noqa: E402

_COMPILE = """
import sys
from tailer.jit import ahead, store
code = ahead.main()
print(store.kept())
sys.exit(code)
"""


def make(folder: Path) -> Path:
    """Compiles everything into `folder`, which holds nothing else then; where it lies."""
    made = folder / baseline_name()
    shutil.rmtree(folder, ignore_errors=True)
    made.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as cache:
        kept = compiled(Path(cache))
        for module, name in COMPILED:
            shutil.copyfile(kept / f"{module}.{name}", made / f"{module}.{name}")
    return made


def compiled(cache: Path) -> Path:
    """The folder with the code, compiled in a process of its own."""
    # With Intel's library numba would make code that needs it.
    fixed = {"NUMBA_CACHE_DIR": str(cache), "NUMBA_DISABLE_INTEL_SVML": "1", "PYTHONHASHSEED": "0"}
    others = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    ran = subprocess.run(
        [sys.executable, "-c", _COMPILE],
        cwd=ROOT,
        env={**others, **made_for(), **fixed},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Path(ran.stdout.splitlines()[-1])


def told(made: Path) -> str:
    """What was made, in a line: with one digest of all of it, to compare two builds by."""
    digest, size = blake2b(digest_size=16), 0
    for file in sorted(made.iterdir()):
        code = file.read_bytes()
        digest.update(f"{file.name} {len(code)}\n".encode() + code)
        size += len(code)
    return f"{made}: {len(COMPILED)} functions, {size >> 10} KiB, digest {digest.hexdigest()}"


def main(folder: str) -> None:
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        shutil.rmtree(folder, ignore_errors=True)
        Path(folder).mkdir(parents=True)
        print(f"{sys.platform} on {platform.machine()} makes no code for Linux on x86-64: the wheel carries none")
        return
    print(told(make(Path(folder))))


if __name__ == "__main__":
    main(*sys.argv[1:])
