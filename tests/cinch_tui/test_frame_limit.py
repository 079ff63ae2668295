from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from textual.app import App, ComposeResult
from textual.widget import Widget

from cinch_tui.screens.screen import FRAME, FrameLimitedScreen


class Counter(Widget):
    """Counts how often it is drawn."""

    drawn = 0

    def render(self) -> str:
        self.drawn += 1
        return str(self.drawn)


class Stage(FrameLimitedScreen):
    """On it time stands until it is moved; `looked` counts how often it was asked whether to paint."""

    now = 1000.0
    looked = 0
    awaited = False

    def __init__(self) -> None:
        super().__init__()
        self.clock = lambda: self.now
        self.counter = Counter()

    @property
    def is_awaited(self) -> bool:
        self.looked += 1
        return self.awaited

    def compose(self) -> ComposeResult:
        yield self.counter


@asynccontextmanager
async def staged() -> AsyncGenerator[tuple[Stage, Callable[[Callable[[], bool]], Awaitable[None]]]]:
    app = App[None]()
    async with app.run_test(size=(20, 5)) as pilot:
        stage = Stage()
        await app.push_screen(stage)

        async def until(reached: Callable[[], bool]) -> None:
            while not reached():
                await pilot.pause(0.001)

        await until(lambda: stage.counter.drawn > 0)
        await pilot.pause()
        stage.now += FRAME
        stage.counter.refresh()
        drawn = stage.counter.drawn
        await until(lambda: stage.counter.drawn > drawn)
        yield stage, until


async def test_unawaited_changes_are_painted_with_the_next_frame() -> None:
    async with staged() as (stage, until):
        drawn = stage.counter.drawn
        asked = stage.looked

        stage.counter.refresh()
        await until(lambda: stage.looked > asked + 3)
        stage.counter.refresh()
        held = stage.counter.drawn
        stage.now += FRAME
        await until(lambda: stage.counter.drawn > drawn)

    assert (held, stage.counter.drawn) == (drawn, drawn + 1)


async def test_typed_text_is_painted_at_once() -> None:
    async with staged() as (stage, until):
        drawn = stage.counter.drawn
        stage.awaited = True

        stage.counter.refresh()

        await until(lambda: stage.counter.drawn > drawn)


async def test_a_layout_change_is_applied_at_once() -> None:
    async with staged() as (stage, until):
        stage.counter.styles.height = 2

        await until(lambda: stage.counter.size.height == 2)
