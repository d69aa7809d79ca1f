"""Whose state of images it is, what time does to it, what is not known any more, and of which tokens it is."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import lmdb
import pytest

from tailer.errors import RefusedError, UsageError
from tailer.image_state import file as image_file
from tailer.image_state.file import ImageFile, reading
from tailer.image_state.folder import FILE_NAME
from tailer.options.token_range import TokenRange
from tailer.retention.move_consumer import seek_consumer
from tailer.state.log_folder import state_folder
from tailer.tail.images.timers import Timers
from tests.helpers.image_runs import NOW, Runs, Taker
from tests.helpers.log_writer import (
    Cell,
    Liveness,
    LogFolder,
    Row,
    Update,
    completed,
    create_payload,
    encode_mutation,
    i32,
    insert_payload,
    live,
    segment_of,
    simple_table,
)

ONE = 1_700_000_000_000
TABLE = simple_table("ks", "t")
TS = int(NOW * 1_000_000)


def log_of(folder: Path, payloads: list[bytes], *, created: bool = True) -> LogFolder:
    log = LogFolder(folder)
    made = segment_of(ONE, [[create_payload(TABLE)] if created else [], payloads])
    log.put(made, live(made))
    return log


def expiring(pk: int, at: int) -> bytes:
    times = {"ttl": 60, "expires": at}
    row = Row((b"a",), Liveness(TS, **times), None, (("v", Cell(i32(pk), TS, **times, like_row=2)),))
    return encode_mutation((Update(TABLE, i32(pk), (row,)),))


def rows(count: int) -> list[bytes]:
    return [insert_payload(TABLE, number, "a", number, TS + number) for number in range(count)]


def one_node(tmp_path: Path, payloads: list[bytes], **more: object) -> Runs:
    log = log_of(tmp_path / "n1" / "cdc_raw", payloads)
    return replace(Runs({"n1": log.path}, tmp_path / "images"), **more)


def test_a_state_that_is_lost_is_not_begun_anew(tmp_path: Path) -> None:
    runs = one_node(tmp_path, rows(3))
    runs.run()
    shutil.rmtree(runs.folder)
    with pytest.raises(RefusedError, match="keeps no position of this consumer"):
        runs.run()
    again = replace(runs, consumer="other", folder=tmp_path / "other", taker=Taker())
    again.run()
    assert len(again.taker.lines) == 3


def test_another_log_under_a_node_s_name(tmp_path: Path) -> None:
    runs = one_node(tmp_path, rows(3))
    runs.run()
    other = replace(runs, logs={"n1": log_of(tmp_path / "other" / "cdc_raw", rows(2)).path})
    with pytest.raises(RefusedError, match="another state folder than the images were made of"):
        other.run()


def test_a_state_that_is_another_consumer_s_or_range_s(tmp_path: Path) -> None:
    runs = one_node(tmp_path, rows(3))
    runs.run()
    with pytest.raises(RefusedError, match="another one's"):
        replace(runs, consumer="other").run()
    with pytest.raises(RefusedError, match="another one's"):
        replace(runs, tokens=TokenRange(0, 5)).run()


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with ImageFile(tmp_path / "images"), pytest.raises(RefusedError, match="in use by process"):
        ImageFile(tmp_path / "images")
    with ImageFile(tmp_path / "images") as file:
        assert file.folder.stat().st_mode & 0o777 == 0o700


def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailer.image_state.folder.network_kind", lambda folder: "nfs4")
    with pytest.raises(UsageError, match=r"network file system \(nfs4\)"):
        ImageFile(tmp_path / "images")


def test_the_file_grows_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_file, "FIRST_BYTES", 128 * 1024)
    runs = one_node(tmp_path, rows(3000))
    runs.run()
    assert len(runs.taker.lines) == len(runs.taker.once) == 3000
    assert (runs.folder / "data.mdb").stat().st_size > 128 * 1024
    with reading(runs.folder) as seen:
        assert seen.counts()["rows"] == 6000


def test_what_a_ttl_ends_while_nothing_is_written(tmp_path: Path) -> None:
    now = [NOW]
    ends = int(NOW) + 60
    runs = one_node(tmp_path, [expiring(1, ends), expiring(2, ends), expiring(3, ends + 60)], wall=lambda: now[0])
    runs.run()
    ticks = [0.0]
    stream = runs.stream()
    stream.open()
    timers = Timers(stream, runs.said.append, lambda: ticks[0])
    for later, expected in ((59, 0), (61, 2), (61, 2), (200, 3)):
        now[0], ticks[0] = NOW + later, ticks[0] + 2.0
        timers.look()
        gone = runs.taker.images[3:]
        assert [image["op"] for image in gone] == ["expire"] * expected
    stream.close()
    assert [image["after"] for image in gone] == [None] * 3
    assert gone[0]["before"] == runs.taker.images[0]["after"]
    assert {(image["write_ts"], image["event_id"], image["complete"]) for image in gone} == {(None, None, True)}


def test_a_tombstone_is_forgotten_when_all_were_read_past_it(tmp_path: Path) -> None:
    now, ticks = [NOW], [0.0]
    runs = one_node(tmp_path, [expiring(1, int(NOW) + 60)], wall=lambda: now[0])
    runs.run()
    stream = runs.stream()
    stream.open()
    timers = Timers(stream, runs.said.append, lambda: ticks[0])
    # Of the row its facts, then of the partition the number of its last image, that of the expiry.
    for read_past, kept in ((None, 2), (NOW + 50, 2), (NOW + 864_000 * 2, 1), (NOW + 864_000 * 4, 0)):
        now[0], ticks[0] = max(NOW + 864_000 * 2, read_past or 0), ticks[0] + 700.0
        if read_past is not None:
            timers.read_past("n1", read_past)
        timers.look()
        timers.look()
        left = stream._file.read(lambda seen: seen.counts()["rows"])
        assert left == kept
    stream.close()


@pytest.mark.parametrize(
    ("told", "chosen", "kept_at"),
    [
        ([{}], None, 864_000),
        ([{1: 86_400}], None, 86_400),
        ([{1: 86_400}, {1: 172_800}], None, 172_800),
        ([{2: 86_400}], None, 864_000),
        ([{1: 0}], None, 3 * 3600),
        ([{1: 86_400}], 43_200, 43_200),
    ],
    ids=["default", "its own", "the longest of two nodes", "another table's", "hints are kept longer", "as chosen"],
)
def test_a_tombstone_is_kept_as_long_as_the_table_says(
    tmp_path: Path, told: list[dict[int, int]], chosen: int | None, kept_at: int
) -> None:
    """Told by number: 1 for the table, 2 for another."""
    now, ticks = [NOW], [0.0]
    runs = one_node(tmp_path, [expiring(1, int(NOW) + 60)], wall=lambda: now[0])
    runs.run()
    ids = {1: next(iter(runs.taker.images))["table_id"].replace("-", ""), 2: "00" * 16}
    stream = replace(runs, gc_grace_seconds=chosen).stream()
    stream.open()
    timers = Timers(stream, runs.said.append, lambda: ticks[0])
    # The row expires a minute after it came, and is dead from then on; the number of the partition's image stays.
    for later, kept in ((60 + kept_at - 1, 2), (60 + kept_at + 1, 1)):
        now[0], ticks[0] = NOW + later, ticks[0] + 700.0
        for number, each in enumerate(told):
            timers.read_past("n1" if not number else "n2", now[0], {ids[of]: seconds for of, seconds in each.items()})
        timers.look()
        timers.look()
        assert stream._file.read(lambda seen: seen.counts()["rows"]) == kept
    stream.close()


def test_ranges_of_tokens_share_the_partitions(tmp_path: Path) -> None:
    whole = one_node(tmp_path, rows(40))
    whole.run()
    found = []
    for number, tokens in enumerate((TokenRange(-(2**63), -1), TokenRange(0, 2**63 - 1))):
        part = replace(whole, folder=tmp_path / f"part{number}", taker=Taker(), tokens=tokens, consumer=f"part{number}")
        part.run()
        assert part.taker.images
        assert all(tokens.first <= image["token"] <= tokens.last for image in part.taker.images)
        found += part.taker.images
    rows_of = [sorted(str(image["after"]) for image in images) for images in (whole.taker.images, found)]
    assert rows_of[0] == rows_of[1]


def test_without_its_create_a_table_is_not_known_whole(tmp_path: Path) -> None:
    schema = tmp_path / "schema.cql"
    schema.write_text(
        f"CREATE TABLE ks.t (pk int, ck text, v int, PRIMARY KEY (pk, ck)) WITH ID = {TABLE.id} AND cdc = true;"
    )
    log = log_of(tmp_path / "n1" / "cdc_raw", rows(2), created=False)
    runs = Runs({"n1": log.path}, tmp_path / "images")
    runs.run(schema_file=schema)
    assert [(image["op"], image["complete"]) for image in runs.taker.images] == [("upsert", False)] * 2


def test_an_accepted_loss_ends_what_is_known_whole(tmp_path: Path) -> None:
    log = log_of(tmp_path / "n1" / "cdc_raw", rows(2))
    runs = Runs({"n1": log.path}, tmp_path / "images")
    runs.run()
    log_of(tmp_path / "n1" / "cdc_raw", rows(4))
    made = segment_of(ONE + 1, [[insert_payload(TABLE, 7, "a", 7, TS)]])
    LogFolder(log.path).put(made, live(made))
    for path in log.path.glob(f"*{ONE}*"):
        path.unlink()
    runs.run(accept_loss=True)
    last = runs.taker.images[-1]
    assert (last["after"]["v"], last["op"], last["complete"]) == (7, "upsert", False)


def test_a_node_that_was_not_followed_before(tmp_path: Path) -> None:
    runs = one_node(tmp_path, rows(2))
    runs.run()
    log = log_of(tmp_path / "n2" / "cdc_raw", rows(3))
    more = replace(runs, logs={**runs.logs, "n2": log.path})
    more.run()
    (last,) = runs.taker.images[2:]
    assert (last["after"]["v"], last["complete"]) == (2, False)


def test_a_consumer_that_was_moved_over_rows(tmp_path: Path) -> None:
    log = log_of(tmp_path / "n1" / "cdc_raw", rows(2))
    runs = Runs({"n1": log.path}, tmp_path / "images")
    runs.run()
    log_of(tmp_path / "n1" / "cdc_raw", rows(4))
    seek_consumer(log.path, "c", "latest", node="n1")
    runs.run()
    assert len(runs.taker.lines) == 2
    log_of(tmp_path / "n1" / "cdc_raw", rows(5))
    runs.run()
    last = runs.taker.images[-1]
    assert (last["after"]["v"], last["op"], last["complete"]) == (4, "upsert", False)


def test_the_state_is_beside_the_log_s(tmp_path: Path) -> None:
    from tailer.options.tail import TailOptions
    from tailer.tail.images.run import images_folder

    folder = tmp_path / "n1" / "cdc_raw"
    found = images_folder([("n1", folder)], TailOptions(consumer="c"), None)
    assert found == state_folder(folder) / "images" / "c"


def test_a_state_that_is_just_being_made_is_none_yet(tmp_path: Path) -> None:
    folder = tmp_path / "images"
    folder.mkdir()
    (folder / FILE_NAME).touch()
    with pytest.raises(UsageError, match="there is no state of images"), reading(folder):
        pass
    lmdb.open(str(folder), max_dbs=1).close()
    with pytest.raises(UsageError, match="there is no state of images"), reading(folder):
        pass
    ImageFile(folder).close()
    with reading(folder):
        pass


def test_a_finished_segment_of_another_run_is_read_on(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "n1" / "cdc_raw")
    made = segment_of(ONE, [[create_payload(TABLE)], rows(2)])
    log.put(made, completed(made))
    runs = Runs({"n1": log.path}, tmp_path / "images")
    runs.run()
    more = segment_of(ONE + 1, [rows(3)])
    log.put(more, live(more))
    runs.run()
    assert [image["after"]["v"] for image in runs.taker.images] == [0, 1, 2]
