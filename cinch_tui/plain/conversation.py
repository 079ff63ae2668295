"""Conversation of plain mode: typed lines to the agent. Runs in the agent's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from cinch_tui import __version__
from cinch_tui.api_keys.guard import ask_about_keys
from cinch_tui.assembly import Assembly, assemble, repaired_messages, wanted_session
from cinch_tui.attached_files import attach_files
from cinch_tui.cli.start import collect_garbage
from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.commands.keys import keep_key
from cinch_tui.commands.registry import Invocation, UnknownCommand
from cinch_tui.commands.secrets import take_keys, without_keys
from cinch_tui.commands.session import choose_session
from cinch_tui.config.options import Options, Resume
from cinch_tui.config.settings import Settings
from cinch_tui.images.image_loader import attachments
from cinch_tui.images.paste_handler import with_pictures
from cinch_tui.plain.command_host import PlainCommandHost
from cinch_tui.plain.interaction import LineInteraction
from cinch_tui.plain.line_renderer import LineRenderer, user_command_lines
from cinch_tui.plain.line_writer import LiveOutput
from cinch_tui.plain.menus import AGAIN, InputClosed, Menus, Option
from cinch_tui.plain.ringing import ringing
from cinch_tui.print_mode.outcome import ExitStatus, Outcome, RunStats
from cinch_tui.shell_line import ShellLine, UserShell, shell_line
from cinch_tui.user_input import (
    Attachment,
    UserInput,
    UserInputLike,
    append_marks,
    as_user_input,
    image_name,
    user_input_of,
)
from harness.agent.agent import Agent
from harness.agent.guardrails import find_secrets
from harness.agent.result import AgentResult
from harness.approval.modes import PLAN
from harness.errors import CinchError, NoSessionYet
from harness.messages import AssistantMessage, Message

if TYPE_CHECKING:
    from cinch_tui.images.image_loader import LoadedImage
    from harness.messages import UserContent
    from harness.session.resume import LoadedSession

AS_IT_IS = "Send it to the model as a prompt"
NOTHING = "Discard it"
MOST_OWN_LINES = 50
"""Lines of a user command printed per second; of more, the last ones."""
NOT_READY = "cinch is still starting; try again in a moment"


class Conversation:
    """Agent of plain mode and the commands typed to it. `status` is the exit status of the last run."""

    def __init__(self, options: Options, settings: Settings, menus: Menus, *, is_at_terminal: bool) -> None:
        self.options = options
        self.settings = settings
        self.menus = menus
        self.writer = menus.writer
        self.is_leaving = False
        self._is_at_terminal = is_at_terminal
        self._is_warned = False
        self._own: UserShell | None = None
        self.status = ExitStatus.DONE
        self._assembly: Assembly | None = None
        self._host = PlainCommandHost(self)
        self._goes_on = False
        self._teller: LineRenderer | None = None
        self._pictures = list(options.images)

    @property
    def assembly(self) -> Assembly:
        if self._assembly is None:
            raise CinchError(NOT_READY)
        return self._assembly

    @property
    def agent(self) -> Agent:
        return self.assembly.agent

    @property
    def renderer(self) -> LineRenderer:
        if self._teller is None:
            raise CinchError(NOT_READY)
        return self._teller

    @property
    def is_running(self) -> bool:
        return self._assembly is not None and self._assembly.agent.is_running

    async def open(self) -> None:
        """Create the agent.

        Raises:
            ConfigError, SessionError: the agent cannot be created.
        """
        loaded, news = None, ""
        try:
            loaded = await asyncio.to_thread(wanted_session, self.options)
        except NoSessionYet:
            news = "No session in this folder yet; starting a new one."
        interaction = LineInteraction(self.menus)
        self._assembly = assembly = await assemble(self.options, self.settings, interaction, loaded)
        collect_garbage()
        agent = assembly.agent
        agent.subscribe(ringing(self.menus, self.settings.ui, self.options.cwd.name))
        self._teller = LineRenderer(self.writer, agent, show_thinking=self.settings.ui.show_thinking)
        agent.subscribe(self._teller)
        for warning in (*self.options.notices, *assembly.warnings):
            self.writer.write("Warning", warning)
        self.writer.write(
            "Notice", f"cinch {__version__} with {agent.state.model.spec.name} in {assembly.workspace.root}"
        )
        self._tell_freedom(agent)
        if news:
            self.writer.write("Notice", news)
        self.writer.write("Notice", "#help lists commands; Ctrl+D quits.")
        if loaded is not None:
            self.show_end(agent.history.messages)
        if self._pictures and not self.options.prompt:
            self.writer.write("Notice", f"Attached to your next prompt: {_named(self._pictures)}.")
        if self.options.session_choice == Resume(""):
            await choose_session(self._host)

    def _tell_freedom(self, agent: Agent) -> None:
        """Print the mode and approval settings that differ from the defaults; the app shows them in its status bar."""
        if agent.state.mode is PLAN:
            self.writer.write("Notice", "Plan mode is on: the agent only reads until you accept its plan.")
        if agent.state.approval == "off":
            self.writer.write("Warning", "Approval is off: all calls run without asking.")

    def leave(self, again: str) -> None:
        """Leave; if background jobs are running, warn first. `again` names the input that leaves then."""
        jobs = self._assembly.agent.jobs.running if self._assembly else ()
        if not jobs or self._is_warned or not self._is_at_terminal:
            self.is_leaving = True
            return
        self._is_warned = True
        named = ", ".join(f"{job.id} ({job.spec.title})" for job in jobs)
        self.writer.write("Warning", f"Quitting stops {named}. {again} again to quit.")

    async def close(self) -> None:
        if self._assembly is not None:
            await self._assembly.agent.close()
            await asyncio.to_thread(self._assembly.close)

    @property
    def can_stop(self) -> bool:
        """Return True if `stop` has something to stop; otherwise the caller cancels `handle`."""
        return self.is_running or (self._own is not None and self._own.is_running)

    def stop(self) -> None:
        """Stop the user's own command, else a side question, else the run."""
        if self._own is not None and self._own.stop():
            return
        if not self._host.side_questions.stop() and self.is_running:
            self.agent.abort()

    async def handle(self, text: str) -> None:
        """Do what was typed: keep a key, run a command, or send it."""
        self.menus.presence.typed()
        rest, keys = take_keys(text)
        for key in keys:
            await keep_key(self._host, key.provider, key.secret)
        if find_secrets(rest):
            rest = await self._asked_about_keys(rest)
            if not rest:
                return
        if rest.strip() == AGAIN:
            self.writer.write("Notice", self.renderer.status_text())
        elif line := shell_line(rest):
            await self._run(line)
        elif rest.strip() or not keys:
            await self._obey(rest)
        if self._goes_on:
            self._goes_on = False
            await self.send(None)

    async def _asked_about_keys(self, text: str) -> str:
        """Return the text if the user wants it sent although it contains a key; otherwise an empty string."""
        decision = await ask_about_keys(self._host, partial(keep_key, self._host), text)
        if decision.send:
            return decision.text
        kept = without_keys(decision.text)
        self.writer.write("Notice", "Nothing was sent." + (f" Without the key it reads:\n{kept}" if kept else ""))
        return ""

    async def _obey(self, rest: str) -> None:
        match builtin_commands().parse(rest):
            case Invocation() as invocation:
                await builtin_commands().run(invocation, self._host)
            case UnknownCommand() as miss:
                await self._ask_about(rest, miss)
            case None:
                await self._say_with_pictures(builtin_commands().literal(rest))

    async def _run(self, line: ShellLine) -> None:
        """Run a command that the user typed after `!`, and print its output."""
        self._own = self._own or UserShell(self.agent)
        live = LiveOutput(self.writer, lambda: "Output", most=MOST_OWN_LINES)
        output = await self._own.run(line, live.update)
        live.finish(output.view)
        self.writer.write("Output", "\n".join([line.text, *user_command_lines(output, was_live=live.has_printed)]))
        if not line.is_private:
            self.writer.write("Notice", "The output is sent to the model with your next prompt.")

    def attach(self, shot: LoadedImage) -> None:
        """Attach an image to the next prompt."""
        self._pictures += attachments([shot], first=len(self._pictures) + 1)
        self.writer.write("Notice", f"Attached to your next prompt: {_named(self._pictures)}.")

    async def _say_with_pictures(self, text: str) -> None:
        """Send a prompt with the images whose paths it contains and those attached before."""
        words, refused = await with_pictures(text, self.assembly.workspace.root, first=len(self._pictures) + 1)
        for reason in refused:
            self.writer.write("Warning", reason)
        given = append_marks(words.text, self._pictures)
        self._pictures.clear()
        words = UserInput(given.text, (*words.images, *given.images))
        if words.images:
            self.writer.write("Notice", f"Images sent: {_named(words.images)}.")
        await self.send(words)

    async def send(self, said: UserInputLike | None) -> None:
        """Send a prompt, or a steering message during a run; None continues without a new message."""
        self._is_warned = False
        if self._own is not None:
            self._own.add_reports_to_next_prompt()
        prompt = None if said is None else await self._with_files(as_user_input(said))
        if prompt is not None and self.is_running:
            self.agent.steer(prompt)
            self.writer.write("Notice", "Queued for the next step of the agent; press Enter twice to send it now.")
            return
        tally = RunStats()
        unsubscribe = self.agent.subscribe(tally)
        try:
            result = await (self.agent.continue_run() if prompt is None else self.agent.prompt(prompt))
            self._settle(result, tally)
        except CinchError as error:
            self.status = ExitStatus.FAILED
            self.writer.write("Error", str(error))
        finally:
            unsubscribe()

    async def _with_files(self, words: UserInput) -> str | tuple[UserContent, ...]:
        """Return the prompt with the content of the files it names."""
        files = await attach_files(words.text, self.agent)
        for each in files.skipped:
            self.writer.write("Warning", each)
        if files.attached:
            self.writer.write("Notice", f"Attached {', '.join(files.attached)}.")
        return words.followed_by(files.content)

    def send_now(self) -> None:
        """Deliver a queued steering message now."""
        if self.is_running and self.agent.inbox.steering and self.agent.interrupt():
            self.writer.write("Notice", "Interrupting the agent to send your message.")
        else:
            self.writer.write("Notice", "No queued message.")

    def continue_run(self) -> None:
        """Continue the run once the command has ended."""
        self._goes_on = True

    async def until_ready(self) -> bool:
        """Return False: commands are read once there is an agent."""
        return False

    def reset(self) -> None:
        """Begin a new conversation in the same session file."""
        self.agent.new_session(self.agent.session_id)
        if self.assembly.store is not None:
            self.assembly.store.restart()

    def new_session(self) -> None:
        self.assembly.start_session()
        self.writer.write("Notice", f"New session: {self.agent.session_id}")

    async def load_session(self, session_id: str) -> None:
        """Open a session by its id."""
        loaded = await asyncio.to_thread(self.assembly.find, session_id)
        await self._resume(loaded)

    async def _resume(self, loaded: LoadedSession) -> None:
        messages = await asyncio.to_thread(repaired_messages, loaded)
        self.assembly.warnings.clear()
        self.assembly.resume(loaded, messages)
        for warning in (*loaded.warnings, *self.assembly.warnings):
            self.writer.write("Warning", warning)
        self.show_end(messages)

    def show_end(self, messages: Sequence[Message]) -> None:
        """Print the number of earlier messages and the last exchange."""
        prompts = self.agent.history.prompts()
        count = "1 prompt" if len(prompts) == 1 else f"{len(prompts)} prompts"
        self.writer.write("Notice", f"Session {self.agent.session_id} resumed after {count}.")
        replies = [each for each in messages if isinstance(each, AssistantMessage) and each.text]
        if prompts:
            self.writer.write("Your last prompt", user_input_of(prompts[-1]).text)
        if replies:
            self.writer.write("Last reply", replies[-1].text.strip())

    def exit_text(self) -> str:
        """Return the command that resumes the session; empty if there is nothing to resume."""
        store = self._assembly.store if self._assembly else None
        if store is None or not self.agent.history.prompts():
            return ""
        if not store.is_saved:
            return f"The end of this conversation could not be saved in {store.path}"
        return f"Resume this session: cinch --plain -r {self.agent.session_id}"

    def _settle(self, result: AgentResult, tally: RunStats) -> None:
        outcome = Outcome(result, tally, self.agent.session_id, self.agent.state.model.spec.name)
        self.status = outcome.status
        waiting = "\n".join(message.text for message in self.agent.drain_queues())
        if waiting:
            self.writer.write("Notice", f"Not sent, since the run has ended:\n{waiting}")

    async def _ask_about(self, text: str, miss: UnknownCommand) -> None:
        async with self.menus.lock:
            self.writer.write("Question", f"{miss.reason}; did you mean one of these?")
            options = [Option(name) for name in miss.suggestions] + [Option(AS_IT_IS), Option(NOTHING)]
            if not miss.is_safe:
                options.insert(0, options.pop())
            try:
                chosen = options[await self.menus.number(options)].text
            except InputClosed:
                return
        if chosen == AS_IT_IS:
            await self.send(text)
        elif chosen != NOTHING:
            await self.handle(chosen)


def _named(images: Sequence[Attachment]) -> str:
    return ", ".join(image_name(each.mark) for each in images)
