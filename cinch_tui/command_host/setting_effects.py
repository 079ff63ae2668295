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

_READ_WHEN_NEEDED = frozenset({"ui.editor", "ui.show_last_exchange", "ui.status_interval_s"})
# What an agent is told when it begins a run.
_OF_A_RUN = ("limits.", "retry.", "prompt_cache.", "subagents.", "steering.")
_OF_TOOLS = frozenset({"tools.concurrency", "tools.batch_size", "tools.timeout_s", "tools.max_result_chars"})


def when(name: str) -> str:
    """When a change of this setting counts, in words."""
    if name in _EFFECTS or name in _READ_WHEN_NEEDED:
        return AT_ONCE
    if name in _OF_TOOLS or name == "model.max_tokens" or name.startswith(_OF_A_RUN):
        return NEXT_PROMPT
    return NEXT_START


def apply(controller: SessionController, settings: Settings, touched: Set[str]) -> None:
    """Let these settings be in force, as far as that can be; `touched` are those that were changed.

    Raises:
        CinchError: one of them cannot be used.
    """
    controller.settings = settings
    for name in touched & _EFFECTS.keys():
        _EFFECTS[name](controller)
    if any(when(name) == NEXT_PROMPT for name in touched):
        _retune(controller)


def live(controller: SessionController) -> dict[str, object]:
    """What is so in this session, whatever the settings say, by their names."""
    from cinch_tui.command_host.reports import live_settings

    transcript = controller.screen.widgets.transcript
    return {
        **live_settings(controller.agent),
        "ui.theme": theme_switch_of(controller).shown,
        "ui.timestamps": transcript.ways.stamps,
        "ui.vim": controller.screen.prompt.uses_vim,
        "ui.show_thinking": shows_thinking(controller),
    }


def _theme(controller: SessionController) -> None:
    from cinch_tui.terminal.first_picture import forget_pictures

    theme_switch_of(controller).choose(controller.settings.ui.theme)
    forget_pictures(controller.options)
    controller.screen.keep_picture()


def _status(controller: SessionController) -> None:
    from cinch_tui.widgets.status_bar import Arrangement

    ui = controller.settings.ui
    controller.app.animation_level = "full" if ui.motion == "full" else "none"
    controller.screen.widgets.status.rearrange(Arrangement(ui.status, moves=ui.motion == "full"))
    controller.show_figures()


def _status_command(controller: SessionController) -> None:
    """The next turn runs the new one; what another said is gone at once."""
    bar = controller.screen.widgets.status
    bar.status = replace(bar.status, told="")


def _vim(controller: SessionController) -> None:
    controller.screen.prompt.uses_vim = controller.settings.ui.vim


def _times(controller: SessionController) -> None:
    transcript = controller.screen.widgets.transcript
    transcript.ways = replace(transcript.ways, stamps=controller.settings.ui.timestamps)


def _thinking(controller: SessionController) -> None:
    controller.agent.set_thinking(controller.settings.model.thinking)


def _show_thinking(controller: SessionController) -> None:
    show_thinking(controller, shown=controller.settings.ui.show_thinking)


def divide_diffs(controller: SessionController) -> None:
    """Have diffs stand side by side from the width that is set."""
    wanted = controller.settings.ui.side_by_side_min_columns
    cells = max(1, wanted - BESIDE_A_DIFF) if wanted else NEVER
    app = controller.app
    app.stylesheet.add_source(
        f"App .diff--split {{ min-width: {cells}; }}", read_from=("ui.side_by_side_min_columns", "")
    )
    app.stylesheet.reparse()
    app.refresh_css(animate=False)


def set_approval(controller: SessionController, mode: ApprovalMode) -> None:
    """What needs no question from now on, and the word for it in the status line."""
    controller.agent.state.approval = mode
    bar = controller.screen.widgets.status
    bar.status = replace(bar.status, approval=mode)


def _approval(controller: SessionController) -> None:
    set_approval(controller, controller.settings.approval.mode)


_EFFECTS: dict[str, Callable[[SessionController], None]] = {
    "ui.theme": _theme,
    "ui.motion": _status,
    "ui.status": _status,
    "ui.status_command": _status_command,
    "ui.timestamps": _times,
    "ui.vim": _vim,
    "ui.side_by_side_min_columns": divide_diffs,
    "ui.show_thinking": _show_thinking,
    "model.thinking": _thinking,
    "approval.mode": _approval,
}


def _retune(controller: SessionController) -> None:
    """Have the agent begin its next run as is set now."""
    from cinch_tui.config.agent_options import agent_options

    agent, wanted = controller.agent, agent_options(controller.settings, headless=False)
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


def theme_switch_of(controller: SessionController) -> ThemeSwitch:
    """The themes of the app.

    Raises:
        CinchError: it has none.
    """
    from cinch_tui.app.theme_switch import Themed

    if not isinstance(controller.app, Themed):
        raise CinchError("this app has no themes")
    return controller.app.theme_switch
