"""Command host of plain mode; it also handles typed lines: prompts, commands and shell commands.

Runs in the agent's event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cinch_tui.api_keys.leak_check import take_keys, without_keys
from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.commands.keys import ask_about_keys, keep_key
from cinch_tui.commands.registry import Invocation, UnknownCommand
from cinch_tui.commands.session import choose_session
from cinch_tui.commands.side_questions import SideQuestions
from cinch_tui.models.offers import ProviderOffers, ask_providers, pulled_offers, ready_providers
from cinch_tui.plain.help import help_lines
from cinch_tui.plain.line_renderer import user_command_lines
from cinch_tui.plain.line_writer import LiveOutput
from cinch_tui.plain.menus import LIST_AGAIN, InputClosed
from cinch_tui.plain.view_lines import strip_markdown, view_lines
from cinch_tui.reports.summaries import agent_settings, model_names
from cinch_tui.shell_line import ShellLine, UserShell, shell_line
from cinch_tui.user_input import UserInput
from harness.agent.guardrails import find_secrets
from harness.errors import CinchError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from cinch_tui.api_keys.provider_key import KeyCheck
    from cinch_tui.changes import SessionChanges
    from cinch_tui.commands.host import CommandHost, DiffBase
    from cinch_tui.mcp_control import McpControl
    from cinch_tui.plain.session import PlainSession
    from cinch_tui.saved_sessions import SessionChoice
    from cinch_tui.trust.prompt import TrustQuestion
    from cinch_tui.trust.store import TrustAnswer
    from harness.job_spec import JobInput
    from harness.jobs import Job
    from providers.model_catalog.offers import Offer
    from tools.mcp.auth.browser_login import LoginRequest

LISTING_TIMEOUT_S = 5.0
"""Seconds that providers have to list their models."""
SEND_AS_PROMPT = "Send it to the model as a prompt"
DISCARD = "Discard it"
MAX_SHELL_LINES = 50
"""Lines of a user command printed per second; of more, the last ones."""


class PlainCommandHost:
    full_screen = None
    stop_key = "Ctrl+C"

    def __init__(self, session: PlainSession) -> None:
        self.session = session
        self.side_questions = SideQuestions()
        self.notice = session.notice
        self._wants_run = False
        """Set by `continue_run`; the run starts once the command has ended."""
        self._to_send: UserInput | None = None
        """Set by `send`, likewise."""
        self._writer = session.writer
        self._menus = session.menus

    def send(self, user_input: UserInput) -> None:
        self._to_send = user_input

    def continue_run(self) -> None:
        self._wants_run = True

    async def open(self) -> None:
        """Create the agent, and choose a session if that was asked for.

        Raises:
            ConfigError, SessionError: the agent cannot be created.
        """
        await self.session.open()
        if self.session.options.resume == "":
            await choose_session(self)

    @property
    def can_stop(self) -> bool:
        """Return True if `stop` has something to stop; otherwise the caller cancels `handle`."""
        return self.session.is_running or bool(self.session.shell and self.session.shell.is_running)

    def stop(self) -> None:
        """Stop the user's own command, else a side question, else the run."""
        shell = self.session.shell
        if not (shell and shell.stop()) and not self.side_questions.stop():
            self.session.abort()

    async def handle(self, text: str) -> None:
        """Process a typed text: store a key, run a command, or send a prompt."""
        self._menus.presence.typed()
        rest, keys = take_keys(text)
        for key in keys:
            await keep_key(self, key.provider, key.secret)
        if find_secrets(rest):
            rest = await self._ask_about_keys(rest)
            if not rest:
                return
        if rest.strip() == LIST_AGAIN:
            self.notice(self.session.renderer.status_text())
        elif line := shell_line(rest):
            await self._run_shell(line)
        elif rest.strip() or not keys:
            await self._execute(rest)
        if self._wants_run or self._to_send is not None:
            to_send, self._to_send, self._wants_run = self._to_send, None, False
            await self.session.send(to_send)

    async def _ask_about_keys(self, text: str) -> str:
        """Return the text if the user wants it sent although it contains a key; otherwise an empty string."""
        decision = await ask_about_keys(self, text)
        if decision.send:
            return decision.text
        kept = without_keys(decision.text)
        self.notice("Nothing was sent." + (f" Without the key it reads:\n{kept}" if kept else ""))
        return ""

    async def _execute(self, text: str) -> None:
        match builtin_commands().parse(text):
            case Invocation() as invocation:
                await builtin_commands().run(invocation, self)
            case UnknownCommand() as unknown:
                await self._suggest(text, unknown)
            case None:
                await self.session.send_with_images(builtin_commands().literal(text))

    async def _run_shell(self, line: ShellLine) -> None:
        """Run a command that the user typed after `!`, and print its output."""
        session = self.session
        live = LiveOutput(self._writer, lambda: "Output", most=MAX_SHELL_LINES)
        session.shell = session.shell or UserShell(session.agent)
        output = await session.shell.run(line, live.update)
        live.finish(output.view)
        lines = user_command_lines(output, was_live=live.has_printed)
        self._writer.write("Output", "\n".join([line.text, *lines]))
        if not line.is_private:
            self.notice("The output is sent to the model with your next prompt.")

    async def _suggest(self, text: str, unknown: UnknownCommand) -> None:
        async with self._menus.lock:
            self._writer.write("Question", f"{unknown.reason}; did you mean one of these?")
            options = [*unknown.suggestions, SEND_AS_PROMPT, DISCARD]
            if not unknown.is_safe:
                options.insert(0, options.pop())
            try:
                chosen = options[await self._menus.number(options)]
            except InputClosed:
                return
        if chosen == SEND_AS_PROMPT:
            await self.session.send(UserInput(text))
        elif chosen != DISCARD:
            await self.handle(chosen)

    # Output

    def show(self, title: str, text: str) -> None:
        self._writer.write(title, f"\n{strip_markdown(text)}")

    def show_progress(self, text: str) -> None:
        if text:
            self.notice(f"{text[0].upper()}{text[1:]}")

    def show_activity(self, text: str) -> None:
        self.session.show_activity(text)

    def show_permissions(self) -> None:
        """Do nothing: there is no status line."""

    def show_help(self) -> None:
        self.show("Help", "\n".join(help_lines()))

    async def show_settings(self) -> None:
        # Imported late: few users need it.
        from cinch_tui.config.store import SettingStore, settings_text

        store = SettingStore(self.session.options.sources)
        self.show("Settings", settings_text(store, agent_settings(self.session.agent)))

    async def show_context(self) -> None:
        # Imported late: few conversations need it.
        from cinch_tui.context_edits import ContextEdits
        from cinch_tui.reports.context import report

        edits = await ContextEdits.open(self.session.agent, self.session.assembly.folder.instructions)
        self.show("Context", report(edits.usage(), edits.numbers, edits.mark))
        self.notice("/context pin N, unpin N, drop N and restore N change the message with this number.")

    async def show_mcp(self, control: McpControl) -> None:
        # Imported late: few users have MCP servers.
        from cinch_tui.reports.mcp import table

        self.show("MCP servers", table(control.servers))

    async def show_login(self, request: LoginRequest) -> None:
        # Imported late: few users have MCP servers.
        from cinch_tui.plain.mcp_login import show_login

        async with self._menus.lock:
            await show_login(self._menus, request)

    async def show_changes(self, changes: SessionChanges, base: DiffBase) -> None:
        changed = await asyncio.to_thread(changes.changes, base)
        for change in changed:
            lines = view_lines(change.view) if change.view is not None else [f"{change.status}: {change.kind}"]
            self._writer.write(f"Changed file {change.shown}", "\n".join(["", *lines]))
        if not changed:
            self.notice("Nothing has changed.")

    def open_panel(self, name: str) -> None:
        match name:
            case "jobs":
                lines = [f"{job.id}: {job.spec.title}: {job.status_text}" for job in self.session.agent.jobs.all]
                self.show("Jobs", "\n".join(lines) or "No background jobs.")
            case "logs":
                self.notice(f"The log file is {self.session.options.paths.log_file}")
            case "changes":
                raise CinchError("/changes needs the full-screen app; use /diff")
            case _:
                raise CinchError("panels need the full-screen app; use /jobs or /diff")

    async def answer_side_question(self, question: str) -> None:
        """Write the answer as it arrives, or during a run at its end, so that the two texts do not mix."""
        self.notice("Side question: it is not added to the conversation.")
        began, parts = time.monotonic(), list[str]()
        streams = not self.session.is_running
        if streams:
            self._writer.begin("Side answer")
        ending = await self.side_questions.ask(
            self.session.agent, question, self._writer.add if streams else parts.append
        )
        self._writer.end()
        if parts:
            self._writer.write("Side answer", "".join(parts))
        if ending:
            self.notice(f"{ending} After {time.monotonic() - began:.0f} s.", "warning")

    def copy(self, text: str) -> None:
        """Write the text once more, unchanged, to be copied from the terminal."""
        self._writer.write("Copy")
        self._writer.write_plain(text)

    @property
    def shows_thinking(self) -> bool:
        return self.session.renderer.shows_thinking

    def show_thinking(self, *, shown: bool) -> None:
        self.session.renderer.shows_thinking = shown

    # Input

    async def edit_text(self, text: str, name: str) -> str:
        async with self._menus.lock:
            return await self._menus.edit(text, name, self.session.settings.ui.editor)

    async def pick(self, title: str, choices: Sequence[tuple[str, str]], current: str = "") -> str | None:
        del current
        index = await self._find(title, [f"{name}, {detail}" if detail else name for name, detail in choices])
        return None if index is None else choices[index][0]

    async def ask_key(
        self, title: str, note: str, check: Callable[[str], Awaitable[KeyCheck]]
    ) -> tuple[str, KeyCheck] | None:
        async with self._menus.lock:
            self._writer.write("Question", f"{title}. {note}".rstrip())
            try:
                return await self._ask_key(check)
            except InputClosed:
                return None

    async def _ask_key(self, check: Callable[[str], Awaitable[KeyCheck]]) -> tuple[str, KeyCheck] | None:
        # Imported late: few users start without a key.
        from cinch_tui.api_keys.provider_key import KeyAccepted, KeyRefused

        while secret := (await self._menus.line("Key (not shown; empty to cancel): ", opens=True, hidden=True)).strip():
            self._writer.notice("Checking the key.")
            match verdict := await check(secret):
                case KeyAccepted():
                    return secret, verdict
                case KeyRefused(reason):
                    self._writer.notice(f"Refused: {reason}", "error")
                case _:
                    self._writer.notice(f"The key could not be checked: {verdict.reason}", "warning")
                    chosen = await self._menus.number(["Store it anyway", "Enter another key", "Cancel"])
                    if chosen != 1:
                        return (secret, verdict) if chosen == 0 else None
        return None

    async def type_into(self, job: Job, terminal: JobInput) -> None:
        # Imported late: few conversations need it.
        from cinch_tui.plain.job_input import type_into

        await type_into(job, terminal, self._menus, self._writer)

    def restore_prompt(self, user_input: UserInput) -> None:
        """Print the prompt: a line of plain mode cannot start with a text."""
        self._writer.write("Your prompt was", user_input.text)

    async def ask_for_trust(self, question: TrustQuestion) -> TrustAnswer:
        try:
            return await self.session.ask_for_trust(question)
        except InputClosed:
            return "later"

    async def review_brief(self, brief: str) -> str:
        self.show("Brief of the new session", brief)
        async with self._menus.lock:
            try:
                chosen = await self._menus.number(["Start a new session with it as the first prompt", "Cancel"])
            except InputClosed:
                return ""
        return brief if chosen == 0 else ""

    async def pick_session(self, query: str = "") -> SessionChoice | None:
        # Imported late: few starts need it.
        from cinch_tui.plain.session_lists import pick_session

        return await pick_session(self.session, query, self._find)

    def listed_models(self) -> Sequence[str]:
        return ()

    async def pick_model(self) -> str | None:
        current = self.session.agent.state.model.spec.name
        self.notice(f"The model is {current}. Listing other models…")
        names = list(dict.fromkeys([current, *(offer.name for offer in await self._offers()), *model_names()]))
        index = await self._find("a model", names)
        return None if index is None or names[index] == current else names[index]

    async def _offers(self) -> list[Offer]:
        keys, answers = self.session.assembly.keys, list[ProviderOffers]()
        ready = await asyncio.to_thread(ready_providers, keys, self.session.agent.state.model.spec.provider)
        try:
            async with asyncio.timeout(LISTING_TIMEOUT_S):
                await ask_providers(ready, keys, answers.append)
        except TimeoutError:
            self.notice("Some services did not answer.")
        pulled = await asyncio.to_thread(pulled_offers)
        return [*(offer for answer in answers for offer in answer.offers), *pulled]

    async def _find(self, title: str, lines: Sequence[str]) -> int | None:
        async with self._menus.lock:
            return await self._menus.search(title, lines)

    async def paste(self) -> None:
        # Imported late: few users paste images, and the terminal pastes text.
        from cinch_tui.images.image_loader import load_bytes
        from cinch_tui.terminal.clipboard import read_clipboard

        found = await read_clipboard()
        if found.image is None:
            raise CinchError("no image in the clipboard; paste text with the terminal")
        self.session.attach(await load_bytes(found.image, "clipboard"))


if TYPE_CHECKING:
    _: type[CommandHost] = PlainCommandHost
