"""A lock that each gets in the order in which they came."""

from __future__ import annotations

import threading
import time

from tailer.tail.turn_lock import TurnLock


def test_who_came_first_is_next() -> None:
    lock, order = TurnLock(), list[int]()

    def work(number: int) -> None:
        with lock:
            order.append(number)

    threads = []
    with lock:
        for number in range(5):
            threads.append(threading.Thread(target=work, args=(number,)))
            threads[-1].start()
            while len(lock._waiting) <= number:
                time.sleep(0.001)
        assert not lock.acquire(blocking=False)
        assert order == []
    for each in threads:
        each.join()
    assert order == [0, 1, 2, 3, 4]


def test_it_is_free_behind_them() -> None:
    lock = TurnLock()
    for _ in range(2):
        assert lock.acquire(blocking=False)
        assert not lock.acquire(blocking=False)
        lock.release()


def test_who_takes_it_again_at_once_waits_for_others() -> None:
    lock, had = TurnLock(), list[str]()

    def other() -> None:
        with lock:
            had.append("other")

    with lock:
        thread = threading.Thread(target=other)
        thread.start()
        while not lock._waiting:
            time.sleep(0.001)
    with lock:
        had.append("again")
    thread.join()
    assert had == ["other", "again"]


def test_one_at_a_time() -> None:
    lock, inside, most = TurnLock(), 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(200):
            with lock:
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert most == 1
