"""What a changed setting does, and when: at once, from the next prompt, or from the next start."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import replace
from typing import TYPE_CHECKING

from cinch_tui.config.settings import Settings
from cinch_tui.controller.channels import show_thinking, shows_thinking
from harness.errors import CinchError

if TYPE_CHECKING:
    from cinch_tui.app.theme_switch import ThemeSwitch
    from cinch_tui.commands.host import ApprovalMode
    from cinch_tui.controller.controller import SessionController

AT_ONCE = "at once"
NEXT_PROMPT = "from the next prompt"
NEXT_START = "from the next start"

BESIDE_A_DIFF = 10
"""Cells of the screen that frames and scroll bars take."""
NEVER = 1_000_000

_READ_WHEN_NEEDED = frozenset({"ui.editor", "ui.show_last_exchange", "ui.status_seconds"})
# What an agent is told when it begins a run.
_OF_A_RUN = ("limits.", "retry.", "cache.", "agents.", "steering.")
_OF_TOOLS = frozenset({"tools.concurrency", "tools.batch_size", "tools.timeout_s", "tools.max_result_chars"})


def when(name: str) -> str:
    """When a change of this setting counts, in words."""
    if name in _EFFECTS or name in _READ_WHEN_NEEDED:
        return AT_ONCE
    if name in _OF_TOOLS or name == "model.max_tokens" or name.startswith(_OF_A_RUN):
        return NEXT_PROMPT
    return NEXT_START


def apply(desk: SessionController, settings: Settings, touched: Set[str]) -> None:
    """Let these settings be in force, as far as that can be; `touched` are those that were changed.

    Raises:
        CinchError: one of them cannot be used.
    """
    desk.settings = settings
    for name in touched & _EFFECTS.keys():
        _EFFECTS[name](desk)
    if any(when(name) == NEXT_PROMPT for name in touched):
        _retune(desk)


def live(desk: SessionController) -> dict[str, object]:
    """What is so in this session, whatever the settings say, by their names."""
    from cinch_tui.command_host.reports import live_settings

    transcript = desk.screen.board.transcript
    return {
        **live_settings(desk.agent),
        "ui.theme": theme_switch_of(desk).shown,
        "ui.timestamps": transcript.ways.stamps,
        "ui.vim": desk.screen.prompt.uses_vim,
        "ui.show_thinking": shows_thinking(desk),
    }


def _theme(desk: SessionController) -> None:
    from cinch_tui.terminal.first_picture import forget_pictures

    theme_switch_of(desk).choose(desk.settings.ui.theme)
    forget_pictures(desk.options)
    desk.screen.keep_picture()


def _status(desk: SessionController) -> None:
    from cinch_tui.widgets.status_bar import Arrangement

    ui = desk.settings.ui
    desk.app.animation_level = "full" if ui.motion == "full" else "none"
    desk.screen.board.status.rearrange(Arrangement(ui.status, moves=ui.motion == "full"))
    desk.show_figures()


def _status_command(desk: SessionController) -> None:
    """The next turn runs the new one; what another said is gone at once."""
    bar = desk.screen.board.status
    bar.status = replace(bar.status, told="")


def _vim(desk: SessionController) -> None:
    desk.screen.prompt.uses_vim = desk.settings.ui.vim


def _times(desk: SessionController) -> None:
    transcript = desk.screen.board.transcript
    transcript.ways = replace(transcript.ways, stamps=desk.settings.ui.timestamps)


def _thinking(desk: SessionController) -> None:
    desk.agent.set_thinking(desk.settings.model.thinking)


def _show_thinking(desk: SessionController) -> None:
    show_thinking(desk, shown=desk.settings.ui.show_thinking)


def divide_diffs(desk: SessionController) -> None:
    """Have diffs stand side by side from the width that is set."""
    wanted = desk.settings.ui.side_by_side
    cells = max(1, wanted - BESIDE_A_DIFF) if wanted else NEVER
    app = desk.app
    app.stylesheet.add_source(f"App .diff--split {{ min-width: {cells}; }}", read_from=("ui.side_by_side", ""))
    app.stylesheet.reparse()
    app.refresh_css(animate=False)


def set_approval(desk: SessionController, mode: ApprovalMode) -> None:
    """What needs no question from now on, and the word for it in the status line."""
    desk.agent.state.approval = mode
    bar = desk.screen.board.status
    bar.status = replace(bar.status, approval=mode)


def _approval(desk: SessionController) -> None:
    set_approval(desk, desk.settings.approval.mode)


_EFFECTS: dict[str, Callable[[SessionController], None]] = {
    "ui.theme": _theme,
    "ui.motion": _status,
    "ui.status": _status,
    "ui.status_command": _status_command,
    "ui.timestamps": _times,
    "ui.vim": _vim,
    "ui.side_by_side": divide_diffs,
    "ui.show_thinking": _show_thinking,
    "model.thinking": _thinking,
    "approval.mode": _approval,
}


def _retune(desk: SessionController) -> None:
    """Have the agent begin its next run as is set now."""
    from cinch_tui.config.agent_options import agent_options

    agent, wanted = desk.agent, agent_options(desk.settings, headless=False)
    agent.options = replace(
        agent.options,
        limits=wanted.limits,
        retry=wanted.retry,
        cache=wanted.cache,
        steering_mode=wanted.steering_mode,
        execution=wanted.execution,
        subagents=wanted.subagents,
    )
    agent.state.max_tokens = wanted.max_tokens
    agent.inbox.steering.mode = wanted.steering
    agent.inbox.follow_up.mode = wanted.follow_up


def theme_switch_of(desk: SessionController) -> ThemeSwitch:
    """The themes of the app.

    Raises:
        CinchError: it has none.
    """
    from cinch_tui.app.theme_switch import Themed

    if not isinstance(desk.app, Themed):
        raise CinchError("this app has no themes")
    return desk.app.theme_switch
