from __future__ import annotations

from cinch_tui.reports.context import section_sizes
from harness.context.attachments import OPENING
from harness.context.breakdown import ContextInputs, breakdown
from harness.messages import Message, Text, UserMessage


def test_attached_files_count_as_files_and_the_prompt_as_chat():
    attached = Text(f'{OPENING}src/a.py" extent="90 lines">\n{"x" * 4_000}\n</attached>')
    messages: list[Message] = [UserMessage((Text("Explain this." * 10), attached)), UserMessage((Text("And why?"),))]

    sizes = dict(section_sizes(breakdown(messages, ContextInputs())))

    assert sizes.keys() == {"files", "chat"}
    assert sizes["files"] > 1_000
    assert sizes["chat"] < 60
