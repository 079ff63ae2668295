from __future__ import annotations

from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.talk import call, reply, tell

from harness.events import MessageEnd, SubagentEvent, UsageAdded
from harness.messages import AssistantMessage, Cost, Text, ToolResult, Usage, new_id, user
from harness.session.store import SessionStore
from harness.views import TodoItem, TodoView

STEPS = TodoView((TodoItem("read", "completed"), TodoItem("write", "in_progress")))


async def test_todo_list_and_totals_of_a_continued_session_are_those_it_had(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    app = chat(tmp_path, "-c")
    store = SessionStore(app.desk.options.paths.data, tmp_path, new_id())
    tell(store, user("go"), reply(call("a", "todo"), call("b", "delegate_sub_agent")))
    tell(store, ToolResult("a", "todo", (Text("Noted."),), view=TodoView((TodoItem("read", "pending"),))))
    store.store(SubagentEvent(call_id="b", event=MessageEnd(message=paid(1_000))))
    tell(store, ToolResult("b", "delegate_sub_agent", (Text("done"),)), reply(call("c", "todo")))
    tell(store, ToolResult("c", "todo", (Text("Noted."),), view=STEPS), paid(100))
    store.store(UsageAdded(model="anthropic/played", usage=Usage(10, cost=Cost(0.5))))
    store.close()

    async with app.run_test() as pilot:
        await ready(pilot, app)
        board = app.desk.screen.board
        await until(pilot, lambda: board.todo_panel.todo.items)

        assert board.todo_panel.todo == STEPS
        assert board.todo_panel.has_class("-has-work")
        usage = app.desk.agent.state.usage
        assert usage.input == 1_110
        assert usage.cost is not None
        assert usage.cost.total == 1.5
        await app.desk.load_session(store.path.stem)
        assert board.todo_panel.todo == STEPS
        assert app.desk.agent.state.usage == usage
        app.desk.new_session()
        assert board.todo_panel.todo == TodoView(())
        assert app.desk.agent.state.usage == Usage()


def paid(tokens: int) -> AssistantMessage:
    return AssistantMessage((Text("x"),), "played", "anthropic", Usage(tokens, cost=Cost(0.5)))
