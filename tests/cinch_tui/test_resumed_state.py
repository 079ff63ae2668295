from __future__ import annotations

from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.talk import call, reply, tell
from msgspec.structs import replace

from cinch_tui.transcript.blocks import transcript_text
from cinch_tui.transcript.history_blocks import blocks_of
from cinch_tui.transcript.replies import ReplyBlock
from cinch_tui.transcript.tool_block import ToolBlock
from harness.approval.modes import EXECUTE, PLAN
from harness.events import MessageEnd, ModeChanged, SubagentEvent, UsageAdded
from harness.messages import AssistantMessage, Cost, ModelSpec, Text, ToolCall, ToolResult, Usage, new_id, user
from harness.session.fork import fork_session
from harness.session.recorder import SessionRecorder
from harness.session.resume import load_session
from harness.views import TerminalView, TodoItem, TodoView
from tools import builtin_tools

STEPS = TodoView((TodoItem("read", "completed"), TodoItem("write", "in_progress")))


async def test_todo_list_and_totals_of_a_continued_session_are_those_it_had(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    app = chat(tmp_path, "-c")
    store = SessionRecorder(app.controller.options.paths.data, tmp_path, new_id())
    tell(store, user("go"), reply(call("a", "todo"), call("b", "delegate_subagent")))
    tell(store, ToolResult("a", "todo", (Text("Noted."),), view=TodoView((TodoItem("read", "pending"),))))
    store.store(SubagentEvent(call_id="b", event=MessageEnd(message=paid(1_000))))
    tell(store, ToolResult("b", "delegate_subagent", (Text("done"),)), reply(call("c", "todo")))
    tell(store, ToolResult("c", "todo", (Text("Noted."),), view=STEPS), paid(100))
    store.store(UsageAdded(model="anthropic/played", usage=Usage(10, cost=Cost(0.5))))
    store.close()

    async with app.run_test() as pilot:
        await ready(pilot, app)
        widgets = app.controller.view.widgets
        await until(pilot, lambda: widgets.todo_panel.todo.items)

        assert widgets.todo_panel.todo == STEPS
        assert widgets.todo_panel.has_class("-has-work")
        usage = app.controller.agent.state.usage
        assert usage.input == 1_110
        assert usage.cost is not None
        assert usage.cost.total == 1.5
        await app.controller.load_session(store.path.stem)
        assert widgets.todo_panel.todo == STEPS
        assert app.controller.agent.state.usage == usage
        app.controller.new_session()
        assert widgets.todo_panel.todo == TodoView(())
        assert app.controller.agent.state.usage == Usage()


@pytest.mark.parametrize("forked", [False, True])
async def test_replies_of_plan_mode_are_marked_in_a_resumed_session(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, forked: bool
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    app = chat(tmp_path)
    data = app.controller.options.paths.data
    store = SessionRecorder(data, tmp_path, new_id())
    store.store(ModeChanged(mode="plan", time=100.0))
    tell(store, user("go"), replace(reply("planned"), time=101.0))
    store.store(ModeChanged(mode="execute", time=102.0))
    tell(store, replace(reply("done"), time=103.0), user("more"))
    store.store(ModeChanged(mode="plan", time=104.0))
    tell(store, replace(reply("planned again"), time=105.0))
    store.close()
    path = fork_session(store.path, new_id()) if forked else store.path

    async with app.run_test() as pilot:
        await ready(pilot, app)
        await app.controller.load_session(path.stem)
        transcript = app.controller.view.widgets.transcript

        tags = [block.tag for block in transcript.blocks if isinstance(block, ReplyBlock)]
        assert tags == ["PLAN", "", "PLAN"]


async def test_session_started_in_plan_mode_records_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    app = chat(tmp_path, "--plan")
    async with app.run_test() as pilot:
        await ready(pilot, app)
        store = app.controller.assembly.store
        assert store is not None
        tell(store, user("go"), reply("planned"))
        store.close()

        assert load_session(store.path).mode == "plan"


def paid(tokens: int) -> AssistantMessage:
    return AssistantMessage((Text("x"),), "played", "anthropic", Usage(tokens, cost=Cost(0.5)))


def test_former_tool_name_is_shown_with_its_label():
    call = ToolCall("a", "delegate_sub_agent", {"task": "Dig.", "name": "digger"})
    [block] = blocks_of([AssistantMessage((call,), "m", "demo")], builtin_tools())

    assert isinstance(block, ToolBlock)
    assert block.label == "Subagent"


async def test_jobs_of_an_earlier_process_are_reported_to_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    app = chat(tmp_path, "-c")
    store = SessionRecorder(app.controller.options.paths.data, tmp_path, new_id())
    started = ToolResult("a", "bash", (Text("…"),), details={"job_id": "job-1"}, view=TerminalView("make serve", ""))
    tell(store, user("serve it"), reply(call("a", "bash")), started, reply("It runs."))
    store.close()

    async with app.run_test() as pilot:
        await ready(pilot, app)
        shown = transcript_text(app.controller.view.widgets.transcript.blocks)

    assert "Background jobs that are no longer running: job-1 (make serve)." in shown


@pytest.mark.parametrize("named", [False, True])
async def test_resumed_session_has_its_model_and_mode(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, named: bool):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    # `chat` names a model as `-m` does.
    app = chat(tmp_path)
    store = SessionRecorder(app.controller.options.paths.data, tmp_path, "a-session")
    store.choose(ModelSpec("anthropic", "earlier", thinking="high"))
    tell(store, user("hi"), reply("hello"))
    store.close()

    async with app.run_test() as pilot:
        await ready(pilot, app)
        agent, assembly = app.controller.agent, app.controller.assembly
        if not named:
            assembly.settings = replace(assembly.settings, model=replace(assembly.settings.model, name=""))
        agent.set_mode(PLAN)
        await app.controller.load_session("a-session")
        spec = agent.state.model.spec

        assert (spec.name, spec.thinking) == (("anthropic/played", "off") if named else ("anthropic/earlier", "high"))
        assert agent.state.mode is EXECUTE

        agent.set_mode(PLAN)
        await app.controller.fork_session()
        assert agent.state.mode is PLAN
        assert agent.state.model.spec == spec
