"""Plain mode: input of the user and output of the agent as lines.

The main thread reads the input; the agent runs in a thread of its own. Enter during a run opens a line for a steering
message; output is held back until that line is complete.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TypeVar

from cinch_tui.config.options import Options
from cinch_tui.config.settings import Settings
from cinch_tui.plain.command_host import PlainCommandHost
from cinch_tui.plain.keyboard import Completer, Keyboard, is_complete, join_lines
from cinch_tui.plain.line_writer import LineWriter
from cinch_tui.plain.menus import InputClosed, LineRequest, Menus
from cinch_tui.plain.session import PlainSession
from cinch_tui.widgets.prompt.history import PromptHistory
from harness.errors import CinchError, ConfigError
from harness.session.paths import project_dir

T = TypeVar("T")


KILLED_STATUS = 128
INTERRUPTED_STATUS = 130
CLOSE_TIMEOUT_S = 5.0
"""Time limit for closing, in seconds."""
MAX_HISTORY = 500
"""Number of earlier prompts that the Up key recalls."""

Handler = Callable[[int, FrameType | None], None]


class AgentThread:
    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        # A thread that hangs must not keep the process.
        self._thread = threading.Thread(target=self._turn, name="agent", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine in the thread; callable from any thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call(self, function: Callable[[], object]) -> None:
        """Call a function in the thread; callable from any thread."""
        self._loop.call_soon_threadsafe(function)

    def stop(self) -> None:
        self.call(self._loop.stop)
        self._thread.join(timeout=1)

    def _turn(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()


class UserLeft(Exception):
    """The user leaves, or a signal ends the program."""


class RequestWithdrawn(Exception):
    """The requested line is no longer needed."""


def run_plain(options: Options, settings: Settings) -> int:
    """Run plain mode until the user leaves; return the exit status.

    Raises:
        ConfigError, SessionError: the agent cannot be created.
    """
    if sys.stdin is None or sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] so Python has a closed one
        raise ConfigError("--plain needs stdin and stdout; one of them is closed")
    return LineApp(options, settings).run()


class RunRequested(Exception):
    """A run should begin without a prompt, since a background job has ended."""


class LineApp:
    """Main loop of plain mode."""

    def __init__(self, options: Options, settings: Settings) -> None:
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._waker, False)
        self._writer = LineWriter(sys.stdout)
        self._keyboard = Keyboard(sys.stdin, self._writer, options.environ, self._check_line)
        self._agent_thread = AgentThread()
        self._menus = menus = Menus(self._writer, self._wake, self._withdraw)
        self._session = PlainSession(options, settings, menus, is_at_terminal=self._keyboard.is_terminal)
        self._session.on_run_request = self._request_run
        self._host = PlainCommandHost(self._session)
        self._history = PromptHistory(project_dir(options.paths.state, options.cwd) / "history.jsonl")
        self._futures: list[Future[None]] = []
        self._request: LineRequest | None = None
        self._interrupts = 0
        self._is_stopping = False
        self._is_interrupted = False
        self._killed = 0
        self._is_run_requested = False
        self._awaits_prompt = False

    def run(self) -> int:
        self._writer.on_failure = self._wake
        self._agent_thread.start()
        with self._signals():
            try:
                self._do(self._host.open())
                self._converse()
            except UserLeft:
                pass
            finally:
                self._close()
        return self._status()

    def _status(self) -> int:
        if self._killed:
            return KILLED_STATUS + self._killed
        if self._writer.failed or self._is_interrupted:
            return INTERRUPTED_STATUS
        # A script needs the status of the run; a user has seen the result.
        return 0 if self._keyboard.is_terminal else self._session.status

    def _close(self) -> None:
        for work in self._futures:
            work.cancel()
        with suppress(TimeoutError, CancelledError):
            self._agent_thread.submit(self._session.close()).result(CLOSE_TIMEOUT_S)
        if exit_text := self._session.exit_text():
            self._writer.write_plain(exit_text)
        self._agent_thread.stop()

    # Input

    def _converse(self) -> None:
        self._keyboard.remember(self._history.entries[-MAX_HISTORY:])
        self._keyboard.complete_with(Completer(self._session.options.cwd))
        if prompt := self._session.options.prompt:
            self._writer.write("You", prompt)
            self._send(prompt)
        while not self._session.is_leaving:
            try:
                self._send(self._compose())
            except RunRequested:
                self._is_run_requested = False
                self._do(self._session.send(None))

    def _compose(self) -> str:
        """Read the next prompt; Ctrl+C restarts it, and leaves the second time. Empty if the user leaves."""
        lines: list[str] = []
        has_interrupted = False
        while not is_complete(lines):
            self._awaits_prompt = not lines
            try:
                lines.append(self._keyboard.line("... " if lines else "You: "))
                lines += self._keyboard.pasted()
            except EOFError:
                if not lines:
                    self._session.leave("Ctrl+D")
                    return ""
                break
            except KeyboardInterrupt:
                if has_interrupted and not lines:
                    self._session.leave("Ctrl+D")
                    self._is_interrupted = self._session.is_leaving
                    return ""
                has_interrupted, lines = True, []
                self._writer.notice("Input cleared. Press Ctrl+C again or Ctrl+D to quit.")
            finally:
                self._awaits_prompt = False
        return join_lines(lines)

    def _send(self, text: str) -> None:
        if text.strip():
            self._history.add(text)
            self._keyboard.remember([entry for entry in self._history.entries[-1:] if entry == text])
            self._do(self._host.handle(text))

    def _steer(self, line: str) -> None:
        """Handle a line typed during a run; an empty one opens an undisturbed line for steering."""
        try:
            text = line if line.strip() else self._keyboard.line("steer> ")
        except (EOFError, KeyboardInterrupt):
            self._writer.notice("Nothing sent.")
            return
        if text.strip():
            self._history.add(text)
            self._begin(self._host.handle(text))
        else:
            self._agent_thread.call(self._session.send_now_or_explain)

    # Runs

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine of the agent and handle input meanwhile."""
        self._interrupts, self._is_stopping = 0, False
        self._begin(work)
        while pending := [each for each in self._futures if not each.done()]:
            self._wait(pending)
        done, self._futures = self._futures, []
        for each in done:
            with suppress(CancelledError):
                each.result()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        future = self._agent_thread.submit(work)
        self._futures.append(future)
        future.add_done_callback(lambda _: self._wake())

    def _wait(self, pending: list[Future[None]]) -> None:
        """Wait for an event and handle it."""
        listens = self._keyboard.is_terminal
        ready = select.select([self._woken, self._keyboard.fd] if listens else [self._woken], [], [])[0]
        if self._woken in ready:
            os.read(self._woken, 4096)
        self._check_signals(pending)
        while asked := self._menus.next_request():
            self._answer(asked, pending)
        if self._keyboard.fd in ready:
            self._read_lines()

    def _check_signals(self, pending: list[Future[None]]) -> None:
        """Handle signals and a closed output."""
        self._is_interrupted = self._interrupts > 1
        if self._killed or self._writer.failed or self._is_interrupted:
            raise UserLeft
        if self._interrupts and not self._is_stopping:
            self._stop(pending)

    def _stop(self, pending: list[Future[None]]) -> None:
        self._is_stopping = True
        self._writer.notice("Stopping. Press Ctrl+C again to quit.")
        if self._host.can_stop:
            self._agent_thread.call(self._host.stop)
        else:
            for work in pending:
                work.cancel()

    def _read_lines(self) -> None:
        for line in self._keyboard.take():
            self._steer(line)
        if self._keyboard.has_ended():
            self._session.leave("Ctrl+D")
            if self._session.is_leaving:
                raise UserLeft

    def _answer(self, asked: LineRequest, pending: list[Future[None]]) -> None:
        if asked.opens and self._keyboard.is_terminal:
            self._read_lines()
        self._request = asked
        try:
            text = self._read(asked)
            with suppress(InvalidStateError):
                asked.answer.set_result(text)
        except CinchError as error:
            asked.answer.set_exception(error)
        except EOFError:
            if self._keyboard.is_terminal:
                raise UserLeft from None
            with suppress(InvalidStateError):
                asked.answer.set_exception(InputClosed())
        except KeyboardInterrupt:
            self._interrupts += 1
            self._stop(pending)
        except RequestWithdrawn:
            pass  # The code that withdrew the question reports why.
        finally:
            self._request = None

    def _read(self, asked: LineRequest) -> str:
        if asked.program:
            return self._keyboard.run(asked.program)
        return (self._keyboard.hidden_line if asked.hidden else self._keyboard.line)(asked.prompt)

    # Signals, handled by the main thread only

    @contextmanager
    def _signals(self) -> Generator[None]:
        handlers: dict[signal.Signals, Handler] = {
            signal.SIGINT: self._interrupted,
            signal.SIGTERM: self._terminated,
            signal.SIGHUP: self._terminated,
            signal.SIGALRM: self._withdrawn,
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

    def _withdrawn(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if not self._keyboard.is_reading:
            return
        self._check_line()
        if self._is_run_requested and self._awaits_prompt and not self._keyboard.has_typed:
            raise RunRequested

    def _check_line(self) -> None:
        """Abort the line that is being read, or about to be, if it is not needed any more."""
        if self._killed:
            raise UserLeft
        if self._request is not None and self._request.answer.cancelled():
            raise RequestWithdrawn

    def _wake(self) -> None:
        """Wake the main thread; callable from any thread."""
        with suppress(BlockingIOError):
            os.write(self._waker, b"x")

    def _request_run(self) -> None:
        """Begin a run unless the user has begun to type; called by the agent's thread."""
        self._is_run_requested = True
        self._withdraw()

    def _withdraw(self) -> None:
        """Abort the line that is being read; called by the agent's thread."""
        main = threading.main_thread().ident
        if main is not None:
            signal.pthread_kill(main, signal.SIGALRM)
