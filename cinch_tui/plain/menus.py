"""Dialogs of plain mode: requests for lines, answered by the thread that reads the input, and numbered choices."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import nullcontext

from msgspec import Struct, field

from cinch_tui.notifications.presence import Presence
from cinch_tui.plain.line_writer import LineWriter

PAGE_SIZE = 20
LIST_AGAIN = "?"
"""Typed instead of a number, lists the choices again."""


class InputClosed(Exception):
    """The input has ended."""


class LineRequest(Struct, eq=False, frozen=True):
    """Request for a line, or for the result of a program that uses the terminal."""

    prompt: str
    opens: bool
    """True for a new question: lines typed before do not answer it."""

    hidden: bool = False
    """True to read without echo."""

    program: Callable[[], str] | None = None
    """Runs the program and returns its result; None for a line."""

    answer: Future[str] = field(default_factory=lambda: Future())


class Menus:
    """Dialogs, one at a time: the caller holds `lock` until it has an answer.

    `wake` notifies the thread that reads the input of a request, `withdraw` aborts the line it is reading.
    """

    def __init__(self, writer: LineWriter, wake: Callable[[], None], withdraw: Callable[[], None]) -> None:
        self.writer = writer
        self.lock = asyncio.Lock()
        self.presence = Presence()
        self._wake = wake
        self._withdraw = withdraw
        self._requests: deque[LineRequest] = deque()

    def next_request(self) -> LineRequest | None:
        """Return the next request that was not cancelled; called by the reading thread."""
        while self._requests:
            request = self._requests.popleft()
            if not request.answer.cancelled():
                return request
        return None

    async def line(self, prompt: str, *, opens: bool = False, hidden: bool = False) -> str:
        """Request a line from the user; `hidden` reads it without echo and as it is, for a secret.

        Raises:
            InputClosed: the input has ended.
        """
        typed = await self._answer_to(LineRequest(prompt, opens, hidden))
        return typed if hidden else typed.strip()

    async def run(self, program: Callable[[], str]) -> str:
        """Run a program that uses the terminal, in the thread that reads the input, and return its result.

        Raises:
            CinchError: The program failed, or there is no terminal.
        """
        return await self._answer_to(LineRequest("", opens=False, program=program))

    async def edit(self, text: str, name: str, editor: str, clean: Callable[[str], str] = str.strip) -> str:
        """Return a text as changed in the user's editor and cleaned; empty if it was not changed.

        Args:
            text: The text.
            name: File name; editors derive the language from it.
            editor: Editor command; empty: $EDITOR, $VISUAL or a common editor.
            clean: Removes what editors add.

        Raises:
            CinchError: The editor failed, or there is no terminal.
        """
        # Imported late: few conversations need it.
        from cinch_tui.terminal.external_programs import changed_text, edit_text

        return await self.run(lambda: changed_text(edit_text(text, name, editor, nullcontext), clean))

    async def _answer_to(self, request: LineRequest) -> str:
        self._requests.append(request)
        self._wake()
        try:
            typed = await asyncio.wrap_future(request.answer)
        except asyncio.CancelledError:
            request.answer.cancel()
            self._withdraw()
            raise
        self.presence.typed()
        return typed

    async def number(self, options: Sequence[str], meaning: str = "Number") -> int:
        """Ask for one of the choices until a valid one is typed; return its index. `meaning` explains the number."""
        prompt = f"{meaning}, 1 to {len(options)}: "
        typed = await self._listed(options, prompt)
        while (index := _index(typed, options)) is None:
            self.report_invalid(options)
            typed = await self._listed(options, prompt, opens=False)
        return index

    async def letter(self, answers: Mapping[str, str]) -> str:
        """Ask until the key of one of these texts is typed, and return it; keys are case-sensitive."""
        typed, opens = LIST_AGAIN, True
        while typed not in answers:
            if typed == LIST_AGAIN:
                self._list(answers, ":")
            else:
                self.writer.notice(f"Type one of {', '.join(answers)}, or {LIST_AGAIN} to list them again.")
            typed = await self.line(f"Answer ({', '.join(answers)}): ", opens=opens)
            opens = False
        return typed

    async def number_or_text(self, options: Sequence[str], prompt: str) -> int | str:
        """Ask for a choice; return its index, or any other text, which may be empty."""
        typed = await self._listed(options, prompt)
        index = _index(typed, options)
        return typed if index is None else index

    async def numbers_or_text(self, options: Sequence[str], prompt: str) -> tuple[list[int], str]:
        """Ask for several choices; return their sorted indices, or any other text."""
        typed = await self._listed(options, prompt)
        indexes = [_index(word, options) for word in typed.replace(",", " ").split()]
        known = sorted({index for index in indexes if index is not None})
        return (known, "") if known and None not in indexes else ([], typed)

    async def search(self, title: str, options: Sequence[str]) -> int | None:
        """Let the user filter a long list and pick one; None if cancelled."""
        shown = list(range(len(options)))
        self.writer.write("Choose", title)
        self._list_page(options, shown)
        while True:
            try:
                typed = await self.line("Number, text to filter, or empty to cancel: ")
            except InputClosed:
                return None
            index = _index(typed, [options[index] for index in shown[:PAGE_SIZE]])
            if not typed or index is not None:
                return None if index is None else shown[index]
            found = shown if typed == LIST_AGAIN else _matching(typed, options)
            if typed != LIST_AGAIN:
                self.writer.notice(f"{len(found)} of {len(options)} match.")
            if found:
                shown = found
                self._list_page(options, shown)

    def report_invalid(self, options: Sequence[str]) -> None:
        self.writer.notice(
            f"Not a valid choice: type a number from 1 to {len(options)}, or {LIST_AGAIN} to list them again."
        )

    async def _listed(self, options: Sequence[str], prompt: str, *, opens: bool = True) -> str:
        """List the choices of a new question and read the answer."""
        typed = LIST_AGAIN if opens else await self.line(prompt)
        while typed == LIST_AGAIN:
            self._list_numbered(options)
            typed = await self.line(prompt, opens=opens)
            opens = False
        return typed

    def _list_page(self, options: Sequence[str], shown: Sequence[int]) -> None:
        self._list_numbered([options[index] for index in shown[:PAGE_SIZE]])
        if len(shown) > PAGE_SIZE:
            self.writer.write_plain(f"and {len(shown) - PAGE_SIZE} more")

    def _list_numbered(self, options: Sequence[str]) -> None:
        self._list({f"{number}": text for number, text in enumerate(options, 1)}, ".")

    def _list(self, texts: Mapping[str, str], mark: str) -> None:
        for key, text in texts.items():
            self.writer.write_plain(f"{key}{mark} {' '.join(text.split())}")


def _index(typed: str, options: Sequence[str]) -> int | None:
    number = typed.removesuffix(".")
    return int(number) - 1 if number.isascii() and number.isdigit() and 1 <= int(number) <= len(options) else None


def _matching(text: str, options: Sequence[str]) -> list[int]:
    wanted = text.lower().split()
    return [index for index, option in enumerate(options) if all(word in option.lower() for word in wanted)]
