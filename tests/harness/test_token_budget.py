from __future__ import annotations

import asyncio

from fakes.runs import until

from harness.subagents.budget import TokenBudget, TokenReservation
from harness.subagents.family import ConcurrencySlot


async def taken(budget: TokenBudget, tokens: int, *, waits: bool = True) -> TokenReservation:
    share = await budget.acquire(tokens, waits=waits)
    assert share is not None
    return share


async def test_a_share_is_taken_used_and_what_is_not_used_is_given_back():
    budget = TokenBudget(100)

    share = await taken(budget, 60)
    assert (budget.used, budget.held, budget.left) == (0, 60, 40)
    share.use(10)
    assert (budget.used, budget.held, budget.left) == (10, 50, 40)
    share.close()

    assert (budget.used, budget.held, budget.left) == (10, 0, 90)


async def test_who_uses_more_than_it_took_leaves_less_for_the_others():
    budget = TokenBudget(100)
    share = await taken(budget, 10)

    share.use(70)
    share.close()

    assert (budget.used, budget.held, budget.left) == (70, 0, 30)


async def test_what_is_left_is_taken_where_it_is_less_than_was_wanted():
    budget = TokenBudget(100)

    share = await taken(budget, 500)

    assert budget.held == 100
    share.close()
    assert budget.left == 100


async def test_who_waits_gets_what_another_gives_back():
    budget = TokenBudget(100)
    first = await taken(budget, 80)
    second = asyncio.create_task(budget.acquire(60, waits=True))
    third = asyncio.create_task(budget.acquire(60, waits=True))
    await asyncio.sleep(0)
    assert not second.done()

    first.use(20)
    first.close()
    share = await second
    assert share is not None
    assert not third.done()
    share.close()

    assert await third is not None
    assert budget.held == 60


async def test_when_all_is_spent_nobody_gets_a_share():
    budget = TokenBudget(100)
    first = await taken(budget, 100)
    waiting = asyncio.create_task(budget.acquire(10, waits=True))
    await asyncio.sleep(0)

    first.use(100)

    assert await waiting is None
    assert budget.is_spent


async def test_who_must_not_wait_begins_with_nothing_while_something_is_unused():
    budget = TokenBudget(100)
    await taken(budget, 100)

    share = await taken(budget, 50, waits=False)

    share.use(30)
    assert (budget.used, budget.held, budget.left) == (30, 100, 0)


async def test_without_a_limit_nothing_is_ever_spent():
    budget = TokenBudget(0)
    share = await taken(budget, 1_000_000)

    share.use(5_000_000)

    assert not budget.is_spent
    assert await budget.acquire(1, waits=True) is not None


async def test_a_place_that_is_lent_is_free_until_its_owner_comes_back():
    seats = asyncio.Semaphore(1)

    async with ConcurrencySlot(seats) as seat:
        assert seats.locked()
        async with seat.lent():
            assert not seats.locked()
        assert seats.locked()

    assert not seats.locked()


async def test_a_place_lent_to_several_is_taken_back_after_the_last():
    seats, gates = asyncio.Semaphore(1), [asyncio.Event(), asyncio.Event()]

    async def lend(seat: ConcurrencySlot, gate: asyncio.Event) -> None:
        async with seat.lent():
            await gate.wait()

    async with ConcurrencySlot(seats) as seat:
        tasks = [asyncio.create_task(lend(seat, gate)) for gate in gates]
        await until(lambda: not seats.locked())
        gates[0].set()
        await tasks[0]
        assert not seats.locked()
        gates[1].set()
        await tasks[1]
        assert seats.locked()

    assert not seats.locked()


async def test_a_place_that_is_lent_anew_while_it_is_waited_for_is_not_taken():
    seats, gate = asyncio.Semaphore(1), asyncio.Event()

    async def lend(seat: ConcurrencySlot) -> None:
        async with seat.lent():
            await gate.wait()

    async with ConcurrencySlot(seats) as seat:
        first = asyncio.create_task(lend(seat))
        await until(lambda: not seats.locked())
        await seats.acquire()
        gate.set()
        await asyncio.sleep(0)
        gate.clear()
        second = asyncio.create_task(lend(seat))
        await asyncio.sleep(0)

        seats.release()
        await first

        assert not seats.locked()
        gate.set()
        await second
        assert seats.locked()


async def test_who_was_cancelled_while_lending_neither_waits_nor_gives_back_twice():
    seats = asyncio.Semaphore(1)

    async def work() -> None:
        async with ConcurrencySlot(seats) as seat, seat.lent():
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await until(lambda: not seats.locked())
    await seats.acquire()

    task.cancel()
    await asyncio.wait([task])

    assert seats.locked()
    seats.release()
    assert not seats.locked()
