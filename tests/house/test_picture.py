"""`docs/architecture.svg` shows the rooms as they are, and what draws it draws any tree so that it can be read."""

from __future__ import annotations

import random
import re
from itertools import combinations
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from scripts.draw_architecture import PICTURE, main
from scripts.picture_rooms import Box, boxes
from scripts.picture_svg import SPAN, svg
from tests.house.import_graph import Arrow, Arrows, reduced
from tests.house.small_tree import small_tree

FILES = {
    "tailer/__init__.py": "from tailer.errors import Bad\n",
    "tailer/errors.py": '"""Errors."""\n',
    "tailer/limits.py": "from tailer.errors import Bad\n",
    "tailer/api.py": '"""The door: `open` and `run`. It holds nothing."""\nfrom tailer.reading import reader\n',
    "tailer/amounts.py": '"""Amounts."""\nimport tailer.errors\n',
    "tailer/framing/__init__.py": '"""Bytes of a segment,\nwhatever is < 64 & in it.\n\nMore.\n"""\n',
    "tailer/framing/chain.py": "from tailer.errors import Bad\nfrom tailer.limits import KIB\n",
    "tailer/scan/index.py": "from tailer.framing.chain import x\nimport tailer.errors\n",
    "tailer/rows/rows.py": "import tailer.scan.index\nimport tailer.state.journal\n",
    "tailer/state/journal.py": "def late():\n    import tailer.rows.rows\n",
    "tailer/reading/reader.py": "import tailer.rows.rows\nimport tailer.scan.index\n",
    "writer_hooks/log.py": "import tailer.reading.reader\n",
    "pyspark_cdc_tail/__init__.py": "import tailer.api\n",
}


class Drawn(NamedTuple):
    left: float
    right: float
    top: float
    bottom: float


def drawn(picture: str) -> list[Drawn]:
    found = []
    for rect in ElementTree.fromstring(picture).iterfind("{*}rect[@class='box']"):
        x, y, width, height = (float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
        found.append(Drawn(x, x + width, y, y + height))
    return found


def generated(seed: int) -> tuple[dict[str, Box], Arrows]:
    """Rooms on levels as in the table, and more imports than one can follow."""
    choose = random.Random(seed)
    rooms = [Box(f"room {level}{name}", "word " * choose.randrange(20), level) for level in range(9) for name in "abcd"]
    rooms = choose.sample(rooms, 24)
    pairs = [(one, other) for one in rooms for other in rooms if one.level > other.level and choose.random() < 0.2]
    return {box.name: box for box in rooms}, reduced(frozenset(Arrow(one.name, other.name) for one, other in pairs))


def test_the_picture_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().out


def test_a_picture_that_is_not_current_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small_tree(tmp_path, {**FILES, "docs/spark.md": ""})
    check = ["--root", str(tmp_path), "--check"]
    assert main(check) == 1
    assert main(check[:2]) == 0
    assert main(check) == 0
    picture = tmp_path / PICTURE
    picture.write_bytes(picture.read_bytes() + b" ")
    assert main(check) == 1
    assert capsys.readouterr().out.count("is not current") == 2


def test_rooms_of_a_tree(tmp_path: Path) -> None:
    found, arrows = boxes(small_tree(tmp_path, FILES))
    assert list(found.values()) == [
        Box("api", "The door: open and run", 12),
        Box("errors · limits", "", 1),
        Box("framing", "Bytes of a segment, whatever is < 64 & in it", 3),
        Box("pyspark_cdc_tail", "", 13),
        Box("reading", "", 7),
        Box("rows · state", "", 6),
        Box("scan", "", 4),
        Box("tailer/*.py", "", 2),
        Box("writer_hooks", "", 13),
    ]
    assert arrows == {
        Arrow("pyspark_cdc_tail", "api"),
        Arrow("api", "reading"),
        Arrow("writer_hooks", "reading"),
        Arrow("reading", "rows · state"),
        Arrow("rows · state", "scan"),
        Arrow("scan", "framing"),
        Arrow("framing", "errors · limits"),
        Arrow("tailer/*.py", "errors · limits"),
    }


@pytest.mark.parametrize("seed", range(4))
def test_nothing_lies_on_another_and_all_is_on_the_page(seed: int) -> None:
    found, arrows = generated(seed)
    picture = svg(found, arrows)
    rects = drawn(picture)
    assert len(rects) == len(found)
    for one, other in combinations(rects, 2):
        assert one.right < other.left or other.right < one.left or one.bottom < other.top or other.bottom < one.top
    assert min(rect.left for rect in rects) >= SPAN[0] - 0.1
    assert max(rect.right for rect in rects) <= SPAN[1] + 0.1
    lines = ElementTree.fromstring(picture).findall("{*}text")
    inside = [line for line in lines if line.attrib["class"] in ("name", "line")]
    assert sum(len((line.text or "").split()) for line in inside) == sum(
        len(f"{b.name} {b.line}".split()) for b in found.values()
    )
    for line in inside:
        x, y = float(line.attrib["x"]), float(line.attrib["y"])
        (box,) = [rect for rect in rects if rect.left < x < rect.right and rect.top < y < rect.bottom]
        assert x + len(line.text or "") * 6 < box.right


@pytest.mark.parametrize("seed", range(4))
def test_every_arrow_ends_at_its_box_and_passes_none(seed: int) -> None:
    found, arrows = generated(seed)
    rects = drawn(picture := svg(found, arrows))
    ways = re.findall(
        r'class="arrow" d="M([\d.]+) (\d+) C.* ([\d.]+) (\d+)(?: V(\d+))?" stroke="[^"]*"( marker)?', picture
    )
    headed = 0
    for _, _, x, y, through, head in ways:
        reached = [rect for rect in rects if rect.left <= float(x) <= rect.right and rect.top == float(y)]
        assert bool(reached) == bool(head) != bool(through)
        headed += bool(head)
    # Arrows to one room share their way, so they may share a head too.
    assert len({arrow.imported for arrow in arrows}) <= headed <= len(arrows)
    assert picture == svg(dict(reversed(found.items())), frozenset(sorted(arrows, reverse=True)))
