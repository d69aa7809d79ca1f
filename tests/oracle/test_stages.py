"""The oracle's stage by stage view agrees with its view of the folder at the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.replay import Stage
from tests.helpers.sets import STAGES, stages
from tests.oracle import expected
from tests.oracle.stages import Replay, every_row


@pytest.mark.parametrize("name", list(STAGES))
def test_the_stages_add_up(name: str, sets_root: Path, tmp_path: Path) -> None:
    stage, replay = Stage(tmp_path, sets_root), Replay(sets_root / name)
    told = []
    for place in stages(name):
        stage.show(place, links=True)
        made = replay.stage(stage.folder)
        assert made.exit_code == 0
        told += made.texts
    assert told == every_row(sets_root / name)
    if name not in ("50-nonblocking", "50-cap"):  # there the first segments are gone at the end
        assert told == expected(sets_root / name, stage.folder, stopped=True).texts
    assert len(set(told)) == len(told)
