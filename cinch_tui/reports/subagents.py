"""Subagents that files define, as text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cinch_tui.rendering.safe_text import one_line
from extensions.subagents import LoadedSubagents, Subagent


def subagents_report(loaded: LoadedSubagents, own_folder: Path) -> str:
    """Return the subagents with their tools, models and files, and problems with them, as Markdown.

    Args:
        loaded: The subagents.
        own_folder: Folder of the user's own subagents.
    """
    lines = [line for each in loaded.subagents for line in _lines(each)]
    problems = [f"- {problem}" for problem in loaded.problems]
    none = f"No subagents are defined in files. To define one, write {own_folder}/NAME.md; see docs/extending.md."
    return "\n".join([*(lines or [none]), *(["", "Problems:", "", *problems] if problems else [])])


def _lines(subagent: Subagent) -> Iterator[str]:
    yield f"- **{one_line(subagent.name)}** {one_line(subagent.description)}"
    model = f"model {one_line(subagent.model)}" if subagent.model else "the current model"
    turns = f"; at most {subagent.max_turns} turns" if subagent.max_turns else ""
    yield f"  - {_tools(subagent)}; {model}{turns}"
    yield f"  - `{one_line(str(subagent.path))}` ({subagent.root.level})"
    yield from (f"  - {note}" for note in subagent.notes)


def _tools(subagent: Subagent) -> str:
    listed = "all tools" if subagent.tools is None else f"tools {_names(subagent.tools)}"
    without = f" without {_names(subagent.denied_tools)}" if subagent.denied_tools else ""
    limits = " that change nothing" if subagent.is_read_only else "" if subagent.asks else " that need no approval"
    return listed + without + limits


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{one_line(name)}`" for name in names) or "none"
