"""Tab completion of a line: commands, files after `@`, and files in shell commands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cinch_tui.commands import SIGILS
from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.widgets.prompt.path_completion import names_in


class Completer:
    """Completer for readline, which calls it with 0, 1, 2… for one match after the other."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._found: list[str] = []

    def __call__(self, word: str, number: int) -> str | None:
        # Few starts have a line that is edited.
        import readline

        if number == 0:
            before = readline.get_line_buffer()[: readline.get_begidx()]
            self._found = completions(before, word, self._root)
            if not self._found:
                # A paste may hold tabs.
                readline.insert_text("\t")
        return self._found[number] if number < len(self._found) else None


def completions(before: str, word: str, root: Path) -> list[str]:
    """Return the completions of a word, given the text before it."""
    if not before and word.startswith(tuple(SIGILS)):
        return sorted(f"{name} " for name in _commands() if name.startswith(word.lower()))
    if word.startswith("@"):
        return [f"@{path}" for path in _paths(word[1:], root)]
    if not before and word.startswith("!"):
        sigil = word[: len(word) - len(word.lstrip("!"))]
        return [f"{sigil}{path}" for path in _paths(word[len(sigil) :], root)]
    return _paths(word, root) if before.startswith("!") else []


def _commands() -> Iterator[str]:
    yield from (name for name, _ in builtin_commands().named)


def _paths(typed: str, root: Path) -> list[str]:
    folder, slash, name = typed.rpartition("/")
    found = names_in(root, folder or slash or ".", name)
    # A blank would end the path where it stands unquoted.
    return [f"{folder}{slash}{each}{'' if each.endswith('/') else ' '}" for each in found if " " not in each]
