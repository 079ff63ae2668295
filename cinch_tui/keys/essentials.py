"""The most important keys, shown at the top of the help."""

from __future__ import annotations

from collections.abc import Iterator

from cinch_tui.keys.keymap import label_of

_TYPED = (
    ("@", "attach a file or folder of the project"),
    ("!", "run a shell command; its output is sent with your next prompt (!! keeps it private)"),
    ("/", "run a command; Tab completes it"),
)
_PRESSED = (
    (("prompt.submit",), "send; during a run: steer the agent"),
    (("prompt.follow_up",), "queue a follow-up message for the end of the run"),
    (("chat.abort",), "stop the agent"),
    (("approval.once", "approval.deny"), "allow or deny a call"),
    (("chat.toggle_plan",), "plan mode on or off: read-only until you accept a plan"),
    (("chat.leave",), "twice in an empty prompt: quit"),
)


def essentials() -> Iterator[tuple[str, str]]:
    """Yield the most important inputs and keys with their descriptions."""
    yield from _TYPED
    for ids, description in _PRESSED:
        if label := " / ".join(filter(None, map(label_of, ids))):
            yield label, description
