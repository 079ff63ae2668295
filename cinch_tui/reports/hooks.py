"""Hooks of the user as text: the list, and the results of tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cinch_tui.rendering.safe_text import one_line
from extensions.hooks.config import EVENTS

if TYPE_CHECKING:
    from extensions.hooks.config import HookHandler, LoadedHooks
    from extensions.hooks.dispatch import HookTrial

NO_HOOKS = "No hooks are configured; docs/extending.md describes them."
_SHOWN_CHARS = 2_000


def hooks_text(loaded: LoadedHooks | None) -> str:
    """Return the list of all hooks, as Markdown."""
    if loaded is None or not (loaded.handlers or loaded.unsupported or loaded.disabled_by):
        return NO_HOOKS
    lines: list[str] = []
    if loaded.disabled_by is not None:
        lines += [f"{_code(str(loaded.disabled_by))} turns hooks off, except those of the administrator.", ""]
    for event in EVENTS:
        found = [each for each in loaded.handlers if each.event == event]
        lines += [f"**{event}**", "", *map(_line, found), ""] if found else []
    others = [*loaded.problems, *loaded.unsupported]
    lines += ["**Not used**", "", *(f"- {_code(each)}" for each in others)] if others else []
    return "\n".join(lines).rstrip()


def trials_text(trials: Sequence[HookTrial]) -> str:
    """Return the results of a test, as Markdown."""
    return "\n\n".join("\n".join(_trial(each)) for each in trials)


def _line(handler: HookHandler) -> str:
    about = [f"{handler.source.level}, {_code(str(handler.source.path))}"]
    if handler.matcher:
        about.insert(0, f"matches {_code(handler.matcher)}")
    if handler.condition:
        about.append(f"if {_code(handler.condition)}")
    if handler.prompt:
        about.append(f"asks {_code(handler.model)}" if handler.model else "asks a small model")
    if handler.event == "TurnsElapsed":
        about.append(f"every {handler.turns} turns")
    if handler.in_background:
        about.append("in the background")
    if not handler.source.is_trusted:
        about.append("**not trusted, does not run**; /trust")
    return f"- {_code(handler.target)} · {' · '.join(about)}"


def _trial(trial: HookTrial) -> Iterator[str]:
    output, reply = trial.output, trial.reply
    ended = f"exit code {output.exit_code}" if output.exit_code is not None else "did not run to its end"
    ended = "a model answered" if output.is_answer else ended
    yield f"{_code(trial.handler.target)}: {ended}, {output.duration:.2f} s"
    yield ""
    decision = reply.permission or ("stop the run" if reply.stops else "none")
    yield f"- decision: {decision}{_and(reply.reason or reply.stop_reason)}"
    facts = {"context": reply.context, "message": reply.message, "problem": reply.problem}
    if reply.updated_input is not None:
        facts["new arguments"] = str(reply.updated_input)
    yield from (f"- {name}: {_code(text)}" for name, text in facts.items() if text)
    for name, text in (("Output", output.stdout), ("Standard error", output.stderr)):
        if text.strip():
            yield f"- {name.lower()}: {_code(text)}"


def _and(text: str) -> str:
    return f", {_code(text)}" if text else ""


def _code(text: str) -> str:
    """Return a text as code on one line."""
    shown = one_line(text.strip())[:_SHOWN_CHARS]
    ticks = "``" if "`" in shown else "`"
    space = " " if "`" in shown else ""
    return f"{ticks}{space}{shown.replace('``', '`')}{space}{ticks}"
