from __future__ import annotations

from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.model_server import ModelServer
from fakes.script import Reply
from textual.events import Paste

from cinch_tui.transcript.blocks import UserBlock
from cinch_tui.transcript.lines import StyledLine
from cinch_tui.transcript.styles import BlockStyles

PASTED = "".join(f"line {number}\n" for number in range(1, 301))


def drawn(block: UserBlock) -> list[StyledLine]:
    return [line for part in block.make_parts() for line in part.draw(BlockStyles.bare(), 80)]


def test_long_prompt_is_folded_to_its_first_lines_and_opens_again():
    block = UserBlock(PASTED)

    folded = [line.text for line in drawn(block)]
    block.folded = False
    opened = [line.text for line in drawn(block)]

    assert block.foldable
    assert folded[0] == "❯ line 1"
    assert folded[-1] == "  … 290 more lines"
    assert len(folded) == 11
    assert len(opened) == 300
    assert block.source == PASTED


@pytest.mark.parametrize("text", ["one line", "\n".join("abc")])
def test_short_prompt_is_not_foldable(text: str):
    assert not UserBlock(text).foldable
    assert not UserBlock(text).folded


async def test_up_brings_back_the_placeholder_of_a_paste(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    with ModelServer([Reply("heard"), Reply("heard again")]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        app = chat(tmp_path)
        async with app.run_test() as pilot:
            await ready(pilot, app)
            prompt = app.controller.view.prompt
            await pilot.press(*"see ")
            prompt.field.post_message(Paste(PASTED))
            await until(pilot, lambda: "pasted" in prompt.field.text)
            await pilot.press("enter")
            await until(pilot, lambda: app.controller.agent.history.prompts() and not app.controller.is_running)
            await pilot.press("up")
            await until(pilot, lambda: prompt.field.text)

            assert prompt.field.text == "see [pasted 300 lines]"
            assert prompt.text.strip() == f"see {PASTED}".strip()
            assert app.controller.view.widgets.transcript.blocks[0].folded
