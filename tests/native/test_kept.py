"""A new consumer of a service's own log begins with all that its writer keeps, in `cdc_raw` or in `commitlog` alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import tailer
from tailer.archive.own_sidecar import own_end
from tailer.errors import LossError, UsageError
from tailer.framing.sidecar import decode_sidecar
from tailer.options.tail import TailOptions
from tailer.planning.plan import SEGMENTS_MAX
from tailer.retention.clean import CleanOptions, clean
from tailer.segments.segment import SegmentFile
from tailer.tail.node_log import node_log
from tailer.tail.open import open_tail
from tests.helpers.cli import run_cli
from tests.native.kept_log import AT_ONCE, Service, Told, ids, read, told
from tests.native.logs import as_rows
from writer_hooks import Cap


@pytest.fixture
def service(tmp_path: Path) -> Service:
    """Most of its log is in `commitlog` alone; some segments hold nothing for readers."""
    made = Service(tmp_path)
    made.write(40)
    made.write_secrets(12)
    made.write(40)
    assert len(made.clean()) > 5
    return made


def shown(lines: list[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines]


def snapshot(service: Service, *more: str) -> Any:
    return run_cli(["follow", service.raw, "--once", "--output", "json", "--from", "snapshot", *more])


def folded(images: list[dict[str, Any]]) -> dict[int, Any]:
    rows: dict[int, Any] = {}
    for image in images:
        number, after = image["partition_key"]["number"], image["after"]
        if after is None:
            rows.pop(number, None)
        else:
            rows[number] = after["note"]
    return rows


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_every_change_comes_once_and_in_order(tmp_path: Path, compression: Any) -> None:
    service = Service(tmp_path, compression=compression)
    service.write(60)
    service.write_secrets(20)
    service.reopen()
    service.write(60)
    assert len(service.clean()) > 5
    service.write(10)
    assert len(service.own()) > len(ids(service.raw)) + 5
    assert read(service.raw, "new") == service.changes == service.replayed()
    before = len(service.changes)
    service.write(30)
    service.clean()
    assert read(service.raw, "new") == service.changes[before:]
    service.log.close()
    assert read(service.raw, "closed") == service.changes


def test_images_fold_to_the_rows_of_the_service(service: Service) -> None:
    first = snapshot(service, "--consumer", "images", "--image", "after")
    service.write(30)
    service.clean()
    second = snapshot(service, "--consumer", "images", "--image", "after")
    assert (first.code, second.code) == (0, 0), first.err + second.err
    images = shown([*first.lines, *second.lines])
    assert {image["complete"] for image in images} == {True}
    assert folded(images) == service.rows()


def test_the_sidecars_are_those_that_the_writer_left(tmp_path: Path) -> None:
    service = Service(tmp_path)
    for _ in range(3):
        service.write(50)
        service.write_secrets(12)
    service.log.close()
    bare = 0
    for path in sorted((tmp_path / "commitlog").glob("*.log")):
        beside = service.raw / path.name.replace(".log", "_cdc.idx")
        with SegmentFile(path, int(path.stem.split("-")[2])) as file:
            found, header = own_end(file), file.known_header()
        written = decode_sidecar(beside.read_bytes()) if beside.exists() else None
        bare += written is None
        if found.sidecar is not None and written is not None:
            # Where a transaction is open at its beginning, what is of it cannot be told: then all may be.
            assert found.sidecar.first in (written.first, header.length)
            found = found._replace(sidecar=found.sidecar._replace(first=written.first))
        assert found.sidecar == written
    assert bare > 3


def test_what_was_discarded_is_gone_and_rows_are_known_in_part(service: Service) -> None:
    middle = service.own()[len(service.own()) // 2]
    given = [each for each in service.log.replay("earliest") if each.position.segment <= middle]
    service.discard(given[-1].end)
    # A transaction that began in what is gone is of a history that nobody knows.
    assert 10 < len(service.known()) < len(service.changes) - 10
    assert read(service.raw, "c") == service.known()
    images = shown(snapshot(service, "--consumer", "images", "--image", "after").lines)
    assert folded(images) == service.rows()
    deleted = {number for op, number, _ in service.known() if op == "delete_row"}
    whole = {image["partition_key"]["number"] for image in images if image["complete"]}
    assert whole <= deleted
    assert len(whole) < len(images) / 2


def test_a_run_that_stopped_inside_a_kept_segment_goes_on_there(service: Service) -> None:
    rows = as_rows(tailer.open(service.raw).read("snapshot"))
    assert told(rows) == service.changes
    for number in (1, len(rows) // 3, len(rows) // 2):
        until = f"{rows[number]['segment']}:{rows[number]['offset']}"
        first = told(shown(snapshot(service, "--consumer", f"c{number}", "--until", until).lines))
        assert first == service.changes[: len(first)]
        assert read(service.raw, f"c{number}") == service.changes[len(first) :]


def stop_after(service: Service, consumer: str, batches: int) -> list[Told]:
    """What a run took before it ended; the batch behind was given, and not taken."""
    rows: list[dict[str, Any]] = []
    follow = tailer.open(service.raw, consumer=consumer).follow(once=True, start="snapshot")
    for _ in range(batches):
        rows += as_rows([next(follow)])
    next(follow)
    del follow
    assert told(rows) == service.changes[: len(rows)]
    return told(rows)


def test_what_the_writer_discards_before_a_consumer_came_to_it_is_a_loss(service: Service) -> None:
    assert len(stop_after(service, "slow", 2)) < len(stop_after(service, "other", 4))
    service.discard()
    for consumer in ("slow", "other"):
        with pytest.raises(LossError, match="Changes are lost: "):
            read(service.raw, consumer)
    service.write(10)
    assert read(service.raw, "slow", accept_loss=True) == service.known()


def test_what_is_discarded_while_a_run_reads_is_a_loss_where_it_comes_to_it(tmp_path: Path) -> None:
    service = Service(tmp_path, segment_bytes=2048)
    service.write(400)
    assert len(service.clean()) > 2 * SEGMENTS_MAX
    follow = tailer.open(service.raw, consumer="c").follow(once=True, start="snapshot")
    rows = as_rows([next(follow)])
    service.discard()
    with pytest.raises(LossError, match="Changes are lost: ") as error:
        rows.extend(each for batch in follow for each in as_rows([batch]))
    assert told(rows) == service.changes[: len(rows)]
    assert error.value.at is not None
    assert rows[-1]["segment"] < error.value.at.segment < service.own()[0]


def test_a_consumer_that_is_registered_and_has_read_nothing_loses_what_is_discarded(service: Service) -> None:
    options = TailOptions(consumer="early", start="earliest", kept=True)
    first = service.own()[0]
    with open_tail(node_log(service.raw, options), options):
        pass
    service.discard()
    with pytest.raises(LossError, match=f"the writer does not keep segment {first} any more") as error:
        read(service.raw, "early")
    assert error.value.at is not None
    assert error.value.at.segment == first


def test_a_kept_segment_that_somebody_deletes_is_a_loss_at_its_place(service: Service) -> None:
    gone = service.own()[2]
    (service.path / "commitlog" / f"CommitLog-7-{gone}.log").unlink()
    found = snapshot(service)
    assert found.code == 5
    assert f"the first position not read is {gone}:0" in found.err
    assert f"the writer does not keep segment {gone} any more" in found.err
    assert told(shown(found.lines)) == service.changes[: len(found.lines)]
    rest = snapshot(service, "--accept-loss")
    assert rest.code == 0
    assert told(shown(rest.lines))[-5:] == service.changes[-5:]


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.97])
@pytest.mark.parametrize("compression", [None, "lz4"])
def test_a_damaged_kept_segment_is_told_with_its_place(tmp_path: Path, share: float, compression: Any) -> None:
    service = Service(tmp_path, compression=compression)
    service.write(80)
    service.clean()
    damaged = service.own()[2]
    path = service.path / "commitlog" / f"CommitLog-7-{damaged}.log"
    data = bytearray(path.read_bytes())
    at = int(share * len(data))
    data[at : at + 12] = bytes(each ^ 0x55 for each in data[at : at + 12])
    path.write_bytes(data)
    found = snapshot(service)
    assert (found.code, f"{damaged}:" in found.err) == (4, True), found.err
    assert told(shown(found.lines)) == service.changes[: len(found.lines)]
    assert found.lines


def test_a_kept_segment_that_was_cut_is_told(service: Service) -> None:
    cut = service.own()[2]
    path = service.path / "commitlog" / f"CommitLog-7-{cut}.log"
    path.write_bytes(path.read_bytes()[:-30])
    found = snapshot(service)
    assert (found.code, f"{cut}:" in found.err) == (4, True), found.err


def test_what_the_limit_took_from_readers_is_read_where_the_writer_keeps_it(tmp_path: Path) -> None:
    service = Service(tmp_path, cap=Cap(12_000, "drop_oldest"))
    for number in range(1, 60):
        service.append(("insert", number, "n" * 700))
        if number == 9:
            taken = stop_after(service, "c", 1)
    assert int((service.raw / "DROPPED").read_text()) > service.own()[1]
    assert read(service.raw) == service.changes
    with pytest.raises(LossError):
        list(tailer.open(service.raw, consumer="c").follow(once=True))
    assert taken + read(service.raw, "c") == service.changes


def test_a_state_that_has_forgotten_segments_gives_them_still(service: Service) -> None:
    for _ in range(3):
        service.write(40)
        list(tailer.open(service.raw, consumer="fast").follow(once=True))
        clean(service.raw, CleanOptions(forget_after=0.0), ages=AT_ONCE)
    assert len(stop_after(service, "late", 4)) > 3
    service.write(5)
    found = read(service.raw, "late")
    assert found == service.changes[-len(found) :]
    assert read(service.raw, "later") == service.changes


def test_a_service_that_has_written_nothing_yet(tmp_path: Path) -> None:
    service = Service(tmp_path)
    assert read(service.raw, "c") == []
    service.log.close()
    assert read(service.raw, "c") == []
    service.reopen()
    service.write(20)
    assert read(service.raw, "c") == service.changes


def test_what_cannot_begin_so_is_refused(service: Service, tmp_path: Path) -> None:
    refused = {
        "begins with what its writer keeps, and not in an archive": ["--archive", str(tmp_path / "archive")],
    }
    for sentence, more in refused.items():
        found = snapshot(service, *more)
        assert (found.code, sentence in found.err) == (2, True), found.err
    found = run_cli(["snapshot", service.raw, "--consumer", "c", "--table", "shop.orders"])
    assert (found.code, "a service's own log has no server" in found.err) == (2, True), found.err
    copied = tmp_path / "elsewhere" / "cdc_raw"
    shutil.copytree(service.raw, copied)
    with pytest.raises(UsageError, match="what its writer keeps, and that is not here"):
        read(copied)
    (tmp_path / "server" / "cdc_raw").mkdir(parents=True)
    with pytest.raises(UsageError, match="only its server can tell"):
        read(tmp_path / "server" / "cdc_raw")
    words = ["follow", f"a={service.raw},b={tmp_path / 'server' / 'cdc_raw'}", "--once", "--from", "snapshot"]
    found = run_cli(words)
    assert (found.code, "of a service's own log and of another one" in found.err) == (2, True), found.err
