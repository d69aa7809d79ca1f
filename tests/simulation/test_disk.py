"""The simulated disk does what Linux does; a power loss keeps what was synced, and may keep more."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable
from random import Random

import pytest

from tests.simulation.disk import CLOSE_WRITE, CREATE, DELETE, MOVED_FROM, MOVED_TO, Disk, File, Folder

WRITES = os.O_RDWR | os.O_CREAT


def disk(seed: int = 0, capacity: int = 1 << 40) -> Disk:
    return Disk(Random(seed), lambda: 7, capacity)


def put(made: Disk, path: str, data: bytes, *, sync: bool = True) -> None:
    """Make a file, synced or not, and close it."""
    opened = made.open(path, WRITES)
    made.write(opened, data)
    if sync:
        made.sync(opened.node)
    made.close(opened)


def content(made: Disk, path: str) -> bytes:
    node = made.find(path)
    assert isinstance(node, File)
    return bytes(node.content)


def code(work: Callable[[], object]) -> int | None:
    with pytest.raises(OSError, match=r".") as raised:
        work()
    return raised.value.errno


def test_names_and_links() -> None:
    made = disk()
    made.make_folder("/a")
    put(made, "/a/f", b"one")
    made.link("/a/f", "/a/g")
    made.unlink("/a/f")
    assert (content(made, "/a/g"), made.find("/a/g").links) == (b"one", 1)
    made.symlink("g", "/a/s")
    assert content(made, "/a/s") == b"one"
    assert made.find("/a/../a/./g") is made.find("/a/s")
    made.rename("/a/g", "/b")
    assert sorted(made.names(made.root, "/")) == ["a", "b"]
    assert not made.exists("/a/s")


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        (lambda made: made.find("/none"), errno.ENOENT),
        (lambda made: made.find("/f/x"), errno.ENOTDIR),
        (lambda made: made.find("/loop"), errno.ELOOP),
        (lambda made: made.open("/f", WRITES | os.O_EXCL), errno.EEXIST),
        (lambda made: made.open("/s", os.O_RDONLY | os.O_NOFOLLOW), errno.ELOOP),
        (lambda made: made.open("/d", os.O_WRONLY), errno.EISDIR),
        (lambda made: made.open("/f", os.O_RDONLY | os.O_DIRECTORY), errno.ENOTDIR),
        (lambda made: made.make_folder("/d"), errno.EEXIST),
        (lambda made: made.remove_folder("/d"), errno.ENOTEMPTY),
        (lambda made: made.unlink("/d"), errno.EISDIR),
        (lambda made: made.rename("/f", "/d"), errno.EISDIR),
        (lambda made: made.link("/d", "/e"), errno.EPERM),
        (lambda made: made.open("/" + "n" * 256, WRITES), errno.ENAMETOOLONG),
        (lambda made: made.write(made.open("/f", os.O_RDONLY), b"x"), errno.EBADF),
        (lambda made: made.read(made.open("/d", os.O_RDONLY), 1), errno.EISDIR),
    ],
)
def test_what_is_refused(work: Callable[[Disk], object], expected: int) -> None:
    made = disk()
    put(made, "/f", b"")
    made.make_folder("/d")
    put(made, "/d/inner", b"")
    made.symlink("/f", "/s")
    made.symlink("/loop", "/loop")
    assert code(lambda: work(made)) == expected


def test_a_file_is_there_as_long_as_it_is_open() -> None:
    made = disk(capacity=10)
    put(made, "/f", b"0123456789")
    opened = made.open("/f", os.O_RDONLY)
    made.unlink("/f")
    assert made.read(opened, 4) == b"0123"
    assert (made.read(opened, 99), made.read(opened, 3, 1), made.used) == (b"456789", b"123", 10)
    made.close(opened)
    assert made.used == 0


def test_a_full_disk_takes_what_it_has_room_for() -> None:
    made = disk(capacity=6)
    opened = made.open("/f", WRITES)
    assert (made.write(opened, b"0123"), made.write(opened, b"4567")) == (4, 2)
    assert code(lambda: made.write(opened, b"8")) == errno.ENOSPC
    assert made.write(opened, b"ab", 0) == 2, "what is there may be written again"
    assert code(lambda: made.truncate(opened.node, 7)) == errno.ENOSPC


def test_a_lock_is_of_one_description() -> None:
    made = disk()
    put(made, "/f", b"")
    one, two = (made.open("/f", os.O_RDONLY) for _ in range(2))
    assert made.lock(one, fcntl.LOCK_SH)
    assert made.lock(two, fcntl.LOCK_SH)
    assert not made.lock(one, fcntl.LOCK_EX)
    made.close(two)
    assert made.lock(one, fcntl.LOCK_EX)
    again = made.open("/f", os.O_RDONLY)
    assert not made.lock(again, fcntl.LOCK_SH)
    assert made.lock(one, fcntl.LOCK_UN)
    assert made.lock(again, fcntl.LOCK_EX)


def test_who_watches_a_folder_is_told() -> None:
    made, heard = disk(), list[tuple[int, str]]()
    made.make_folder("/d")
    folder = made.find("/d")
    assert isinstance(folder, Folder)
    folder.watchers.append(lambda event, name: heard.append((event, name)))
    put(made, "/d/f", b"x")
    made.rename("/d/f", "/d/g")
    made.unlink("/d/g")
    assert heard == [(CREATE, "f"), (CLOSE_WRITE, "f"), (MOVED_FROM, "f"), (MOVED_TO, "g"), (DELETE, "g")]


def lost(seed: int, work: Callable[[Disk], None]) -> Disk:
    made = disk(seed)
    made.make_folder("/d")
    made.sync(made.root)
    work(made)
    made.power_loss()
    return made


def test_what_was_synced_survives() -> None:
    def work(made: Disk) -> None:
        put(made, "/d/f", b"one")
        made.sync(made.find("/d"))

    assert {content(lost(seed, work), "/d/f") for seed in range(50)} == {b"one"}


def test_a_name_is_lost_without_its_folders_sync() -> None:
    def there(seed: int) -> bool:
        return lost(seed, lambda made: put(made, "/d/f", b"one")).exists("/d/f")

    assert {there(seed) for seed in range(50)} == {False, True}


def test_content_is_lost_or_torn_without_its_sync() -> None:
    def work(made: Disk) -> None:
        put(made, "/d/f", b"")
        made.sync(made.find("/d"))
        opened = made.open("/d/f", os.O_WRONLY)
        for sector in range(3):
            made.write(opened, bytes([sector + 1]) * 512)

    found = {content(lost(seed, work), "/d/f") for seed in range(300)}
    whole = b"".join(bytes([sector + 1]) * 512 for sector in range(3))
    assert {b"", whole[:512], whole[:1024], whole} <= found
    # The second write without the first: the hole reads as zeros.
    assert any(len(each) >= 1024 and each[:512] == bytes(512) for each in found)


def test_a_file_takes_the_place_of_another_whole_or_not_at_all() -> None:
    def work(made: Disk) -> None:
        put(made, "/d/f", b"old")
        made.sync(made.find("/d"))
        put(made, "/d/f.new", b"new")
        made.rename("/d/f.new", "/d/f")

    assert {content(lost(seed, work), "/d/f") for seed in range(100)} == {b"old", b"new"}


def test_without_a_sync_before_it_the_new_content_may_be_missing() -> None:
    def work(made: Disk) -> None:
        put(made, "/d/f", b"old")
        made.sync(made.find("/d"))
        put(made, "/d/f.new", b"new", sync=False)
        made.rename("/d/f.new", "/d/f")

    assert {content(lost(seed, work), "/d/f") for seed in range(100)} >= {b"old", b"new", b""}


def test_the_same_seed_loses_the_same() -> None:
    def work(made: Disk) -> None:
        for number in range(9):
            put(made, f"/d/{number}", bytes(2000), sync=number % 2 == 0)

    def all_of(seed: int) -> list[tuple[str, bytes]]:
        made = lost(seed, work)
        return sorted((name, content(made, f"/d/{name}")) for name in made.names(made.find("/d"), "/d"))

    assert all_of(5) == all_of(5)
    assert any(all_of(5) != all_of(seed) for seed in range(10))
