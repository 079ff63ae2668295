"""Window on the open file, which `open`, `goto` and `scroll` move; and the base of the tools that share it."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar

from msgspec import Struct

from harness.ports.tool import SharedStateTool, ToolContext, ToolOutput
from harness.risk import Risk
from harness.terminal_text import strip_escapes
from harness.views import TextView
from harness.workspace.excerpt import Excerpt
from tools.post_edit import PostEditStep
from tools.read import language_of
from tools.typed import Parameters, TypedTool

LINES = 1_000
"""Lines that the window shows."""
LINES_AFTER_EDIT = 100
"""Lines that it shows once the file was edited, until another file is opened."""
LONGEST_LINE = 2_000

P = TypeVar("P", bound=Parameters)


class NoParameters(Parameters):
    pass


class Window(Struct):
    """The open file of a conversation, and the part of it that is shown."""

    path: str = ""
    """Path as it was given; empty if no file is open."""
    first: int = 1
    """First line, counted from 1."""
    lines: int = LINES
    """Number of lines."""
    opened: list[str] = []
    """All files that were opened, in order."""
    steps: Sequence[PostEditStep] = ()
    """Steps after each edit."""

    def open(self, path: str) -> None:
        if path != self.path:
            self.lines = LINES
        self.path, self.first = path, 1
        if path not in self.opened:
            self.opened.append(path)

    def center(self, line: int, total: int) -> None:
        """Move the window so that a line is in its middle, and so that it does not extend past the end."""
        self.first = max(1, min(line - self.lines // 2, total - self.lines + 1))

    def edited(self, path: str, line: int) -> None:
        """Show fewer lines of a file, around one that was edited."""
        if path == self.path:
            self.lines = LINES_AFTER_EDIT
            self.first = max(1, line - self.lines // 2)

    def moved(self, source: str, destination: str) -> None:
        """Follow a file to its new path."""
        if self.path == source:
            self.path = destination
        self.opened = [destination if each == source else each for each in self.opened]


class CatsTool(TypedTool[P]):
    """A tool of the dialect."""

    text: ClassVar[str]
    """Description for the model."""

    def __init__(self, window: Window) -> None:
        self.window = window

    @property
    def description(self) -> str:
        return self.text

    def renewed_with(self, states: dict[int, object]) -> Self:
        """Return this tool with a window of another agent, which its other tools have as well."""
        window = states.setdefault(id(self.window), Window(steps=self.window.steps))
        assert isinstance(window, Window)
        other = copy(self)
        other.window = window
        return other


class WindowTool(CatsTool[P]):
    """A tool that shows the open file."""

    def risk_of(self, arguments: P) -> Risk:
        path = getattr(arguments, "path", self.window.path)
        # The order of calls matters, since each moves the window.
        return Risk("read", paths=(path,) if path else (), access="exclusive", rule_name="read_file")

    async def shown(self, context: ToolContext, note: str = "") -> ToolOutput:
        """Return the lines in the window; the file counts as read."""
        window = self.window
        real = context.workspace.resolve(window.path)
        file = await context.workspace.read(real)
        lines = file.text.split("\n")
        if lines[-1] == "":
            lines.pop()
        window.first = max(1, min(window.first, len(lines)))
        kept = tuple(lines[window.first - 1 : window.first - 1 + window.lines])
        return _output(
            context, window, Excerpt(kept, window.first, len(lines), file.encoding, file.newline, file.size), note
        )

    @staticmethod
    def nothing_open() -> ToolOutput:
        return ToolOutput.failure("No file is open. Use open first.")


def _output(context: ToolContext, window: Window, excerpt: Excerpt, note: str) -> ToolOutput:
    path = context.workspace.display(context.workspace.resolve(window.path))
    shown: list[str] = []
    left = context.output_limit(100_000)
    for number, line in enumerate(excerpt.lines, excerpt.first):
        text = line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}[… line cut at {LONGEST_LINE} characters]"
        left -= len(text) + 8
        if left < 0 and shown:
            break
        shown.append(f"{number:4} | {text}")
    last = excerpt.first + len(shown) - 1
    head = f"[{path}, lines {excerpt.first}-{last} of {excerpt.total}]" if shown else f"[{path} is empty]"
    return ToolOutput.text(
        "\n".join(part for part in (note, head, *shown) if part),
        view=TextView(strip_escapes("\n".join(excerpt.lines[: len(shown)])), language_of(path)),
        details={"path": path, "first": excerpt.first, "last": last, "total": excerpt.total},
    )


if TYPE_CHECKING:
    _: type[SharedStateTool] = CatsTool
