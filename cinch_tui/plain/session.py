"""Session of plain mode: its agent, prompts with their images and files, and the notices about them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from cinch_tui import __version__
from cinch_tui.agent_session import NOT_READY, READ_ONLY, AgentSession, resume_hint
from cinch_tui.assembly.building import assemble, wanted_session
from cinch_tui.attached_files import attach_files
from cinch_tui.cli.start import collect_garbage
from cinch_tui.commands.packages import package_commands
from cinch_tui.config.options import Options
from cinch_tui.config.settings import Settings
from cinch_tui.images.image_loader import LoadedImage, attachments
from cinch_tui.images.pasted_files import attach_named_images
from cinch_tui.notifications.channels import Notification, show_on_desktop
from cinch_tui.notifications.notifications import Notifications
from cinch_tui.plain.interaction import LineInteraction
from cinch_tui.plain.line_renderer import LineRenderer
from cinch_tui.plain.menus import Menus
from cinch_tui.print_mode.outcome import ExitStatus, Outcome, RunStats
from cinch_tui.reports.notices import NoticeLevel
from cinch_tui.reports.session_export import local_time
from cinch_tui.shell_line import UserShell
from cinch_tui.trust.prompt import TrustQuestion, apply_answer, pending_question
from cinch_tui.trust.store import TrustAnswer
from cinch_tui.user_input import Attachment, UserInput, append_marks, image_name, user_input_of
from harness.agent.agent import Agent
from harness.agent.run_state import AgentResult
from harness.approval.modes import PLAN
from harness.context.history import is_prompt, outline_of
from harness.errors import CinchError, NoSessionYet
from harness.jobs import RUN_WAIT_SECONDS
from harness.messages import AssistantMessage, Message, ToolResult, UserContent, UserMessage

RUN_REQUEST_S = 1.0
"""Interval in which a run is requested while the user types."""


class PlainSession(AgentSession):
    """Agent of plain mode. `status` is the exit status of the last run."""

    def __init__(self, options: Options, settings: Settings, menus: Menus, *, is_at_terminal: bool) -> None:
        super().__init__(options, settings)
        self.menus = menus
        self.writer = menus.writer
        self.status = ExitStatus.DONE
        self.is_leaving = False
        self._is_at_terminal = is_at_terminal
        self._has_warned = False
        self.shell: UserShell | None = None
        """Shell for commands of the user, once there was one."""
        self.on_run_request: Callable[[], None] = lambda: None
        """Called in the agent's thread when a run should begin without a prompt."""
        self._renderer: LineRenderer | None = None
        self._images = list(options.images)

    @property
    def renderer(self) -> LineRenderer:
        if self._renderer is None:
            raise CinchError(NOT_READY)
        return self._renderer

    def notice(self, text: str, level: NoticeLevel = "info") -> None:
        self.writer.notice(text, level)

    def show_activity(self, text: str) -> None:
        if text:
            self.notice(f"{text}; Ctrl+C stops.")

    async def open(self) -> None:
        """Create the agent.

        Raises:
            ConfigError, SessionError: the agent cannot be created.
        """
        if self._is_at_terminal:
            await self._ask_for_trust()
        loaded, news = None, ""
        try:
            loaded = await asyncio.to_thread(wanted_session, self.options)
        except NoSessionYet:
            news = "No session in this folder yet; starting a new one."
        user = LineInteraction(self.menus, self.settings.ui.editor if self._is_at_terminal else None)
        self._assembly = assembly = await assemble(self.options, self.settings, user, loaded)
        collect_garbage()
        agent = assembly.agent
        agent.subscribe(Notifications(self.menus.presence, self._call_user, self.settings.ui.notify_after_s).receive)
        self._renderer = LineRenderer(self.writer, agent, show_thinking=self.settings.ui.show_thinking)
        agent.subscribe(self._renderer)
        self._follow_jobs(agent)
        commands = await asyncio.to_thread(package_commands().problems)
        for warning in (*self.options.notices, *assembly.warnings, *commands, *await assembly.mcp.start()):
            self.notice(warning, "warning")
        self._apply_folder()
        self.notice(f"cinch {__version__} with {agent.state.model.spec.name} in {assembly.workspace.root}")
        self.write_titles()
        self._show_permissions(agent)
        if news:
            self.notice(news)
        self.notice("#help lists commands; Ctrl+D quits.")
        if loaded is not None:
            self._show_history(agent.history.stored or agent.history.messages)
        if self._images and not self.options.prompt:
            self._show_attached()

    def _follow_jobs(self, agent: Agent) -> None:
        """Let the end of a background job start a run, or without a terminal, let runs wait for it."""
        if self._is_at_terminal:
            from harness.agent.job_wake import JobWake  # not before the first paint

            agent.subscribe(JobWake(agent, self._request_run, lambda: self.wakes_on_exit).receive)
        elif self.wakes_on_exit:
            agent.jobs.stop_with_run(RUN_WAIT_SECONDS)

    def _request_run(self) -> None:
        """Request a run until one begins: the user may be typing."""
        if self.agent.inbox.has_notices and not self.is_running:
            self.on_run_request()
            asyncio.get_running_loop().call_later(RUN_REQUEST_S, self._request_run)

    def _apply_folder(self) -> None:
        from cinch_tui.template_offers import offer_tasks, offer_templates  # not before the first paint

        watched = self.mcp
        super()._apply_folder()
        for problem in offer_templates(self.assembly.folder):
            self.notice(problem, "warning")
        offer_tasks(self.assembly.tasks)
        if self.mcp is None or self.mcp is watched:
            return
        from cinch_tui.mcp_watch import McpWatch  # few users have MCP servers

        McpWatch(self, self.mcp).start()

    async def _ask_for_trust(self) -> None:
        """Ask about files of the folder that change how cinch works, unless that was done before."""
        asked = await asyncio.to_thread(pending_question, self.options)
        if asked is None:
            return
        answer = await self.ask_for_trust(asked)
        self.options, self.settings = await asyncio.to_thread(apply_answer, self.options, asked, answer)

    async def ask_for_trust(self, asked: TrustQuestion) -> TrustAnswer:
        """Print the files of a folder and return the user's answer.

        Raises:
            InputClosed: the input has ended.
        """
        lines = "\n".join(f"{name}: {text}" if name else text for name, text in asked.rows)
        self.writer.write("Trust", f"{asked.title}\n{asked.text}\n{lines}")
        async with self.menus.lock:
            chosen = await self.menus.number([f"{each.label}: {each.effect}" for each in asked.choices])
        return asked.choices[chosen].answer

    def _call_user(self, text: str) -> None:
        """Notify the user, who is away: ring the bell and send a desktop notification, as the settings say."""
        wanted = self.settings.ui.notify
        if "off" in wanted:
            return
        if any(kind != "desktop" for kind in wanted):
            self.writer.bell()
        if "desktop" in wanted:
            show_on_desktop(Notification.about(self.options.cwd.name, text))

    def _show_permissions(self, agent: Agent) -> None:
        """Print the mode and approval settings that differ from the defaults; the app shows them in its status bar."""
        if agent.state.mode is PLAN:
            self.notice("Plan mode is on: the agent only reads until you accept its plan.")
        if agent.state.approval == "off":
            self.notice("Approval is off: all calls run without asking.", "warning")

    def _show_attached(self) -> None:
        self.notice(f"Attached to your next prompt: {_names(self._images)}.")

    def leave(self, again: str) -> None:
        if not self.running_jobs or self._has_warned or not self._is_at_terminal:
            self.is_leaving = True
            return
        self._has_warned = True
        named = ", ".join(f"{job.id} ({job.spec.title})" for job in self.running_jobs)
        self.notice(f"Quitting stops {named}. {again} again to quit.", "warning")

    def exit_text(self) -> str:
        """Return the command that resumes the session; empty if there is nothing to resume."""
        return resume_hint(self._assembly, "--plain ") if self._assembly else ""

    # Prompts

    def attach(self, image: LoadedImage) -> None:
        """Attach an image to the next prompt."""
        self._images += attachments([image], first=len(self._images) + 1)
        self._show_attached()

    async def send_with_images(self, text: str) -> None:
        """Send a prompt with the images whose paths it contains and those attached before."""
        found, refused = await attach_named_images(text, self.assembly.workspace.root, first=len(self._images) + 1)
        for reason in refused:
            self.notice(reason, "warning")
        marked = append_marks(found.text, self._images)
        self._images.clear()
        prompt = UserInput(marked.text, (*found.images, *marked.images))
        if prompt.images:
            self.notice(f"Images sent: {_names(prompt.images)}.")
        await self.send(prompt)

    async def send(self, user_input: UserInput | None) -> None:
        """Send a prompt, or a steering message during a run; None continues without a new message."""
        self._has_warned = False
        if self.assembly.is_read_only:
            self.notice(f"Not sent: {READ_ONLY}.", "error")
            return
        if self.shell is not None:
            self.shell.add_reports_to_next_prompt()
        if user_input is not None and self.is_running:
            await self._steer(user_input)
            return
        stats = RunStats()
        unsubscribe = self.agent.subscribe(stats)
        try:
            result = await self._run(user_input)
            self.status = Outcome(result, stats, self.agent.session_id, self.agent.state.model.spec.name).status
            await self.hand_off_if_due()
            self.return_queued()
        except CinchError as error:
            self.status = ExitStatus.FAILED
            self.notice(str(error), "error")
        finally:
            unsubscribe()

    async def _steer(self, user_input: UserInput) -> None:
        try:
            self.agent.steer(await self._with_files(user_input))
        except CinchError as error:
            self.notice(str(error), "error")
            return
        self.notice("Queued for the next step of the agent; press Enter twice to send it now.")

    async def _run(self, user_input: UserInput | None) -> AgentResult:
        if user_input is None:
            return await self.agent.continue_run()
        if user_input.use is not None:
            return await user_input.use.run(partial(self.notice, level="warning"))
        return await self.agent.prompt(await self._with_files(user_input))

    async def _with_files(self, user_input: UserInput) -> str | tuple[UserContent, ...]:
        """Return the prompt with the content of the files it names."""
        if user_input.use is not None:
            return await user_input.use.steering(partial(self.notice, level="warning"))
        if not user_input.may_mention:
            return user_input.prompt
        files = await attach_files(user_input.text, self.agent, self.mcp)
        for each in files.skipped:
            self.notice(each, "warning")
        if files.attached:
            self.notice(f"Attached {', '.join(files.attached)}.")
        return user_input.followed_by(files.content)

    def return_queued(self) -> None:
        waiting = "\n".join(message.text for message in self.agent.drain_queues())
        if waiting:
            self.notice(f"Not sent, since the run has ended:\n{waiting}")

    def send_now_or_explain(self) -> None:
        """Deliver a queued steering message now."""
        self.notice("Interrupting the agent to send your message." if self.send_now() else "No queued message.")

    # Sessions

    def new_session(self) -> None:
        super().new_session()
        self.notice(f"New session: {self.agent.session_id}")

    def _show_history(self, messages: Sequence[Message]) -> None:
        """Print the number of earlier messages, the message that was asked for, and the last exchange."""
        if not messages:
            return
        outline = outline_of(messages)
        prompts = [index for index, each in enumerate(outline) if is_prompt(each)]
        count = "1 prompt" if len(prompts) == 1 else f"{len(prompts)} prompts"
        self.notice(f"Session {self.agent.session_id} resumed after {count}.")
        self._show_target(messages)
        if prompts and isinstance(prompt := messages[prompts[-1]], UserMessage):
            self.writer.write("Your last prompt", user_input_of(prompt).text)
        replies = [index for index, each in enumerate(outline) if isinstance(each, AssistantMessage) and each.text]
        if replies and isinstance(reply := messages[replies[-1]], AssistantMessage):
            self.writer.write("Last reply", reply.text.strip())

    def _show_target(self, messages: Sequence[Message]) -> None:
        """Print the message that the session was resumed at."""
        target = self.assembly.target
        index = next((index for index, each in enumerate(outline_of(messages)) if target and each.id == target), None)
        match messages[index] if index is not None else None:
            case UserMessage() as prompt:
                self.writer.write(f"Your prompt of {local_time(prompt.time)}", user_input_of(prompt).text)
            case AssistantMessage(text=text, time=time):
                self.writer.write(f"Reply of {local_time(time)}", text.strip() or "(no text)")
            case ToolResult(text=text, time=time):
                self.writer.write(f"Result of {local_time(time)}", text.strip() or "(no text)")
            case _:
                pass


def _names(images: Sequence[Attachment]) -> str:
    return ", ".join(image_name(each.mark) for each in images)
