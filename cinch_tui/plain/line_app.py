"""The linear interface: one line after the other, from the person and from the agent.

The main thread has the person, the engine's thread the agent. Enter while the agent works opens a line to steer it
with, and what the agent says waits for the end of that line.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from cinch_tui.config.options import Options
from cinch_tui.config.settings import Settings
from cinch_tui.plain.completing import Completer
from cinch_tui.plain.composing import is_complete, join_lines
from cinch_tui.plain.conversation import Conversation
from cinch_tui.plain.engine import AgentThread
from cinch_tui.plain.keyboard import Keyboard
from cinch_tui.plain.line_writer import LineWriter
from cinch_tui.plain.menus import Menus
from cinch_tui.plain.questions import InputClosed, LineRequest, Questions
from cinch_tui.widgets.prompt.history import PromptHistory
from harness.errors import ConfigError
from harness.session.paths import project_dir

KILLED = 128
INTERRUPTED = 130
CLOSING = 5.0
"""Seconds that leaving may take."""
RECALLED = 500
"""How many earlier prompts Up brings back."""

Handler = Callable[[int, FrameType | None], None]


class UserLeft(Exception):
    """The person leaves, or is made to."""


class Withdrawn(Exception):
    """The line that is waited for is not wanted any more."""


def run_plain(options: Options, settings: Settings) -> int:
    """Talk until the person leaves; the result is the exit status.

    Raises:
        ConfigError, SessionError: it cannot begin; the text says why.
    """
    if sys.stdin is None or sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] so Python has a closed one
        raise ConfigError("--plain needs an input and an output; one of them is closed")
    return LineApp(options, settings).run()


class LineApp:
    """Where the person and the agent sit."""

    def __init__(self, options: Options, settings: Settings) -> None:
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._waker, False)
        self._paper = LineWriter(sys.stdout)
        self._keyboard = Keyboard(sys.stdin, self._paper, options.environ)
        self._engine = AgentThread()
        menus = Menus(self._paper, Questions(self._wake, self._withdraw))
        self._questions = menus.questions
        self._talk = Conversation(options, settings, menus, is_at_terminal=self._keyboard.is_terminal)
        self._history = PromptHistory(project_dir(options.paths.state, options.cwd) / "history.jsonl")
        self._works: list[Future[None]] = []
        self._asked: LineRequest | None = None
        self._interrupts = 0
        self._is_stopping = False
        self._is_interrupted = False
        self._killed = 0

    def run(self) -> int:
        self._paper.on_failure = self._wake
        self._engine.start()
        with self._signals():
            try:
                self._do(self._talk.open())
                self._converse()
            except UserLeft:
                pass
            finally:
                self._close()
        return self._status()

    def _status(self) -> int:
        if self._killed:
            return KILLED + self._killed
        if self._paper.failed or self._is_interrupted:
            return INTERRUPTED
        # A script wants to know what came of it; a person has seen it.
        return 0 if self._keyboard.is_terminal else self._talk.status

    def _close(self) -> None:
        for work in self._works:
            work.cancel()
        with suppress(TimeoutError, CancelledError):
            self._engine.submit(self._talk.close()).result(CLOSING)
        if farewell := self._talk.exit_text():
            self._paper.write_plain(farewell)
        self._engine.stop()

    # Lines of the person

    def _converse(self) -> None:
        self._keyboard.remember(self._history.entries[-RECALLED:])
        self._keyboard.complete_with(Completer(self._talk.options.cwd))
        if prompt := self._talk.options.prompt:
            self._paper.write("You", prompt)
            self._send(prompt)
        while not self._talk.is_leaving:
            self._send(self._compose())

    def _compose(self) -> str:
        """The next prompt; Ctrl+C begins it anew, and leaves at the second time. Empty for one who wants to leave."""
        lines: list[str] = []
        has_interrupted = False
        while not is_complete(lines):
            try:
                lines.append(self._keyboard.line("... " if lines else "You: "))
                lines += self._keyboard.pasted()
            except EOFError:
                if not lines:
                    self._talk.leave("Ctrl+D")
                    return ""
                break
            except KeyboardInterrupt:
                if has_interrupted and not lines:
                    self._talk.leave("Ctrl+D")
                    self._is_interrupted = self._talk.is_leaving
                    return ""
                has_interrupted, lines = True, []
                self._paper.write("Notice", "Nothing is sent. Ctrl+C again leaves, as does Ctrl+D.")
        return join_lines(lines)

    def _send(self, text: str) -> None:
        if text.strip():
            self._history.add(text)
            self._keyboard.remember([entry for entry in self._history.entries[-1:] if entry == text])
            self._do(self._talk.handle(text))

    def _meanwhile(self, line: str) -> None:
        """A line that was typed while the agent works; an empty one opens another to type in undisturbed."""
        try:
            text = line if line.strip() else self._keyboard.line("steer> ")
        except (EOFError, KeyboardInterrupt):
            self._paper.write("Notice", "Nothing is said.")
            return
        if text.strip():
            self._history.add(text)
            self._begin(self._talk.handle(text))
        else:
            self._engine.call(self._talk.send_now)

    # Work of the agent

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        """Have it done, and hear the person meanwhile."""
        self._interrupts, self._is_stopping = 0, False
        self._begin(work)
        while pending := [each for each in self._works if not each.done()]:
            self._wait(pending)
        done, self._works = self._works, []
        for each in done:
            with suppress(CancelledError):
                each.result()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        future = self._engine.submit(work)
        self._works.append(future)
        future.add_done_callback(lambda _: self._wake())

    def _wait(self, pending: list[Future[None]]) -> None:
        """Until something happens; and what then has to be done here."""
        listens = self._keyboard.is_terminal
        ready = select.select([self._woken, self._keyboard.fd] if listens else [self._woken], [], [])[0]
        if self._woken in ready:
            os.read(self._woken, 4096)
        self._obey(pending)
        while asked := self._questions.next():
            self._answer(asked, pending)
        if self._keyboard.fd in ready:
            self._hear()

    def _obey(self, pending: list[Future[None]]) -> None:
        """What a signal said, or a reader that went away."""
        self._is_interrupted = self._interrupts > 1
        if self._killed or self._paper.failed or self._is_interrupted:
            raise UserLeft
        if self._interrupts and not self._is_stopping:
            self._stop(pending)

    def _stop(self, pending: list[Future[None]]) -> None:
        self._is_stopping = True
        self._paper.write("Notice", "Stopping. Ctrl+C again leaves.")
        if self._talk.can_stop:
            self._engine.call(self._talk.stop)
        else:
            for work in pending:
                work.cancel()

    def _hear(self) -> None:
        for line in self._keyboard.take():
            self._meanwhile(line)
        if self._keyboard.has_ended():
            self._talk.leave("Ctrl+D")
            if self._talk.is_leaving:
                raise UserLeft

    def _answer(self, asked: LineRequest, pending: list[Future[None]]) -> None:
        if asked.opens and self._keyboard.is_terminal:
            self._hear()
        self._asked = asked
        try:
            text = (self._keyboard.hidden_line if asked.hidden else self._keyboard.line)(asked.prompt)
            with suppress(InvalidStateError):
                asked.answer.set_result(text)
        except EOFError:
            if self._keyboard.is_terminal:
                raise UserLeft from None
            with suppress(InvalidStateError):
                asked.answer.set_exception(InputClosed())
        except KeyboardInterrupt:
            self._interrupts += 1
            self._stop(pending)
        except Withdrawn:
            pass  # Whoever withdrew the question says why.
        finally:
            self._asked = None

    # Signals, which the main thread alone hears

    @contextmanager
    def _signals(self) -> Generator[None]:
        handlers: dict[signal.Signals, Handler] = {
            signal.SIGINT: self._interrupted,
            signal.SIGTERM: self._terminated,
            signal.SIGHUP: self._terminated,
            signal.SIGALRM: self._unasked,
        }
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self._keyboard.is_reading:
            raise KeyboardInterrupt
        self._interrupts += 1
        self._wake()

    def _terminated(self, number: int, frame: FrameType | None) -> None:
        del frame
        self._killed = number
        if self._keyboard.is_reading:
            raise UserLeft
        self._wake()

    def _unasked(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self._keyboard.is_reading and self._asked is not None and self._asked.answer.cancelled():
            raise Withdrawn

    def _wake(self) -> None:
        """From any thread."""
        with suppress(BlockingIOError):
            os.write(self._waker, b"x")

    def _withdraw(self) -> None:
        """From the agent's thread: a line that is waited for is given up."""
        main = threading.main_thread().ident
        if main is not None:
            signal.pthread_kill(main, signal.SIGALRM)
