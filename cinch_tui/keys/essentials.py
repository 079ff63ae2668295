"""The few things to know first: what the help opens with."""

from __future__ import annotations

from collections.abc import Iterator

from cinch_tui.keys.keymap import label_of

_TYPED = (
    ("@", "name a file or folder of the project"),
    ("!", "run a shell command; the model sees its output with your next prompt (!! keeps it private)"),
    ("/", "run a command; Tab completes it"),
)
_PRESSED = (
    (("prompt.submit",), "send; while the agent works, steer it"),
    (("prompt.follow_up",), "queue a message for when the agent is done"),
    (("chat.abort",), "stop the agent"),
    (("approval.once", "approval.deny"), "allow or deny the call you are asked about"),
    (("chat.toggle_plan",), "plan mode on or off: plan first, change nothing"),
    (("chat.leave",), "twice in an empty prompt: quit"),
)


def essentials() -> Iterator[tuple[str, str]]:
    """What is typed or pressed, with the user's own keys, and what it does."""
    yield from _TYPED
    for ids, description in _PRESSED:
        if label := " / ".join(filter(None, map(label_of, ids))):
            yield label, description
