from __future__ import annotations

from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.model_server import ModelServer
from fakes.panels import say
from fakes.script import Reply

from cinch_tui.reports.notices import looks_like_plan
from cinch_tui.transcript.blocks import NoticeBlock
from cinch_tui.widgets.prompt.input import PromptInput
from harness.agent.reminders import PLAN_MODE_OFF
from harness.approval.modes import EXECUTE, PLAN
from harness.messages import UserMessage


async def test_plan_written_as_a_reply_is_accepted_and_carried_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with ModelServer([Reply("1. Change a.py"), Reply("Done.")]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
        app = chat(tmp_path)
        async with app.run_test() as pilot:
            await ready(pilot, app)
            agent = app.controller.agent
            await say(pilot, app, "/plan", lambda: agent.state.mode is PLAN)
            blocks = app.controller.view.widgets.transcript.blocks
            await say(pilot, app, "plan it", lambda: any(isinstance(each, NoticeBlock) for each in blocks))
            await until(pilot, lambda: not agent.is_running)
            hints = [each.text for each in blocks if isinstance(each, NoticeBlock)]
            app.screen.query_one(PromptInput).text = "a draft"
            await pilot.press("alt+g")
            await until(pilot, lambda: len(server.requests) == 2)
            await until(pilot, lambda: not agent.is_running)

            sent = [each.text for each in agent.history.messages if isinstance(each, UserMessage)]
            assert agent.state.mode is EXECUTE
            assert hints[-1:] == ["Plan mode is on; Alt+G or /plan accept carries out the plan in this reply."]
            assert app.screen.query_one(PromptInput).text == "a draft"
            assert sent[-2].endswith("1. Change a.py")
            assert sent[-1] == PLAN_MODE_OFF


@pytest.mark.parametrize(
    ("text", "is_plan"),
    [
        ("Here is what I would do:\n\n1. Change a.py\n2. Test it", True),
        ("## Goal\n\nFaster.\n\n## Steps\n\nChange a.py", True),
        ("- Change a.py\n- Test it\n\nShall I go on?", True),
        ("The parser is in a.py, see line 1.", False),
        ("It has one caller:\n\n- b.py", False),
        ("", False),
    ],
)
def test_reply_with_steps_or_sections_looks_like_a_plan(text: str, is_plan: bool):
    assert looks_like_plan(text) is is_plan
