"""Text that hooks add to the context, in the conversation."""

from __future__ import annotations

import pytest

from cinch_tui.reports.notices import reminder_title
from cinch_tui.transcript.blocks import HookContextBlock
from cinch_tui.transcript.history_blocks import user_message_blocks
from extensions.hooks.dispatch import context_text
from harness.messages import synthetic


def test_several_lines_are_folded_to_one_that_names_event_and_number():
    [block] = user_message_blocks(synthetic(context_text("SessionStart", "# Rules\n\n- one\n- two\n")))

    assert isinstance(block, HookContextBlock)
    assert (block.text, block.channel, block.folded, len(block.make_parts())) == (
        "[SessionStart hook: 4 lines]",
        "reminder",
        True,
        1,
    )
    block.folded = False
    assert [part.text for part in block.make_parts()] == ["", "# Rules\n\n- one\n- two"]


@pytest.mark.parametrize("text", ["[Stop hook]\nrun the tests", "[Task type: bug-fix]", "Look\nhere"])
def test_other_reminders_are_shown_as_they_are(text: str):
    [block] = user_message_blocks(synthetic(text))

    assert not block.foldable
    assert block.source == reminder_title(text)
