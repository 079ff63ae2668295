"""Finding options among the words of a command."""

from __future__ import annotations


def has_option(arguments: list[str], letters: str, *names: str) -> bool:
    """Whether one of some options is given: as a letter, alone or among others (`-rf`), or by its long name."""
    for word in arguments:
        if word.startswith("--"):
            if word.partition("=")[0] in names:
                return True
        elif word.startswith("-") and set(letters) & set(word[1:]):
            return True
    return False
