"""A state folder on a network file system is told of, once; on any other nothing is said."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tailer.state import file_system
from tailer.state.file_system import network_notices
from tests.helpers.cli import run_cli
from tests.helpers.log_writer import LogFolder, create_payload, live, segment_of, simple_table


def mounts(path: Path, kind: str, folder: Path) -> Path:
    device = folder.stat().st_dev
    own = f"{os.major(device)}:{os.minor(device)}"
    path.write_text(
        "22 1 0:999 / /proc rw,nosuid shared:1 - proc proc rw\n"
        f"30 22 {own} / /var/lib/some\\040where rw,relatime shared:5 master:2 - {kind} server:/export rw,vers=4.2\n"
    )
    return path


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "fuse.sshfs"])
def test_network(kind: str, tmp_path: Path) -> None:
    (told,) = network_notices(tmp_path, mounts(tmp_path / "mountinfo", kind, tmp_path))
    assert told is not None
    assert f"{tmp_path} is on a network file system ({kind})" in told


@pytest.mark.parametrize("kind", ["ext4", "xfs", "tmpfs", "overlay", "fuse"])
def test_others(kind: str, tmp_path: Path) -> None:
    assert network_notices(tmp_path, mounts(tmp_path / "mountinfo", kind, tmp_path)) == []


def test_where_nothing_tells_nothing_is_said(tmp_path: Path) -> None:
    assert network_notices(tmp_path, tmp_path / "absent") == []
    assert network_notices(tmp_path / "absent") == []
    (tmp_path / "odd").write_text("no such line\n- - -\n\n")
    assert network_notices(tmp_path, tmp_path / "odd") == []


def test_a_run_that_keeps_a_position_says_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = LogFolder(tmp_path / "cdc_raw")
    writer = segment_of(5, [[create_payload(simple_table("ks", "t"))]])
    folder.put(writer, live(writer))
    monkeypatch.setattr(file_system, "MOUNTS", mounts(tmp_path / "mountinfo", "nfs4", tmp_path))
    ran = run_cli(["follow", folder.path, "--once", "--consumer", "c"])
    assert (ran.code, ran.err.count("network file system (nfs4)")) == (0, 1)
    assert "network" not in run_cli(["follow", folder.path, "--once"]).err
