"""Tables about what the user sees: the app and saved sessions."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Struct

from cinch_tui.config.setting import NEXT_START, Setting, held

Motion: TypeAlias = Literal["full", "reduced"]
StatusItem: TypeAlias = Literal[
    "state", "plan", "approval", "queue", "note", "model", "tokens", "cost", "branch", "command", "context"
]
Images: TypeAlias = Literal["auto", "kitty", "blocks", "off"]
CallKind: TypeAlias = Literal["auto", "bell", "osc9", "osc777", "osc99", "desktop", "off"]


class SessionSettings(Struct, frozen=True):
    titles: Annotated[
        bool, held("write titles of new sessions: one call to a cheap model after the first exchange")
    ] = True
    title_model: Annotated[
        str, held("model for titles as provider/model; empty: the cheap model of the provider in use, if known")
    ] = ""


class UiSettings(Struct, frozen=True):
    theme: Annotated[str, Setting("color theme; auto: light or dark to match the terminal; /theme lists all")] = "auto"
    plain: Annotated[
        bool,
        Setting(
            "plain line output instead of the full-screen app, for screen readers and dumb terminals",
            applies=NEXT_START,
        ),
    ] = False
    motion: Annotated[Motion, Setting("full, or reduced: no animations")] = "full"
    status: Annotated[
        tuple[StatusItem, ...], Setting("items of the status bar, from left to right; context is always last")
    ] = ("state", "plan", "approval", "queue", "note", "model", "tokens", "cost", "branch", "command", "context")
    status_command: Annotated[
        str, held("command for the status bar: receives JSON after each turn and prints one line")
    ] = ""
    status_interval_s: Annotated[float, Setting("minimum time between two runs of it, in seconds", 1)] = 5.0
    title: Annotated[
        bool, Setting("show the project and the agent's state in the window title", applies=NEXT_START)
    ] = True
    timestamps: Annotated[bool, Setting("show the time of each message on the right")] = False
    images: Annotated[
        Images,
        Setting(
            "images: kitty: kitty graphics protocol; blocks: half-block characters; "
            "off: a placeholder; auto: the best the terminal supports",
            applies=NEXT_START,
        ),
    ] = "auto"
    show_thinking: Annotated[bool, Setting("show the model's thinking, where available")] = True
    show_last_exchange: Annotated[bool, Setting("print the last prompt and reply on exit")] = True
    side_by_side_min_columns: Annotated[
        int, Setting("terminal width from which diffs are shown side by side, in columns; 0: only on key press", 0)
    ] = 160
    notify: Annotated[
        tuple[CallKind, ...],
        Setting(
            "notifications while the terminal is unfocused: auto (what the terminal supports), "
            "bell, osc9, osc777, osc99, desktop; off: none",
            applies=NEXT_START,
        ),
    ] = ("auto",)
    notify_after_s: Annotated[
        float, Setting("notify at the end of a run that took at least this long, in seconds", 0, applies=NEXT_START)
    ] = 10.0
    vim: Annotated[bool, Setting("vi key bindings in the prompt; /vim toggles them")] = False
    editor: Annotated[str, held("command for /editor; empty: $EDITOR, $VISUAL, or vi")] = ""
    editor_sends: Annotated[
        bool, held("send the prompt when the editor exits with saved changes", applies=NEXT_START)
    ] = False
