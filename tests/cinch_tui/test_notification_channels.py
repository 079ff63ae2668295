from __future__ import annotations

import pytest

from cinch_tui.config.tables.ui import CallKind
from cinch_tui.notifications.channels import Notification, desktop_command, known_kind, terminal_output

CALL = Notification.about("shop", "needs approval")
NINE = "\x1b]9;cinch – shop: needs approval\x07"
SEVENS = "\x1b]777;notify;cinch – shop;needs approval\x07"
NINETY_NINE = "\x1b]99;i=cinch:o=unfocused:d=0;cinch – shop\x07\x1b]99;i=cinch:o=unfocused:p=body;needs approval\x07"


@pytest.mark.parametrize(
    ("environ", "kind"),
    [
        ({}, "bell"),
        ({"TERM": "xterm-256color"}, "bell"),
        ({"TERM_PROGRAM": "Apple_Terminal"}, "bell"),
        ({"TERM_PROGRAM": "iTerm.app"}, "osc9"),
        ({"TERM_PROGRAM": "tmux", "LC_TERMINAL": "iTerm2"}, "osc9"),
        ({"TERM_PROGRAM": "WezTerm"}, "osc777"),
        ({"TERM_PROGRAM": "ghostty"}, "osc777"),
        ({"TERM": "foot-extra"}, "osc777"),
        ({"TERM": "xterm-kitty"}, "osc99"),
        ({"TERM": "tmux-256color", "KITTY_WINDOW_ID": "1"}, "osc99"),
    ],
)
def test_a_terminal_is_called_by_what_it_is_known_to_understand(environ: dict[str, str], kind: CallKind):
    assert known_kind(environ) == kind


@pytest.mark.parametrize(
    ("kinds", "environ", "sequence"),
    [
        (("auto",), {}, "\x07"),
        (("auto",), {"TERM": "xterm-kitty"}, NINETY_NINE),
        (("bell",), {"TERM": "xterm-kitty"}, "\x07"),
        (("osc9",), {}, NINE),
        (("osc777", "bell"), {}, SEVENS + "\x07"),
        (("auto", "osc9"), {"TERM_PROGRAM": "iTerm.app"}, NINE),
        (("desktop",), {}, ""),
        (("off",), {}, ""),
        (("auto", "off"), {}, ""),
        ((), {}, ""),
        (("auto",), {"TMUX": "/tmp/x"}, "\x07"),
        (("osc9",), {"TMUX": "/tmp/x"}, f"\x1bPtmux;\x1b{NINE}\x1b\\"),
        (("auto",), {"TMUX": "/tmp/x", "LC_TERMINAL": "iTerm2"}, f"\x1bPtmux;\x1b{NINE}\x1b\\\x07"),
        (("osc777",), {"STY": "1.x"}, f"\x1bP{SEVENS}\x1b\\"),
    ],
)
def test_notification_sequence_depends_on_settings_and_terminal(
    kinds: tuple[CallKind, ...], environ: dict[str, str], sequence: str
):
    assert terminal_output(kinds, CALL, environ) == sequence


def test_no_project_name_can_end_or_start_a_sequence():
    call = Notification.about("a;b\x07\x1b]52;c;QQ==\x07\x9d\n" + "x" * 200, "waits\x1b\\")

    for kinds in (("osc9",), ("osc777",), ("osc99",)):
        sequence = terminal_output(kinds, call, {})
        inside = sequence.replace("\x1b]", "").replace("\x07", "")
        assert inside.isprintable()
        assert sequence.count("\x07") == sequence.count("\x1b") == (2 if kinds == ("osc99",) else 1)
    assert ";" not in call.title
    assert len(call.title) <= 80


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_notification_programs_receive_text_as_arguments_and_never_as_a_script(platform: str):
    call = Notification.about('"; rm -rf ~; "', "--urgent")

    command, reported = desktop_command(call, platform)

    scripts = [part for part in command if part not in (call.title, call.text)]
    assert not any("rm -rf" in part for part in scripts)
    assert call.title in (*command, *reported.values())
    if platform == "linux":
        assert command.index("--") < command.index(call.text)
