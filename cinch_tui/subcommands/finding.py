"""Recognition of subcommands in the arguments, also misspelled ones.

Loaded at every start with arguments, so it imports nothing.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

COMMANDS = ("sessions", "config", "models", "doctor", "keys", "reset-terminal")
_VERBS = {
    "sessions": ("list", "show", "search", "export", "import", "rename", "rm", "doctor"),
    "config": ("show", "path", "edit", "trust"),
}


def split_at_command(argv: Sequence[str], flags_with_value: Set[str]) -> tuple[list[str], str, list[str]]:
    """Return the options before a subcommand, its name, and its own arguments; the name is empty without one."""
    index = 0
    while index < len(argv) and argv[index].startswith("-") and argv[index] != "--":
        index += 2 if argv[index] in flags_with_value else 1
    if index < len(argv) and argv[index] in COMMANDS:
        return list(argv[:index]), argv[index], list(argv[index + 1 :])
    return list(argv), "", []


def suggest_command(words: Sequence[str]) -> str:
    """Return the command that `words` is probably a misspelling of; empty for a prompt."""
    if not words or not words[0].replace("-", "").isalpha() or not words[0].islower():
        return ""
    # Imported here because few prompts are a single word per argument.
    from cinch_tui.fuzzy_match import nearest_names

    for name in nearest_names(words[0], COMMANDS, cutoff=0.8):
        if len(words) == 1:
            return f"cinch {name}"
        for verb in nearest_names(words[1], _VERBS.get(name, ()), cutoff=0.75):
            return f"cinch {name} {verb}"
    return ""
