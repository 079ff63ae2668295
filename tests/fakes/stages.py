"""Every screen of the app in the states worth a snapshot, and the steps to reach them.

A stage receives an app that is ready, in its own folder, with a model that plays `SPOKEN`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from fakes.chat import until
from fakes.foreign_folder import foreign_folder
from fakes.given_mcp_servers import control
from fakes.job_dialogs import editor_dialog, password_dialog
from fakes.painting import paint
from fakes.scenes import (
    CHANGED,
    COMMAND,
    DANGER,
    EDIT,
    FORM,
    OPEN_QUESTION,
    PLAN,
    QUESTION,
    SAID,
    SEVERAL,
    TODO,
    talk,
    work,
)
from fakes.script import Hang, Reply
from msgspec.structs import replace
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input, Static

from cinch_tui.agent_session import AgentSession
from cinch_tui.api_keys.provider_key import KeyAccepted, KeyRefused
from cinch_tui.app.app import CinchApp
from cinch_tui.changes import SessionChanges
from cinch_tui.config.layers import Sources
from cinch_tui.config.store import SettingStore
from cinch_tui.context_edits import ContextEdits
from cinch_tui.saved_sessions import SavedSessions
from cinch_tui.screens.approval import ApprovalScreen
from cinch_tui.screens.changes import ChangesScreen
from cinch_tui.screens.chat import ChatScreen
from cinch_tui.screens.choice_dialogs import Confirmation, ShortList
from cinch_tui.screens.context import ContextScreen
from cinch_tui.screens.help import HelpScreen
from cinch_tui.screens.job_terminal import JobTerminal
from cinch_tui.screens.key_entry import KeyEntry
from cinch_tui.screens.mcp import McpScreen
from cinch_tui.screens.mcp_login import McpLoginScreen
from cinch_tui.screens.palette import Palette
from cinch_tui.screens.picker import Item, Picker
from cinch_tui.screens.plan_review import PlanScreen
from cinch_tui.screens.question import QuestionScreen
from cinch_tui.screens.reader import Reader
from cinch_tui.screens.session_browser import SessionBrowser
from cinch_tui.screens.settings import SettingsActions, SettingsScreen
from cinch_tui.screens.trust import TrustScreen
from cinch_tui.screens.welcome import UseKey, WelcomeScreen
from cinch_tui.trust.prompt import pending_question
from cinch_tui.widgets.item_list import ItemRow
from cinch_tui.widgets.panel_area import PanelArea
from harness.agent.agent import Agent
from harness.context.breakdown import ContextInputs
from harness.messages import AssistantMessage, Message, Text, user
from harness.permissions import Decision, Rule
from harness.ports.provider import ToolSpec
from harness.risk import Risk
from harness.session.search import SearchHit
from harness.session.snapshots import Snapshots
from harness.session.summary import SessionSummary
from harness.user_requests import ApprovalRequest, Plan, Question
from harness.workspace.workspace import Workspace
from providers.demo import scripted
from providers.model_catalog.local_servers import LocalServer

Show = Callable[[Pilot[object], CinchApp], Awaitable[None]]
SPOKEN = [Hang(Reply("The loader reads **every** line first, which is"), after_events=9)]
NOW = 1_790_000_000.0


@dataclass(frozen=True, slots=True)
class Stage:
    name: str
    screen: type[Screen[object]]
    show: Show


async def nothing_said(pilot: Pilot[object], app: CinchApp) -> None:
    del app
    await pilot.pause()


async def conversation(pilot: Pilot[object], app: CinchApp) -> None:
    widgets = app.controller.view.widgets
    widgets.show(talk())
    widgets.status.status = replace(widgets.status.status, tokens_in=12_345, tokens_out=987, cost=0.1234)
    widgets.status.update_context(130_000, 200_000)
    await widgets.transcript.drained()
    await pilot.pause()


async def tools(pilot: Pilot[object], app: CinchApp) -> None:
    app.controller.view.widgets.show(work())
    await app.controller.view.widgets.transcript.drained()
    await pilot.pause()


async def streaming(pilot: Pilot[object], app: CinchApp) -> None:
    # The first prompt is part of the gauge if it is sent while the window's size is looked up.
    await until(pilot, lambda: all(worker.is_finished for worker in app.workers if worker.group == "open"))
    await pilot.press(*"why", "enter")
    await until(pilot, lambda: any("reads" in row for row in paint(app).rows))
    await pilot.press(*"and", "space", *"then")


async def queued(pilot: Pilot[object], app: CinchApp) -> None:
    await streaming(pilot, app)
    await pilot.press("alt+enter", *"commit", "alt+enter", *"more")
    app.controller.view.widgets.todo_panel.todo = TODO
    await pilot.pause()


async def panels(pilot: Pilot[object], app: CinchApp) -> None:
    await tools(pilot, app)
    app.controller.view.widgets.tool_panel._clock = lambda: NOW
    app.controller.view.widgets.tool_panel.started("1", "Run command", "make serve")
    app.controller.view.widgets.tool_panel.updated("1", "listening on 8000")
    await pilot.press("f10")
    await until(pilot, lambda: app.screen.query(PanelArea))
    app.screen.query_one(PanelArea).fill([ItemRow(name, detail) for name, detail in CHANGED], "", follow=False)
    await pilot.pause()


async def searching(pilot: Pilot[object], app: CinchApp) -> None:
    await tools(pilot, app)
    await pilot.press("ctrl+f", *"price")
    await app.controller.view.widgets.transcript.drained()
    await pilot.pause(0.1)


async def completing(pilot: Pilot[object], app: CinchApp) -> None:
    await conversation(pilot, app)
    await pilot.press("slash", "m")
    await pilot.pause(0.1)


async def pasted(pilot: Pilot[object], app: CinchApp) -> None:
    await conversation(pilot, app)
    app.controller.view.prompt.text = "Here is what I saw,\nand what it says in 中文:\n"
    app.controller.view.prompt.insert("line\n" * 40)
    await pilot.pause()


def offering(*rules: Rule) -> Decision:
    return Decision("ask", "it needs approval", Risk("execute"), offers=rules)


def approval(request: ApprovalRequest, *keys: str) -> Show:
    async def show(pilot: Pilot[object], app: CinchApp) -> None:
        await put(pilot, app, ApprovalScreen(request, grace=0))
        await pilot.press(*keys)

    return show


def asking(*questions: Question) -> Show:
    return lambda pilot, app: put(pilot, app, QuestionScreen(questions, grace=0))


async def plan(pilot: Pilot[object], app: CinchApp) -> None:
    await put(pilot, app, PlanScreen(Plan(PLAN), grace=0))


async def picker(pilot: Pilot[object], app: CinchApp) -> None:
    names = (
        "claude-sonnet-5-5",
        "claude-opus-5",
        "gpt-5.5",
        "qwen3:8b",
        "a-model-with-a-name-that-is-longer-than-most",
    )
    items = [Item(name, f"{200 + 100 * number}K  $3.00 / $15.00", name) for number, name in enumerate(names)]
    await put(pilot, app, Picker("Which model?", items, current=names[1]))


class GivenSessions(SavedSessions):
    """Sessions that exist in memory only."""

    def __init__(self, session: AgentSession, summaries: Sequence[SessionSummary]) -> None:
        super().__init__(session)
        self.cwd = Path("/shop")
        self._given = summaries

    async def list(self, *, everywhere: bool) -> Sequence[SessionSummary]:
        del everywhere
        return self._given

    async def update_index(self, should_stop: Callable[[], bool]) -> None:
        pass

    async def search(self, text: str, *, everywhere: bool) -> Sequence[SearchHit]:
        del text, everywhere
        return ()

    async def preview(self, path: Path, at: str = "") -> Sequence[Message]:
        del path, at
        return [user("Where are the prices?"), AssistantMessage((Text("In `price.py`."),), "played", "anthropic")]


async def sessions(pilot: Pilot[object], app: CinchApp) -> None:
    reported = (
        ("Mend the prices", 40.0, False),
        ("为什么这么慢？", 7_200.0, True),
        ("A title " * 20, 400_000.0, False),
    )
    summaries = [
        SessionSummary(
            Path(f"{size}.jsonl"), f"{size}", title, title, "/shop", "main", NOW - 500_000, NOW - before, size, locked
        )
        for size, (title, before, locked) in enumerate(reported, 1_000)
    ]
    browser = SessionBrowser(GivenSessions(app.controller, summaries), now=lambda: NOW)
    await put(pilot, app, browser)
    await until(pilot, lambda: "prices" in str(browser.query_one("#messages", Static).render()))


async def helping(pilot: Pilot[object], app: CinchApp) -> None:
    await conversation(pilot, app)
    await pilot.press("f1")
    await until(pilot, lambda: isinstance(app.screen, HelpScreen))


async def palette(pilot: Pilot[object], app: CinchApp) -> None:
    await conversation(pilot, app)
    await pilot.press("ctrl+p", *"mod")
    await until(
        pilot, lambda: isinstance(app.screen, Palette) and app.screen.query_one("#filter", Input).value == "mod"
    )


async def changes(pilot: Pilot[object], app: CinchApp) -> None:
    root = app.controller.options.cwd
    (root / "src").mkdir()
    (root / "src" / "price.py").write_text(EDIT.view.old)
    workspace = Workspace(root)
    originals = Snapshots(lambda: root.parent / "kept")
    workspace.on_change(originals.observe)
    await workspace.read("src/price.py")
    for path, text in (("src/price.py", EDIT.view.new), ("notes.md", "# Notes\n\nPrices are in cents.\n")):
        await workspace.write(path, text)
    await put(pilot, app, ChangesScreen(SessionChanges(originals, workspace, lambda _: None), "session"))


async def settings(pilot: Pilot[object], app: CinchApp) -> None:
    # A snapshot must not depend on the machine: the app runs in its folder.
    own, project = Path("config.toml"), Path("project.toml")
    own.write_text('[ui]\ntheme = "paper"  # by day\n\n[limits]\nmax_turns = 9\n')
    project.touch()
    sources = Sources(own, project, {}, Path("trust.json"), {})
    actions = SettingsActions(lambda *_: None, lambda _: None, {}, dict)
    await put(pilot, app, SettingsScreen(SettingStore(sources), actions))


async def context(pilot: Pilot[object], app: CinchApp) -> None:
    frame = ContextInputs(
        "You are cinch. " * 300, [ToolSpec("bash", "runs it " * 90, {})], "", size=200_000, reserve=16_000
    )
    agent = Agent(scripted("Hello."))
    agent.new_session(messages=SAID)
    edits = ContextEdits(agent, frame)
    await put(pilot, app, ContextScreen(edits.usage(), edits))


async def mcp(pilot: Pilot[object], app: CinchApp) -> None:
    await put(pilot, app, McpScreen(control(app.controller)))


async def mcp_tools(pilot: Pilot[object], app: CinchApp) -> None:
    await mcp(pilot, app)
    await pilot.press("enter")


async def mcp_login(pilot: Pilot[object], app: CinchApp) -> None:
    url = f"https://login.example.com/authorize?response_type=code&client_id=cinch&state={'4f' * 40}"
    request = SimpleNamespace(server="docs", url=url, host="login.example.com", is_encrypted=True)
    await put(pilot, app, McpLoginScreen(request))  # type: ignore[arg-type] what the screen reads


async def reader(pilot: Pilot[object], app: CinchApp) -> None:
    await put(pilot, app, Reader("make serve", lambda: "".join(f"request {number} done\n" for number in range(50))))


async def job_terminal(pilot: Pilot[object], app: CinchApp) -> None:
    await put(pilot, app, password_dialog())
    await pilot.press(*"secret")


async def job_screen(pilot: Pilot[object], app: CinchApp) -> None:
    await put(pilot, app, editor_dialog())


async def welcome(pilot: Pilot[object], app: CinchApp) -> None:
    async def find() -> Sequence[LocalServer]:
        return [LocalServer("ollama", "http://127.0.0.1:11434/v1", ("qwen3:8b",))]

    async def check(choice: UseKey) -> KeyAccepted:
        del choice
        return KeyAccepted()

    app.push_screen(WelcomeScreen(find, check, grace=0))
    await pilot.pause(0.1)


async def key_entry(pilot: Pilot[object], app: CinchApp) -> None:
    async def refuse(secret: str) -> KeyRefused:
        del secret
        return KeyRefused("Anthropic: invalid x-api-key (401)")

    note = "ANTHROPIC_API_KEY is set in the environment and wins over a stored key."
    await put(pilot, app, KeyEntry("API key for Anthropic", note, refuse))
    await pilot.press(*"sk-ant-0", "enter")


async def put(pilot: Pilot[object], app: CinchApp, screen: Screen[object]) -> None:
    await conversation(pilot, app)
    app.push_screen(screen)
    await pilot.pause(0.1)


async def confirmation(pilot: Pilot[object], app: CinchApp) -> None:
    await put(pilot, app, Confirmation("Revert src/price.py? (2 added, 1 removed)", yes="Revert", no="Keep"))


async def trust(pilot: Pilot[object], app: CinchApp) -> None:
    foreign_folder(app.controller.options.cwd)
    asked = pending_question(app.controller.options)
    assert asked is not None
    await put(pilot, app, TrustScreen(replace(asked, title="Do you trust the files in /src/shop?"), grace=0))


async def short_list(pilot: Pilot[object], app: CinchApp) -> None:
    choices = [("Remove it", "the rest goes back to the prompt"), ("Send it anyway", "the model gets it")]
    await put(
        pilot, app, ShortList("Not sent yet: the text seems to contain an API key. What do you want to do?", choices)
    )


STAGES = (
    Stage("empty", ChatScreen, nothing_said),
    Stage("conversation", ChatScreen, conversation),
    Stage("tools", ChatScreen, tools),
    Stage("streaming", ChatScreen, streaming),
    Stage("queue", ChatScreen, queued),
    Stage("panels", ChatScreen, panels),
    Stage("searching", ChatScreen, searching),
    Stage("completing", ChatScreen, completing),
    Stage("pasted", ChatScreen, pasted),
    Stage(
        "approval-of-an-edit",
        ApprovalScreen,
        approval(replace(EDIT, decision=offering(Rule("edit_file")), is_revisable=True)),
    ),
    Stage("approval-by-hunk", ApprovalScreen, approval(replace(EDIT, is_revisable=True), "h", "n")),
    Stage(
        "approval-of-a-command",
        ApprovalScreen,
        approval(replace(COMMAND, decision=offering(Rule("bash", "python check.py:*")))),
    ),
    Stage("approval-of-danger", ApprovalScreen, approval(DANGER)),
    Stage("approval-of-several", ApprovalScreen, approval(SEVERAL)),
    Stage("question", QuestionScreen, asking(QUESTION)),
    Stage("question-in-words", QuestionScreen, asking(OPEN_QUESTION)),
    Stage("questions", QuestionScreen, asking(*FORM)),
    Stage("plan", PlanScreen, plan),
    Stage("picker", Picker, picker),
    Stage("sessions", SessionBrowser, sessions),
    Stage("help", HelpScreen, helping),
    Stage("palette", Palette, palette),
    Stage("changes", ChangesScreen, changes),
    Stage("settings", SettingsScreen, settings),
    Stage("context", ContextScreen, context),
    Stage("mcp", McpScreen, mcp),
    Stage("mcp-tools", McpScreen, mcp_tools),
    Stage("mcp-login", McpLoginScreen, mcp_login),
    Stage("reader", Reader, reader),
    Stage("job-terminal", JobTerminal, job_terminal),
    Stage("job-screen", JobTerminal, job_screen),
    Stage("confirmation", Confirmation, confirmation),
    Stage("short_list", ShortList, short_list),
    Stage("key-entry", KeyEntry, key_entry),
    Stage("trust", TrustScreen, trust),
    Stage("welcome", WelcomeScreen, welcome),
)
