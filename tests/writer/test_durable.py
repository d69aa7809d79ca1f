"""Tickets: threads and tasks that wait, together and through failures. No disk."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from tailer.errors import RefusedError, SystemFailedError
from tailer.position import Position
from writer_hooks.durable import DurableEnd, key_of, position_of
from writer_hooks.ticket import Ticket


def end_at(offset: int) -> DurableEnd:
    return DurableEnd(Position(7, offset))


def key(offset: int) -> int:
    return key_of(Position(7, offset))


def test_positions_as_numbers_compare_as_positions() -> None:
    places = [Position(1, 2**31 - 1), Position(2, 0), Position(1795258311984, 69736), Position(1795258311984, 69737)]
    assert [position_of(key_of(place)) for place in places] == places
    assert sorted(map(key_of, places)) == list(map(key_of, places))


def test_a_ticket_is_done_when_the_end_has_come() -> None:
    durable = end_at(100)
    ticket = Ticket(durable, key(101))
    assert not ticket.done
    with pytest.raises(TimeoutError):
        ticket.wait(0.01)
    durable.advance(key(101))
    assert ticket.done
    ticket.wait()


def test_threads_wait_for_the_sync_that_has_their_bytes() -> None:
    durable = end_at(100)
    waiting = [threading.Thread(target=Ticket(durable, key(101 + number)).wait) for number in range(20)]
    for thread in waiting:
        thread.start()
    group = durable.turn(key(110))
    durable.advance(key(110))
    durable.settle(group)
    for thread in waiting[:10]:
        thread.join(20)
        assert not thread.is_alive()
    assert all(thread.is_alive() for thread in waiting[10:])
    group = durable.turn(key(120))
    durable.advance(key(120))
    durable.settle(group)
    for thread in waiting:
        thread.join(20)
        assert not thread.is_alive()


def test_tasks_of_one_loop_are_woken_together() -> None:
    durable = end_at(100)
    woken: list[int] = []

    async def wait(number: int) -> None:
        await Ticket(durable, key(101 + number))
        woken.append(number)

    async def main() -> None:
        tasks = [asyncio.ensure_future(wait(number)) for number in range(10)]
        await asyncio.sleep(0)
        tasks[3].cancel()
        calls = _counted(asyncio.get_running_loop())
        group = durable.turn(key(110))
        durable.advance(key(110))
        await asyncio.to_thread(durable.settle, group)
        await asyncio.gather(*tasks, return_exceptions=True)
        # One for the sync; another is `to_thread`'s own.
        assert len(calls) == 2
        assert tasks[3].cancelled()

    asyncio.run(main())
    assert woken == [0, 1, 2, 4, 5, 6, 7, 8, 9]


def _counted(loop: asyncio.AbstractEventLoop) -> list[object]:
    calls: list[object] = []
    call = loop.call_soon_threadsafe

    def counted(callback: object, *args: object, **more: object) -> object:
        calls.append(callback)
        return call(callback, *args, **more)  # type: ignore[arg-type]

    loop.call_soon_threadsafe = counted  # type: ignore[assignment, method-assign]
    return calls


def test_a_sync_that_may_be_tried_again_tells_those_who_waited() -> None:
    asked: list[int] = []

    def fail_once() -> None:
        asked.append(1)
        group = durable.turn(key(101))
        if len(asked) == 1:
            durable.settle(group, SystemFailedError("the disk is full"))
        else:
            durable.advance(key(101))
            durable.settle(group)

    durable = DurableEnd(Position(7, 100), fail_once)
    ticket = Ticket(durable, key(101))
    with pytest.raises(SystemFailedError, match="full"):
        ticket.wait()
    ticket.wait()
    assert ticket.done


@pytest.mark.parametrize("as_loops", [False, True])
def test_a_sync_waits_for_those_that_come_and_not_for_those_that_do_not(as_loops: bool) -> None:
    durable = end_at(100)
    group = durable.coming
    ticket = Ticket(durable, key(101))

    def wait() -> None:
        if as_loops:
            asyncio.run(together())
        else:
            ticket.wait()

    async def together() -> None:
        # The tasks of a loop are woken together, and count as one thread.
        await asyncio.gather(*(asyncio.wait_for(ticket, 20) for _ in range(5)))

    waiting = [threading.Thread(target=wait) for _ in range(3)]
    starting = threading.Timer(0.05, lambda: [each.start() for each in waiting])
    starting.start()
    began = time.monotonic()
    group.gather(3, 20)
    assert group.threads == 3
    group.gather(3, 20)
    assert time.monotonic() - began < 15
    # A fourth has gone away.
    group.gather(4, 0.01)
    assert time.monotonic() - began < 15
    starting.join()
    assert durable.turn(key(101)) is group
    durable.advance(key(101))
    durable.settle(group)
    for thread in waiting:
        thread.join(20)
        assert not thread.is_alive()
    assert durable.coming is not group


def test_a_ticket_says_where_it_stands() -> None:
    durable = end_at(100)
    assert repr(Ticket(durable, key(101))) == "<Ticket 7:101>"
    assert repr(Ticket(durable, key(100))) == "<Ticket 7:100 done>"
    assert Ticket(durable, key(100)) != Ticket(durable, key(100))


def test_a_dead_log_fails_everybody_who_waits_and_moves_no_more() -> None:
    durable = end_at(100)
    failures: list[Exception] = []

    def wait() -> None:
        try:
            Ticket(durable, key(101)).wait()
        except RefusedError as error:
            failures.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    error = RefusedError("dead")
    assert durable.stop(error)
    assert not durable.advance(key(101))
    durable.release()
    thread.join(20)
    assert failures == [error]
    assert not durable.stop(RefusedError("again"))

    async def main() -> None:
        with pytest.raises(RefusedError, match="dead"):
            await Ticket(durable, key(101))

    asyncio.run(main())
