"""Which arguments call for a subcommand, and which were probably meant to.

Loaded at every start with arguments: imports nothing.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

COMMANDS = ("sessions", "config", "models", "doctor", "keys", "reset-terminal")
_VERBS = {
    "sessions": ("list", "show", "search", "export", "import", "rename", "rm", "doctor"),
    "config": ("show", "path", "edit", "trust"),
}


def split_at_command(argv: Sequence[str], flags_with_value: Set[str]) -> tuple[list[str], str, list[str]]:
    """The options before a subcommand, its name, and its own arguments; the name is empty if there is none."""
    index = 0
    while index < len(argv) and argv[index].startswith("-") and argv[index] != "--":
        index += 2 if argv[index] in flags_with_value else 1
    if index < len(argv) and argv[index] in COMMANDS:
        return list(argv[:index]), argv[index], list(argv[index + 1 :])
    return list(argv), "", []


def suggest_command(words: Sequence[str]) -> str:
    """The subcommand that `words` were probably meant to call, as it is spelled; empty for a prompt."""
    if not words or not words[0].replace("-", "").isalpha() or not words[0].islower():
        return ""
    # Few words come in an argument of their own.
    from cinch_tui.fuzzy_match import nearest_names

    for name in nearest_names(words[0], COMMANDS, cutoff=0.8):
        if len(words) == 1:
            return f"cinch {name}"
        for verb in nearest_names(words[1], _VERBS.get(name, ()), cutoff=0.75):
            return f"cinch {name} {verb}"
    return ""
