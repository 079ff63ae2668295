from __future__ import annotations

import asyncio

from fakes.runs import until

from harness.agent.subagents.limits import ConcurrencySlot, TokenBudget, TokenReservation


async def taken(budget: TokenBudget, tokens: int, *, waits: bool = True) -> TokenReservation:
    share = await budget.acquire(tokens, waits=waits)
    assert share is not None
    return share


async def test_reserved_tokens_are_used_and_the_rest_released():
    budget = TokenBudget(100)

    share = await taken(budget, 60)
    assert (budget.used, budget.reserved, budget.left) == (0, 60, 40)
    share.use(10)
    assert (budget.used, budget.reserved, budget.left) == (10, 50, 40)
    share.close()

    assert (budget.used, budget.reserved, budget.left) == (10, 0, 90)


async def test_overuse_leaves_less_for_the_others():
    budget = TokenBudget(100)
    share = await taken(budget, 10)

    share.use(70)
    share.close()

    assert (budget.used, budget.reserved, budget.left) == (70, 0, 30)


async def test_partial_reservation_is_granted_when_less_is_left():
    budget = TokenBudget(100)

    share = await taken(budget, 500)

    assert budget.reserved == 100
    share.close()
    assert budget.left == 100


async def test_waiting_reservation_gets_released_tokens():
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
    assert budget.reserved == 60


async def test_exhausted_budget_grants_nothing():
    budget = TokenBudget(100)
    first = await taken(budget, 100)
    waiting = asyncio.create_task(budget.acquire(10, waits=True))
    await asyncio.sleep(0)

    first.use(100)

    assert await waiting is None
    assert budget.is_spent


async def test_non_waiting_reservation_starts_empty_when_all_tokens_are_reserved():
    budget = TokenBudget(100)
    await taken(budget, 100)

    share = await taken(budget, 50, waits=False)

    share.use(30)
    assert (budget.used, budget.reserved, budget.left) == (30, 100, 0)


async def test_unlimited_budget_is_never_exhausted():
    budget = TokenBudget(0)
    share = await taken(budget, 1_000_000)

    share.use(5_000_000)

    assert not budget.is_spent
    assert await budget.acquire(1, waits=True) is not None


async def test_released_slot_is_free_until_its_owner_reacquires_it():
    seats = asyncio.Semaphore(1)

    async with ConcurrencySlot(seats) as seat:
        assert seats.locked()
        async with seat.released():
            assert not seats.locked()
        assert seats.locked()

    assert not seats.locked()


async def test_slot_released_for_several_children_is_reacquired_after_the_last():
    seats, gates = asyncio.Semaphore(1), [asyncio.Event(), asyncio.Event()]

    async def lend(seat: ConcurrencySlot, gate: asyncio.Event) -> None:
        async with seat.released():
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


async def test_slot_released_again_while_waiting_is_not_reacquired():
    seats, gate = asyncio.Semaphore(1), asyncio.Event()

    async def lend(seat: ConcurrencySlot) -> None:
        async with seat.released():
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


async def test_cancelled_release_neither_waits_nor_releases_twice():
    seats = asyncio.Semaphore(1)

    async def work() -> None:
        async with ConcurrencySlot(seats) as seat, seat.released():
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await until(lambda: not seats.locked())
    await seats.acquire()

    task.cancel()
    await asyncio.wait([task])

    assert seats.locked()
    seats.release()
    assert not seats.locked()
