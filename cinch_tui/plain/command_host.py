"""Command host of plain mode; commands that need a screen report that."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from cinch_tui.commands.host import SessionControls
from cinch_tui.commands.side_questions import SideQuestions
from cinch_tui.models.offers import ProviderOffers, ask_local_servers, ask_providers, pulled_offers, ready_providers
from cinch_tui.plain.menus import Menus, Option
from cinch_tui.plain.showing import strip_markdown, view_lines
from cinch_tui.reports.session_export import when
from cinch_tui.reports.summaries import agent_settings, context_report, model_names
from harness.errors import CinchError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from cinch_tui.api_keys.check import KeyCheck
    from cinch_tui.changes import SessionChanges
    from cinch_tui.commands.host import CommandHost, DiffBase, NoticeLevel
    from cinch_tui.images.image_loader import LoadedImage
    from cinch_tui.plain.line_renderer import LineRenderer
    from cinch_tui.plain.line_writer import LineWriter
    from providers.model_catalog.offers import Offer

PATIENCE = 5.0
"""Time limit for listing the models of all services, in seconds."""
LABELS = {"info": "Notice", "warning": "Warning", "error": "Error"}


class PlainSession(Place, Protocol):
    """The conversation as commands see it."""

    writer: LineWriter
    menus: Menus

    @property
    def renderer(self) -> LineRenderer: ...

    def continue_run(self) -> None: ...

    def attach(self, shot: LoadedImage) -> None: ...


class PlainCommandHost(AgentCommandHost):
    def __init__(self, session: PlainSession) -> None:
        super().__init__(session)
        self._session = session
        self._writer = session.writer
        self._asides = Asides()

    def __init__(self, session: PlainSession) -> None:
        self.session = session
        self.side_questions = SideQuestions()
        self._writer = session.writer
        self._menus = session.menus

    def continue_run(self) -> None:
        self.session.continue_run()

    # Output

    def notice(self, text: str, level: NoticeLevel = "info") -> None:
        self._writer.write(LABELS[level], text)

    def show(self, title: str, text: str) -> None:
        self._writer.write(title, f"\n{strip_markdown(text)}")

    def show_help(self) -> None:
        # Imported late: few users need it.
        from cinch_tui.plain.help import help_lines

        self.show("Help", "\n".join(help_lines()))

    async def show_settings(self) -> None:
        # Imported late: few users need it.
        from cinch_tui.config.store import SettingStore, settings_text

        store = SettingStore(self.session.options.sources)
        self.show("Settings", settings_text(store, agent_settings(self.session.agent)))

    async def show_context(self) -> None:
        self.show("Context", context_report(self.session.agent, self.session.assembly.instructions))

    async def show_changes(self, changes: SessionChanges, base: DiffBase) -> None:
        changed = await asyncio.to_thread(changes.changes, base)
        for change in changed:
            lines = view_lines(change.view) if change.view is not None else ["changed; no text to compare"]
            self._writer.write(f"Changed file {change.shown}", "\n".join(["", *lines]))
        if not changed:
            self.notice("Nothing has changed.")

    def open_panel(self, name: str) -> None:
        match name:
            case "jobs":
                lines = [f"{job.id}: {job.spec.title}: {job.status_text}" for job in self.session.agent.jobs.all]
                self.show("Jobs", "\n".join(lines) or "No command has gone on in the background.")
            case "logs":
                self.notice(f"What cinch notes of itself is in {self.session.options.paths.log_file}")
            case "changes":
                raise CinchError("/changes needs the screen; /diff lists the same here")
            case _:
                raise CinchError("panels need the screen; here there are /jobs and /diff")

    async def answer_side_question(self, question: str) -> None:
        """Write the answer as it arrives, or during a run at its end, so that the two texts do not mix."""
        self.notice("A side question; the conversation will not know of it.")
        began, parts = time.monotonic(), list[str]()
        streams = not self.session.is_running
        if streams:
            self._writer.begin("Aside")
        ending = await self.side_questions.ask(
            self.session.agent, question, self._writer.add if streams else parts.append
        )
        self._writer.end()
        if parts:
            self._writer.write("Aside", "".join(parts))
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

    async def pick(self, title: str, choices: Sequence[tuple[str, str]], current: str = "") -> str | None:
        del current
        lines = [Option(f"{name}, {what}" if what else name) for name, what in choices]
        async with self._session.menus.lock:
            index = await self._session.menus.search(title, lines)
        return None if index is None else choices[index][0]

    async def ask_key(
        self, title: str, note: str, check: Callable[[str], Awaitable[KeyCheck]]
    ) -> tuple[str, KeyCheck] | None:
        # Imported late: few users start without a key.
        from cinch_tui.plain.key_entry import ask_key

        async with self._session.menus.lock:
            return await ask_key(self._session.menus, f"{title}. {note}".rstrip(), check)

    async def pick_session(self) -> str | None:
        # Imported late: few starts need it.
        from cinch_tui.reports.session_list import place_of
        from harness.session.index import list_sessions

        self.show(
            "Settings", settings_text(SettingStore(self._session.options.sources), agent_settings(self._session.agent))
        )

    async def show_context(self) -> None:
        from cinch_tui.reports.summaries import context_report

        self.show("Context", context_report(self._session.agent, self._session.assembly.instructions))

    @property
    def shows_thinking(self) -> bool:
        return self._session.renderer.shows_thinking

    def show_thinking(self, *, shown: bool) -> None:
        self._session.renderer.shows_thinking = shown

    def clear_view(self) -> None:
        raise CinchError("not available in plain mode: the terminal keeps these lines")

    def toggle_times(self) -> None:
        raise CinchError("not available in plain mode; the session file contains the times")

    def copy(self, text: str) -> None:
        """Print the text without labels, to be copied from the terminal."""
        self._writer.write("Copy")
        self._writer.write_plain(text)

    def theme_names(self) -> Sequence[str]:
        return ()

    async def choose_theme(self, name: str) -> None:
        del name
        raise CinchError("themes are not available in plain mode")

    async def _offers(self) -> list[Offer]:
        keys, answers = self.session.assembly.keys, list[ProviderOffers]()
        ready = await asyncio.to_thread(ready_providers, keys, self.session.agent.state.model.spec.provider)
        try:
            async with asyncio.timeout(LISTING_TIMEOUT_S), asyncio.TaskGroup() as group:
                group.create_task(ask_providers(ready, keys, answers.append))
                group.create_task(ask_local_servers(keys, answers.append))
        except TimeoutError:
            self.notice("Not everybody answered.")
        pulled = await asyncio.to_thread(pulled_offers)
        return [*(offer for answer in answers for offer in answer.offers), *pulled]

        assembly = self._session.assembly
        ledger = SessionChanges(assembly.originals, assembly.workspace, assembly.agent.add_reminder)
        changes = await asyncio.to_thread(ledger.changes, base)
        for change in changes:
            lines = view_lines(change.view) if change.view is not None else ["changed; not a text file"]
            self._writer.write(f"Changed file {change.shown}", "\n".join(["", *lines]))
        if not changes:
            self.notice("Nothing has changed.")

    async def open_editor(self) -> None:
        raise CinchError(
            "/editor needs the full-screen app; in plain mode, a line of ``` begins and ends a prompt of several lines"
        )

    async def toggle_vim(self) -> None:
        raise CinchError(
            "/vim needs the full-screen app; in plain mode, configure readline in ~/.inputrc (set editing-mode vi)"
        )

    async def paste(self) -> None:
        # Imported late: few users paste images, and the terminal pastes text.
        from cinch_tui.images.clipboard import held
        from cinch_tui.images.image_loader import shot_of

        found = await held()
        if found.picture is None:
            raise CinchError("no image in the clipboard; paste text with the terminal")
        self._session.attach(await shot_of(found.picture, "clipboard"))

    def quit(self) -> None:
        self._session.leave("/quit")

    # The session

    @property
    def stop_key(self) -> str:
        return "Ctrl+C"

    @property
    def is_running(self) -> bool:
        return self._session.is_running

    def reset(self) -> None:
        agent = self._session.agent
        agent.new_session(agent.session_id)
        if self._session.assembly.store is not None:
            self._session.assembly.store.restart()

    async def new_session(self) -> None:
        self._session.assembly.start_session()
        self.notice(f"New session: {self._session.agent.session_id}")

    async def pick_session(self) -> None:
        # Reading sessions is loaded where one is wanted.
        from cinch_tui.reports.session_list import place_of
        from harness.session.index import list_sessions

        options = self._session.options
        summaries = await asyncio.to_thread(list_sessions, options.paths.data, options.cwd)
        if not summaries:
            self.notice("No earlier sessions in this folder.")
            return
        current = self._session.agent.session_id
        described = ((each.title, when(each.updated), place_of(each, current)) for each in summaries)
        lines = [Option(", ".join(filter(None, parts))) for parts in described]
        async with self._session.menus.lock:
            index = await self._session.menus.search("an earlier session", lines)
        if index is not None:
            await self.load_session(summaries[index].id)

    async def load_session(self, session_id: str) -> None:
        await self._session.load(session_id)

    # The model

    def model_names(self) -> Sequence[str]:
        return model_names()

    async def choose_model(self) -> None:
        now = self._session.agent.state.model.spec.name
        self.notice(f"The model is {now}. Listing other models…")
        names = list(dict.fromkeys([now, *(offer.name for offer in await self._offers()), *self.model_names()]))
        async with self._session.menus.lock:
            index = await self._session.menus.search("a model", [Option(name) for name in names])
        if index is not None and names[index] != now:
            await self.set_model(names[index])

    async def set_model(self, name: str) -> None:
        model = await asyncio.to_thread(
            self._session.assembly.connect, name, self._session.agent.state.model.spec.thinking
        )
        self._session.agent.set_model(model)
        self.notice(f"The model is {model.spec.name} from the next reply on.")

    def ask_again(self) -> None:
        if self._session.agent.retry_now():
            return
        if self.is_running:
            raise CinchError("the model is running; there is no wait to skip")
        self._session.continue_run()

    async def examine(self, names: Sequence[str]) -> str:
        from cinch_tui.doctor.report import report_block
        from cinch_tui.models.last_choice import ModelChoice

        options, spec = self._session.options, self._session.agent.state.model.spec
        self.notice("Checking services…")
        return await report_block(names, options.paths, options.cwd, ModelChoice(spec.name, spec.base_url))

    async def ask_several(self, models: Sequence[str], prompt: str) -> None:
        del models, prompt
        raise CinchError("/parallel needs the full-screen app; start cinch without --plain")

    def ask_one(self) -> None:
        self.notice(f"The next prompt goes to {self._session.agent.state.model.spec.name}.")

    def pick_answer(self) -> None:
        raise CinchError("no parallel answers to pick from")

    # Side questions

    async def ask_aside(self, question: str) -> None:
        """Answer a side question; during a run, print the answer when it is complete, so that outputs do not mix."""
        self.notice("Side question: it is not added to the conversation.")
        began, answer = time.monotonic(), list[str]()
        streams = not self.is_running
        if streams:
            self._writer.begin("Aside")
        ending = await self._asides.ask(self._session.agent, question, self._writer.add if streams else answer.append)
        self._writer.end()
        if answer:
            self._writer.write("Aside", "".join(answer))
        if ending:
            self.notice(f"{ending} After {time.monotonic() - began:.0f} s.", "warning")

    def stop_aside(self) -> bool:
        return self._asides.stop()

    # Around the conversation

    def panels(self) -> Sequence[tuple[str, str, bool]]:
        raise CinchError("panels need the full-screen app; use /jobs or /diff")

    def toggle_panel(self, name: str) -> None:
        del name
        self.panels()

    def open_panel(self, name: str) -> None:
        match name:
            case "jobs":
                lines = [f"{job.id}: {job.errand.title}: {job.fate}" for job in self._session.agent.jobs.all]
                self.show("Jobs", "\n".join(lines) or "No background jobs.")
            case "logs":
                self.notice(f"The log file is {self._session.options.paths.log_file}")
            case "changes":
                raise CinchError("/changes needs the full-screen app; use /diff")
            case _:
                self.panels()

    # Approval

    def set_approval(self, mode: ApprovalMode) -> None:
        self._session.agent.state.approval = mode

    async def _offers(self) -> list[Offer]:
        keys, found = self._session.assembly.keys, list[ProviderOffers]()
        ready = await asyncio.to_thread(ready_providers, keys, self._session.agent.state.model.spec.provider)
        try:
            async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
                group.create_task(ask_providers(ready, keys, found.append))
                group.create_task(ask_local_servers(keys, found.append))
        except TimeoutError:
            self.notice("Some services did not answer.")
        pulled = await asyncio.to_thread(pulled_offers)
        return [*(offer for answer in found for offer in answer.offers), *pulled]


if TYPE_CHECKING:
    _: type[CommandHost] = PlainCommandHost
