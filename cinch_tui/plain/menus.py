"""Numbered choices: written as lines, answered by a number."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from cinch_tui.notifications.presence import Presence
from cinch_tui.plain.line_writer import LineWriter
from cinch_tui.plain.questions import InputClosed, Questions
from harness.lazy_dataclass import dataclass

PAGE = 20
AGAIN = "?"
"""Typed in place of a number, it lists them once more."""


@dataclass(frozen=True, slots=True)
class Option:
    """`key` is a letter that means the same as the number."""

    text: str
    key: str = ""


class Menus:
    """One dialog at a time: whoever asks holds `turn` until it has its answer."""

    def __init__(self, paper: LineWriter, questions: Questions) -> None:
        self.writer = paper
        self.lock = asyncio.Lock()
        self.questions = questions
        self.presence = Presence()

    async def line(self, prompt: str, *, opens: bool = False) -> str:
        typed = await self.questions.line(prompt, opens=opens)
        self.presence.typed()
        return typed.strip()

    async def hidden_line(self, prompt: str) -> str:
        """A line that is typed without an echo, as for a password."""
        typed = await self.questions.line(prompt, opens=True, hidden=True)
        self.presence.typed()
        return typed.strip()

    async def number(self, options: Sequence[Option]) -> int:
        """Which of these, counted from 0; asked until it is one of them."""
        opens = True
        while True:
            typed = await self._listed(options, f"Number, 1 to {len(options)}: ", opens=opens)
            index = _index(typed, options)
            if index is not None:
                return index
            self.report_invalid(options)
            opens = False

    async def letter(self, options: Sequence[Option]) -> str:
        """Ask until the key of one of these is typed, and return it. Capital letters are keys of their own."""
        keys = [option.key for option in options]
        prompt = f"Answer ({', '.join(keys)}): "
        typed, opens = AGAIN, True
        while typed not in keys:
            if typed == AGAIN:
                self._list_by_letters(options)
            else:
                self.writer.write("Notice", f"Type one of {', '.join(keys)}, or {AGAIN} to list them again.")
            typed = await self.line(prompt, opens=opens)
            opens = False
        return typed

    async def number_or_text(self, options: Sequence[Option], prompt: str) -> int | str:
        """One of these, or whatever else was typed; empty, too."""
        typed = await self._listed(options, prompt)
        index = _index(typed, options)
        return typed if index is None else index

    async def numbers_or_text(self, options: Sequence[Option], prompt: str) -> tuple[list[int], str]:
        """Some of these by their numbers, in their order, or else whatever was typed."""
        typed = await self._listed(options, prompt)
        indexes = [_index(word, options) for word in typed.replace(",", " ").split()]
        known = sorted({index for index in indexes if index is not None})
        return (known, "") if known and None not in indexes else ([], typed)

    async def search(self, title: str, options: Sequence[Option]) -> int | None:
        """One of many, which words can make fewer; None when the person wants none of them."""
        shown = list(range(len(options)))
        self.writer.write("Choose", title)
        self._list_page(options, shown)
        while True:
            try:
                typed = await self.line("Number, words to find others, or nothing to leave it: ")
            except InputClosed:
                return None
            index = _index(typed, [options[index] for index in shown[:PAGE]])
            if not typed or index is not None:
                return None if index is None else shown[index]
            found = shown if typed == AGAIN else _matching(typed, options)
            if typed != AGAIN:
                self.writer.write("Notice", f"{len(found)} of {len(options)} have these words.")
            if found:
                shown = found
                self._list_page(options, shown)

    def report_invalid(self, options: Sequence[Option]) -> None:
        self.writer.write(
            "Notice", f"That is none of them; a number from 1 to {len(options)} is, and {AGAIN} lists them again."
        )

    async def _listed(self, options: Sequence[Option], prompt: str, *, opens: bool = True) -> str:
        """What is typed behind the list; only a question that is new has to be listed unasked."""
        typed = AGAIN if opens else await self.line(prompt)
        while typed == AGAIN:
            self._list(options)
            typed = await self.line(prompt, opens=opens)
            opens = False
        return typed

    def _list_page(self, options: Sequence[Option], shown: Sequence[int]) -> None:
        self._list([options[index] for index in shown[:PAGE]])
        if len(shown) > PAGE:
            self.writer.write_plain(f"and {len(shown) - PAGE} more")

    def _list_by_letters(self, options: Sequence[Option]) -> None:
        for option in options:
            self.writer.write_plain(f"{option.key}: {' '.join(option.text.split())}")

    def _list(self, options: Sequence[Option]) -> None:
        for number, option in enumerate(options, 1):
            key = f" ({option.key})" if option.key else ""
            self.writer.write_plain(f"{number}. {' '.join(option.text.split())}{key}")


def _index(typed: str, options: Sequence[Option]) -> int | None:
    number = typed.removesuffix(".")
    if number.isascii() and number.isdigit() and 1 <= int(number) <= len(options):
        return int(number) - 1
    return next((index for index, option in enumerate(options) if option.key and option.key == typed.lower()), None)


def _matching(words: str, options: Sequence[Option]) -> list[int]:
    wanted = words.lower().split()
    return [index for index, option in enumerate(options) if all(word in option.text.lower() for word in wanted)]
