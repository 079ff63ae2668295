"""What commands may do here. What needs a screen says so."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from cinch_tui.command_host.agent import AgentCommandHost, Place
from cinch_tui.commands.side_questions import Asides
from cinch_tui.models.offers import ProviderOffers, ask_local_servers, ask_providers, pulled_offers, ready_providers
from cinch_tui.plain.menus import Menus, Option
from cinch_tui.plain.showing import strip_markdown, view_lines
from cinch_tui.reports.session_export import when
from cinch_tui.reports.summaries import model_names
from harness.errors import CinchError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from cinch_tui.api_keys.check import KeyCheck
    from cinch_tui.commands.host import ApprovalMode, CommandHost, DiffBase, NoticeLevel
    from cinch_tui.images.image_loader import LoadedImage
    from cinch_tui.plain.line_renderer import LineRenderer
    from cinch_tui.plain.line_writer import LineWriter
    from providers.model_catalog.offers import Offer

PATIENCE = 5.0
"""Seconds that services have to say which models they serve."""
LABELS = {"info": "Notice", "warning": "Warning", "error": "Error"}


class PlainSession(Place, Protocol):
    """The conversation that the commands are typed into."""

    writer: LineWriter
    menus: Menus

    @property
    def renderer(self) -> LineRenderer: ...

    @property
    def is_running(self) -> bool: ...

    def continue_run(self) -> None: ...

    async def load(self, session_id: str) -> None: ...

    def leave(self, again: str) -> None: ...

    def attach(self, shot: LoadedImage) -> None: ...


class PlainCommandHost(AgentCommandHost):
    def __init__(self, talk: PlainSession) -> None:
        super().__init__(talk)
        self._talk = talk
        self._paper = talk.writer
        self._asides = Asides()

    # What is seen

    def notice(self, text: str, level: NoticeLevel = "info") -> None:
        self._paper.write(LABELS[level], text)

    def show(self, title: str, text: str) -> None:
        self._paper.write(title, f"\n{strip_markdown(text)}")

    def show_help(self) -> None:
        # Few ask for it.
        from cinch_tui.plain.help import help_lines

        self.show("Help", "\n".join(help_lines()))

    def toggle_help(self) -> None:
        self.show_help()

    async def pick(self, title: str, choices: Sequence[tuple[str, str]], current: str = "") -> str | None:
        del current
        lines = [Option(f"{name}, {what}" if what else name) for name, what in choices]
        async with self._talk.menus.lock:
            index = await self._talk.menus.search(title, lines)
        return None if index is None else choices[index][0]

    async def ask_key(
        self, title: str, note: str, check: Callable[[str], Awaitable[KeyCheck]]
    ) -> tuple[str, KeyCheck] | None:
        # Few start without a key.
        from cinch_tui.plain.key_entry import ask_key

        async with self._talk.menus.lock:
            return await ask_key(self._talk.menus, f"{title}. {note}".rstrip(), check)

    async def show_settings(self) -> None:
        # Few look at them here.
        from cinch_tui.config.store import SettingStore, settings_text
        from cinch_tui.reports.summaries import agent_settings

        self.show("Settings", settings_text(SettingStore(self._talk.options.sources), agent_settings(self._talk.agent)))

    async def show_context(self) -> None:
        from cinch_tui.reports.summaries import context_report

        self.show("Context", context_report(self._talk.agent, self._talk.assembly.instructions))

    @property
    def shows_thinking(self) -> bool:
        return self._talk.renderer.shows_thinking

    def show_thinking(self, *, shown: bool) -> None:
        self._talk.renderer.shows_thinking = shown

    def clear_view(self) -> None:
        raise CinchError("there is no screen to empty: these lines are the terminal's")

    def toggle_times(self) -> None:
        raise CinchError("what stands on these lines already cannot get a time; the times are in the session's file")

    def copy(self, text: str) -> None:
        """There is no clipboard here: it is written once more, as it was, to be copied from the terminal."""
        self._paper.write("Copy")
        self._paper.write_plain(text)

    def theme_names(self) -> Sequence[str]:
        return ()

    async def choose_theme(self, name: str) -> None:
        del name
        raise CinchError("there are no colours here: these lines are the terminal's")

    async def show_changes(self, base: DiffBase) -> None:
        # Few sessions look back.
        from cinch_tui.changes import SessionChanges

        assembly = self._talk.assembly
        ledger = SessionChanges(assembly.originals, assembly.workspace, assembly.agent.add_reminder)
        changes = await asyncio.to_thread(ledger.changes, base)
        for change in changes:
            lines = view_lines(change.view) if change.view is not None else ["changed; no text to compare"]
            self._paper.write(f"Changed file {change.shown}", "\n".join(["", *lines]))
        if not changes:
            self.notice("Nothing has changed.")

    async def open_editor(self) -> None:
        raise CinchError("/editor needs the screen; here a line of ``` begins and ends a text of several lines")

    async def toggle_vim(self) -> None:
        raise CinchError("/vim needs the screen; here the line is edited as ~/.inputrc says (set editing-mode vi)")

    async def paste(self) -> None:
        # Few paste pictures, and text is pasted by the terminal.
        from cinch_tui.images.clipboard import held
        from cinch_tui.images.image_loader import shot_of

        found = await held()
        if found.picture is None:
            raise CinchError("there is no picture in the clipboard; text is pasted by the terminal")
        self._talk.attach(await shot_of(found.picture, "clipboard"))

    def quit(self) -> None:
        self._talk.leave("/quit")

    # The session

    @property
    def stop_key(self) -> str:
        return "Ctrl+C"

    @property
    def is_running(self) -> bool:
        return self._talk.is_running

    def reset(self) -> None:
        agent = self._talk.agent
        agent.new_session(agent.session_id)
        if self._talk.assembly.store is not None:
            self._talk.assembly.store.restart()

    async def new_session(self) -> None:
        self._talk.assembly.start_session()
        self.notice(f"A new session begins: {self._talk.agent.session_id}")

    async def pick_session(self) -> None:
        # Reading sessions is loaded where one is wanted.
        from cinch_tui.reports.session_list import place_of
        from harness.session.index import list_sessions

        options = self._talk.options
        summaries = await asyncio.to_thread(list_sessions, options.paths.data, options.cwd)
        if not summaries:
            self.notice("There is no earlier session in this folder.")
            return
        current = self._talk.agent.session_id
        described = ((each.title, when(each.updated), place_of(each, current)) for each in summaries)
        lines = [Option(", ".join(filter(None, parts))) for parts in described]
        async with self._talk.menus.lock:
            index = await self._talk.menus.search("an earlier session", lines)
        if index is not None:
            await self.load_session(summaries[index].id)

    async def load_session(self, session_id: str) -> None:
        await self._talk.load(session_id)

    # The model

    def model_names(self) -> Sequence[str]:
        return model_names()

    async def choose_model(self) -> None:
        now = self._talk.agent.state.model.spec.name
        self.notice(f"The model is {now}. Asking who serves others…")
        names = list(dict.fromkeys([now, *(offer.name for offer in await self._offers()), *self.model_names()]))
        async with self._talk.menus.lock:
            index = await self._talk.menus.search("a model", [Option(name) for name in names])
        if index is not None and names[index] != now:
            await self.set_model(names[index])

    async def set_model(self, name: str) -> None:
        model = await asyncio.to_thread(self._talk.assembly.connect, name, self._talk.agent.state.model.spec.thinking)
        self._talk.agent.set_model(model)
        self.notice(f"The model is {model.spec.name} from the next reply on.")

    def ask_again(self) -> None:
        if self._talk.agent.retry_now():
            return
        if self.is_running:
            raise CinchError("the model is at work: there is no wait to cut short")
        self._talk.continue_run()

    async def examine(self, names: Sequence[str]) -> str:
        from cinch_tui.doctor.report import report_block
        from cinch_tui.models.last_choice import ModelChoice

        options, spec = self._talk.options, self._talk.agent.state.model.spec
        self.notice("Asking services…")
        return await report_block(names, options.paths, options.cwd, ModelChoice(spec.name, spec.base_url))

    async def ask_several(self, models: Sequence[str], prompt: str) -> None:
        del models, prompt
        raise CinchError("/parallel needs the screen, where answers stand side by side; start cinch without --plain")

    def ask_one(self) -> None:
        self.notice(f"The next prompt goes to {self._talk.agent.state.model.spec.name}.")

    def pick_answer(self) -> None:
        raise CinchError("there are no answers to pick from")

    # Beside the work

    async def ask_aside(self, question: str) -> None:
        """The answer is written when it is whole where the agent writes too, so that the two do not mix."""
        self.notice("A side question; the conversation will not know of it.")
        began, said = time.monotonic(), list[str]()
        streams = not self.is_running
        if streams:
            self._paper.begin("Aside")
        ending = await self._asides.ask(self._talk.agent, question, self._paper.add if streams else said.append)
        self._paper.end()
        if said:
            self._paper.write("Aside", "".join(said))
        if ending:
            self.notice(f"{ending} After {time.monotonic() - began:.0f} s.", "warning")

    def stop_aside(self) -> bool:
        return self._asides.stop()

    # Around the conversation

    def panels(self) -> Sequence[tuple[str, str, bool]]:
        raise CinchError("panels need the screen; here there are /jobs and /diff")

    def toggle_panel(self, name: str) -> None:
        del name
        self.panels()

    def open_panel(self, name: str) -> None:
        match name:
            case "jobs":
                lines = [f"{job.id}: {job.errand.title}: {job.fate}" for job in self._talk.agent.jobs.all]
                self.show("Jobs", "\n".join(lines) or "No command has gone on in the background.")
            case "logs":
                self.notice(f"What cinch notes of itself is in {self._talk.options.paths.log_file}")
            case "changes":
                raise CinchError("/changes needs the screen; /diff lists the same here")
            case _:
                self.panels()

    # Approval

    def set_approval(self, mode: ApprovalMode) -> None:
        self._talk.agent.state.approval = mode

    async def _offers(self) -> list[Offer]:
        keys, found = self._talk.assembly.keys, list[ProviderOffers]()
        ready = await asyncio.to_thread(ready_providers, keys, self._talk.agent.state.model.spec.provider)
        try:
            async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
                group.create_task(ask_providers(ready, keys, found.append))
                group.create_task(ask_local_servers(keys, found.append))
        except TimeoutError:
            self.notice("Not everybody answered.")
        pulled = await asyncio.to_thread(pulled_offers)
        return [*(offer for answer in found for offer in answer.offers), *pulled]


if TYPE_CHECKING:
    _: type[CommandHost] = PlainCommandHost
