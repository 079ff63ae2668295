"""Finding options among the words of a command."""

from __future__ import annotations


def has_option(arguments: list[str], letters: str, *names: str) -> bool:
    """Return whether an option is given: as a letter, alone or among others (`-rf`), or by its long name.

    A long name may be shortened (`--forc`), as most programs allow; what is too short for one name counts as any.
    """
    for word in arguments:
        if word.startswith("--"):
            given = word.partition("=")[0]
            if given != "--" and any(name.startswith(given) for name in names):
                return True
        elif word.startswith("-") and set(letters) & set(word[1:]):
            return True
    return False
