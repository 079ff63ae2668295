"""Text of models, tools and files that would deceive the reader, in every place where it is drawn."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.decisions import needs_approval

from cinch_tui.plain.interaction import _content  # pyright: ignore[reportPrivateUsage] the text of its dialog
from cinch_tui.plain.line_writer import LineWriter
from cinch_tui.print_mode.output import Output
from cinch_tui.rendering.code import shown_lines
from cinch_tui.rendering.safe_text import error_line, one_line, plain_output
from cinch_tui.terminal.window_title import WindowTitle
from cinch_tui.transcript.blocks import (
    NoticeBlock,
    ReplyBlock,
    SideQuestionBlock,
    ThinkingBlock,
    ToolBlock,
    TranscriptBlock,
    UserBlock,
)
from cinch_tui.transcript.layout import START, Layout
from cinch_tui.transcript.styles import BlockStyles
from cinch_tui.user_dialogs.approval_options import call_title
from cinch_tui.widgets.prompt.completion import Candidate
from cinch_tui.widgets.prompt.pastes import typeable
from cinch_tui.widgets.status_bar import Status, parts_of
from harness.messages import ToolCall
from harness.risk import Risk
from harness.terminal_text import FragmentEscaper, escape_controls
from harness.user_requests import ApprovalRequest
from harness.views import DiffView, ListingView, TerminalView, TextView, View

HOSTILE = "a\x9bb\u202ec\u2066d\u200be\u00adf\U000e0041g\ufe0fh\u3164i\u2060j"
SHOWN = "a⟨U+009B⟩b⟨U+202E⟩c⟨U+2066⟩d⟨U+200B⟩e⟨U+00AD⟩f⟨U+E0041⟩g⟨U+FE0F⟩h⟨U+3164⟩i⟨U+2060⟩j"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(block: TranscriptBlock) -> str:
    layout = Layout(BlockStyles.bare())
    layout.width = 200
    if block.foldable:
        block.folded = False
    layout.extend([block])
    return "\n".join(row.line.text for row in layout.rows(START, 100))


def tool(view: View) -> ToolBlock:
    block = ToolBlock("1", "Run", "x")
    block.status, block.view, block.folded = "done", view, False
    return block


def side_question(text: str) -> SideQuestionBlock:
    block = SideQuestionBlock("why")
    for character in text:
        block.append(character)
    block.finish()
    return block


def streamed(text: str) -> ReplyBlock:
    block = ReplyBlock()
    for character in text:
        block.append(character)
    block.finish()
    return block


def plain_line(text: str) -> str:
    stream = io.StringIO()
    writer = LineWriter(stream)
    writer.begin("cinch")
    for character in text:
        writer.add(character)
    writer.end()
    return stream.getvalue()


def printed(text: str) -> str:
    stream = Terminal()
    Output(stream).write_text(text)
    return stream.getvalue()


def request(text: str, view: View | None = None) -> ApprovalRequest:
    call = ToolCall("1", "bash", {"command": text})
    return ApprovalRequest(call, "Run", text, needs_approval(Risk("execute")), view=view, cwd=Path("/work"))


SINKS: dict[str, Callable[[str], str]] = {
    "user message": lambda text: drawn(UserBlock(text)),
    "reply": lambda text: drawn(ReplyBlock(text)),
    "streamed reply": lambda text: drawn(streamed(text)),
    "code in a reply": lambda text: drawn(ReplyBlock(f"```\n{text}\n```")),
    "thinking": lambda text: drawn(ThinkingBlock(text)),
    "notice": lambda text: drawn(NoticeBlock(text)),
    "side question": lambda text: drawn(side_question(text)),
    "call": lambda text: drawn(ToolBlock("1", text, text)),
    "command": lambda text: drawn(tool(TerminalView(text, "", 0))),
    "file": lambda text: drawn(tool(TextView(text, ""))),
    "file list": lambda text: drawn(tool(ListingView("files", (text,), 1))),
    "diff": lambda text: drawn(tool(DiffView("a.txt", None, text))),
    "title of a dialog": lambda text: call_title(request(text)),
    "command in a dialog": lambda text: "\n".join(shown_lines(text)),
    "command in plain mode": lambda text: "\n".join(_content(request(text, TerminalView(text, "")))[1]),
    "name in a list": one_line,
    "error": error_line,
    "completion": lambda text: Candidate(text).label,
    "paste": typeable,
    "window title": lambda text: WindowTitle(text, is_wanted=True).showing("idle").removeprefix("\x1b"),
    "status bar": lambda text: " ".join(part.text for part in parts_of(Status(model=text, branch=text), None)),
    "plain mode": plain_line,
}


OUTPUTS = ("name in a list", "error", "title of a dialog", "call", "file")


@pytest.mark.parametrize("sink", SINKS)
def test_characters_that_deceive_are_shown_as_code_points(sink: str) -> None:
    # A CSI sequence of command output is removed, so that the letter after it is lost.
    text = HOSTILE if sink not in OUTPUTS else HOSTILE.replace("\x9b", "")
    shown = SHOWN if text == HOSTILE else SHOWN.replace("⟨U+009B⟩", "")

    assert shown in SINKS[sink](text)


def test_print_mode_shows_characters_that_deceive_in_a_terminal() -> None:
    assert printed(HOSTILE.replace("\x9b", "")) == SHOWN.replace("⟨U+009B⟩", "") + "\n"


def test_command_output_shows_characters_that_deceive() -> None:
    assert plain_output("ok\u200b\x1b]8;;https://evil.example\x07label\x1b]8;;\x07") == "ok⟨U+200B⟩label"


VISIBLE = (
    *(
        "👩\u200d👩\u200d👧",
        "❤\ufe0f ©\ufe0f 1\ufe0f\u20e3",
        "🏳\ufe0f\u200d🌈",
        "می\u200cخواهم",
        "क्\u200dष",
        "⠁\u2800⠂",
    ),
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
)


@pytest.mark.parametrize("text", VISIBLE)
def test_parts_of_emoji_letters_and_pictures_stay(text: str) -> None:
    assert escape_controls(text) == text


@pytest.mark.parametrize("text", [*VISIBLE, HOSTILE, "a\u200d", "🏴\U000e0067", "\u2800"])
def test_fragments_are_escaped_like_the_text_they_make_up(text: str) -> None:
    for place in range(len(text) + 1):
        escaper = FragmentEscaper()
        shown = escaper.add(text[:place]) + escaper.add(text[place:]) + escaper.end()

        assert shown == escape_controls(text), place
