"""Conversation of plain mode: typed lines become prompts, commands or shell commands.

Runs in the agent's event loop.
"""

from __future__ import annotations

from functools import partial

from cinch_tui.api_keys.leak_check import ask_about_keys, take_keys, without_keys
from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.commands.keys import keep_key
from cinch_tui.commands.registry import Invocation, UnknownCommand
from cinch_tui.commands.session import choose_session
from cinch_tui.config.options import Resume
from cinch_tui.plain.command_host import PlainCommandHost
from cinch_tui.plain.line_renderer import user_command_lines
from cinch_tui.plain.line_writer import LiveOutput
from cinch_tui.plain.menus import LIST_AGAIN, InputClosed, Option
from cinch_tui.plain.session import PlainSession
from cinch_tui.shell_line import ShellLine, UserShell, shell_line
from cinch_tui.user_input import UserInput
from harness.agent.guardrails import find_secrets

SEND_AS_PROMPT = "Send it to the model as a prompt"
DISCARD = "Discard it"
MAX_SHELL_LINES = 50
"""Lines of a user command printed per second; of more, the last ones."""


class Conversation:
    def __init__(self, session: PlainSession) -> None:
        self._session = session
        self._host = PlainCommandHost(session)

    async def open(self) -> None:
        """Create the agent, and choose a session if that was asked for.

        Raises:
            ConfigError, SessionError: the agent cannot be created.
        """
        await self._session.open()
        if self._session.options.session_choice == Resume(""):
            await choose_session(self._host)

    @property
    def can_stop(self) -> bool:
        """Return True if `stop` has something to stop; otherwise the caller cancels `handle`."""
        return self._session.is_running or bool(self._session.shell and self._session.shell.is_running)

    def stop(self) -> None:
        """Stop the user's own command, else a side question, else the run."""
        shell = self._session.shell
        if not (shell and shell.stop()) and not self._host.side_questions.stop():
            self._session.abort()

    async def handle(self, text: str) -> None:
        """Process a typed text: store a key, run a command, or send a prompt."""
        self._session.menus.presence.typed()
        rest, keys = take_keys(text)
        for key in keys:
            await keep_key(self._host, key.provider, key.secret)
        if find_secrets(rest):
            rest = await self._ask_about_keys(rest)
            if not rest:
                return
        if rest.strip() == LIST_AGAIN:
            self._session.notice(self._session.renderer.status_text())
        elif line := shell_line(rest):
            await self._run_shell(line)
        elif rest.strip() or not keys:
            await self._execute(rest)
        if self._host.wants_run:
            self._host.wants_run = False
            await self._session.send(None)

    async def _ask_about_keys(self, text: str) -> str:
        """Return the text if the user wants it sent although it contains a key; otherwise an empty string."""
        decision = await ask_about_keys(self._host, partial(keep_key, self._host), text)
        if decision.send:
            return decision.text
        kept = without_keys(decision.text)
        self._session.notice("Nothing was sent." + (f" Without the key it reads:\n{kept}" if kept else ""))
        return ""

    async def _execute(self, text: str) -> None:
        match builtin_commands().parse(text):
            case Invocation() as invocation:
                await builtin_commands().run(invocation, self._host)
            case UnknownCommand() as unknown:
                await self._suggest(text, unknown)
            case None:
                await self._session.send_with_images(builtin_commands().literal(text))

    async def _run_shell(self, line: ShellLine) -> None:
        """Run a command that the user typed after `!`, and print its output."""
        session = self._session
        live = LiveOutput(session.writer, lambda: "Output", most=MAX_SHELL_LINES)
        session.shell = session.shell or UserShell(session.agent)
        output = await session.shell.run(line, live.update)
        live.finish(output.view)
        lines = user_command_lines(output, was_live=live.has_printed)
        session.writer.write("Output", "\n".join([line.text, *lines]))
        if not line.is_private:
            session.notice("The output is sent to the model with your next prompt.")

    async def _suggest(self, text: str, unknown: UnknownCommand) -> None:
        menus = self._session.menus
        async with menus.lock:
            menus.writer.write("Question", f"{unknown.reason}; did you mean one of these?")
            options = [Option(name) for name in (*unknown.suggestions, SEND_AS_PROMPT, DISCARD)]
            if not unknown.is_safe:
                options.insert(0, options.pop())
            try:
                chosen = options[await menus.number(options)].text
            except InputClosed:
                return
        if chosen == SEND_AS_PROMPT:
            await self._session.send(UserInput(text))
        elif chosen != DISCARD:
            await self.handle(chosen)
