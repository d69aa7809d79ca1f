"""Types that many threads want for the first time: msgspec alone ends the process, or reads what is not there yet."""

from __future__ import annotations

import subprocess
import sys

from tests.helpers.cli import ROOT

ASKED = """
from __future__ import annotations
import sys, threading, types
from tailer.typed_decode import convert, decode_json, decode_msgpack, json_decoder

SOURCE = '''
from __future__ import annotations
import msgspec
class Inner(msgspec.Struct):
    x: int
    y: list[str]
class Outer(msgspec.Struct):
    a: int
    b: Inner | None
    c: dict[str, Inner]
    d: str = ""
'''
TEXT = b'{"a":1,"b":{"x":1,"y":["a"]},"c":{"k":{"x":1,"y":[]}}}'
sys.setswitchinterval(1e-6)


def once():
    module = types.ModuleType("made")
    sys.modules["made"] = module
    exec(SOURCE, module.__dict__)
    together, found = threading.Barrier(4), []
    asks = [
        lambda: decode_json(TEXT, module.Outer),
        lambda: json_decoder(module.Outer).decode(TEXT),
        lambda: convert({"a": 1, "b": {"x": 1, "y": ["a"]}, "c": {"k": {"x": 1, "y": []}}}, module.Outer),
        lambda: decode_json(b"[" + TEXT + b"]", list[module.Outer])[0],
    ]

    def run(ask):
        together.wait()
        found.append(ask())

    threads = [threading.Thread(target=run, args=(ask,)) for ask in asks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [module.Outer(1, module.Inner(1, ["a"]), {"k": module.Inner(1, [])})] * 4, found


for _ in range(300):
    once()
"""


def test_a_type_that_threads_want_for_the_first_time() -> None:
    done = subprocess.run([sys.executable, "-c", ASKED], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
