"""Words of a shell command after quoting and expansion, as far as they are known before it runs."""

from __future__ import annotations

from msgspec import Struct


class Word(Struct, frozen=True):
    """One argument of a command, or several if it is an expansion that bash splits.

    Brace expansions and variables with known values are replaced before: `a{b,c}` gives two words.
    """

    text: str | None
    """Value after quoting; None if it is only known at run time. A glob is a pattern, and its quoted special characters
    are in brackets: `'*'.py*` is `[*].py*`. A leading `~` stands for the home folder."""
    is_glob: bool = False
    """True if bash replaces it with the matching file names, or with itself if there are none."""
    prefix: str = ""
    """Literal beginning of a word without `text`: `src/` of `"src/$name"`."""
    is_single: bool = True
    """False if it may become any number of words, each of which may be an option (`$files`, `$(ls)`, input of xargs).
    Only the first of them begins with `prefix`. A glob is always True: every name matches the pattern."""
    folder: str | None = None
    """Folder whose listing the word comes from, as in `find src | xargs wc`: it names files below that folder. None if
    it comes from elsewhere."""

    @property
    def is_literal(self) -> bool:
        """True if the program gets exactly `text`."""
        return self.text is not None and not self.is_glob
