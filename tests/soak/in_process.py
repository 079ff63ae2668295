"""cinch within this process under random input, so that leftover objects can be counted."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from fakes.chat import chat, ready, until
from soak.steps import ESC_IS_ALONE, Step, User
from textual._xterm_parser import XTermParser
from textual.pilot import Pilot
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget
from textual.worker import Worker

from cinch_tui.app.app import CinchApp
from cinch_tui.screens.chat import ChatScreen
from cinch_tui.transcript.block import TranscriptBlock

KINDS = (asyncio.Task, Timer, Screen, Widget, Worker, TranscriptBlock, threading.Thread)
ESCAPES = 8
PARTS = 3
ALLOWED = 3
REMEMBERED = 60
SIGN = "zq"
MODAL = frozenset({"/vim"})
"""With vi keys, text typed after Esc is not inserted."""

SEARCH = "\x06"
PATIENCE = 10.0
POOL = "asyncio_"
"""Name prefixes of pooled threads, some of which Python keeps."""


class InProcess:
    """An app without a terminal, and a simulated user."""

    def __init__(self, project: Path, seed: int) -> None:
        self.app: CinchApp = chat(project)
        self._deeds = User(seed, without=MODAL).deeds()
        self._parser = XTermParser()
        self.counted: list[Counter[str]] = []
        self.steps: list[str] = []

    @property
    def reported(self) -> str:
        return "\n".join(self.steps[-REMEMBERED:])

    async def run(self, seconds: float) -> None:
        async with self.app.run_test(size=(80, 24)) as pilot:
            await ready(pilot, self.app)
            for _ in range(PARTS):
                end = time.monotonic() + seconds / PARTS
                while time.monotonic() < end:
                    for step in next(self._deeds):
                        await self._take(pilot, step)
                await self._rest(pilot)
                self.counted.append(await self._settled(pilot))

    async def _take(self, pilot: Pilot[object], step: Step) -> None:
        self.steps.append(str(step))
        if step.size[0]:
            await pilot.resize_terminal(*step.size)
        if step.keys:
            for event in self._parser.feed(step.keys):
                self.app._driver.process_message(event)
        await pilot.pause(step.pause)
        for event in self._parser.tick():
            self.app._driver.process_message(event)
        assert not self.app.fault, self.app.fault

    async def _rest(self, pilot: Pilot[object]) -> None:
        """Reset to an empty, idle conversation with everything loaded that stays loaded after use."""
        await pilot.resize_terminal(100, 32)
        await self._type(
            pilot, "", lambda: isinstance(self.app.screen, ChatScreen) and not self.app.controller.is_running
        )
        prompt = self.app.controller.view.prompt
        await self._type(pilot, SIGN, lambda: prompt.field.has_focus and SIGN in prompt.text)
        prompt.text = ""
        await self._take(pilot, Step(SEARCH, pause=0.3))
        await self._take(pilot, Step("\x1b", pause=ESC_IS_ALONE))
        await self._type(pilot, "/new\r", lambda: not self.app.controller.view.widgets.transcript.blocks)
        prompt.text = ""
        await until(pilot, lambda: not self.app.screen.query("Toast"))

    async def _settled(self, pilot: Pilot[object]) -> Counter[str]:
        """Return the counts once pending cleanups, such as the timer that collapses a call, have run."""
        counted = count()
        end = time.monotonic() + PATIENCE
        while self.counted and forgotten([self.counted[0], counted]) and time.monotonic() < end:
            await pilot.pause(0.5)
            counted = count()
        return counted

    async def _type(self, pilot: Pilot[object], keys: str, holds) -> None:
        """Press Esc a few times, then these keys, until the condition holds."""
        async with asyncio.timeout(20):
            while not holds():
                for _ in range(ESCAPES):
                    await self._take(pilot, Step("\x1b", pause=ESC_IS_ALONE))
                await self._take(pilot, Step(keys, pause=0.3))


def forgotten(counted: Sequence[Counter[str]]) -> Counter[str]:
    """Return the kinds of objects that grew from the first to the last part, except recently finished ones."""
    more = counted[-1] - counted[0]
    return Counter({name: number for name, number in more.items() if number > ALLOWED})


def count() -> Counter[str]:
    """Return the number of objects of each kind that could leak."""
    gc.collect()
    found: Counter[str] = Counter()
    for thing in gc.get_objects():
        for kind in KINDS:
            if isinstance(thing, kind) and _counts(thing):
                what = thing.get_coro().__qualname__ if isinstance(thing, asyncio.Task) else type(thing).__qualname__
                found[f"{kind.__name__} {what}"] += 1
    return found


def _counts(thing: object) -> bool:
    if isinstance(thing, threading.Thread):
        return thing.is_alive() and not thing.name.startswith(POOL)
    return not (isinstance(thing, asyncio.Task) and thing.done())
