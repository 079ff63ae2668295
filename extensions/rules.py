"""Rules: instruction files for all files of a project, or for those that match patterns.

Formats: `.claude/rules` of Claude Code (`paths`), and rules of Cursor (`globs`, `alwaysApply`).
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from extensions.front_matter import Document, parse_document
from extensions.index_text import reason, shown
from extensions.locations import ExtensionFile, Root, extension_files
from harness.errors import NotAFile
from harness.instructions.loading import RuleFiles
from harness.workspace.disk import read_beginning

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

logger = logging.getLogger(__name__)

MOST_PATTERNS = 200
"""Maximum number of patterns of a rule, after its braces are expanded."""
_BEGINNING = 8 * 1024
_BRACES = re.compile(r"\{([^{}]*)\}")


class Rule(Struct, frozen=True):
    """A file with instructions for the files that match its patterns."""

    path: Path
    """The file."""
    base: Path
    """Folder that the patterns are relative to, with links resolved."""
    patterns: tuple[str, ...] = ()
    """Patterns as in a .gitignore file; empty for a rule that always applies."""
    is_own: bool = True
    """False for a rule of the project."""

    def applies_to(self, path: Path) -> bool:
        """Return True for a file that matches the patterns; its path is absolute, with links resolved."""
        is_inside = path.is_relative_to(self.base)
        if not self.patterns or not (is_inside or self.is_own):
            return False
        name = path.relative_to(self.base if is_inside else path.anchor)
        return _compiled(self.patterns).match_file(str(name))


class LoadedRules(Struct, frozen=True):
    """Rules of an agent."""

    rules: tuple[Rule, ...] = ()
    """The rules, the most important last."""
    problems: tuple[str, ...] = ()
    """Problems to report to the user."""

    @property
    def general(self) -> RuleFiles:
        """The rules that always apply."""
        return _files(rule for rule in self.rules if not rule.patterns)

    @property
    def by_path(self) -> tuple[Rule, ...]:
        """The rules for certain files."""
        return tuple(rule for rule in self.rules if rule.patterns)


def load_rules(roots: Sequence[Root], project: Path) -> LoadedRules:
    """Read which files rules apply to. Never raises; rules that cannot be read are listed in `problems`.

    Args:
        roots: Folders with extensions, the strongest first.
        project: Root of the project, which the patterns of the user's rules are relative to.
    """
    rules: list[Rule] = []
    problems: list[str] = []
    for file in extension_files("rules", reversed(roots)):
        try:
            rules.append(_read_rule(file, project))
        except ValueError as error:
            problems.append(f"{shown(file.path)} is skipped: {error}")
        except (NotAFile, OSError) as error:
            problems.append(f"{shown(file.path)} is skipped: {reason(error)}")
    return LoadedRules(tuple(rules), tuple(problems))


def matching_rules(rules: Iterable[Rule], paths: Sequence[Path]) -> RuleFiles:
    """Return the files of the rules that apply to any of these paths."""
    return _files(rule for rule in rules if any(map(rule.applies_to, paths)))


def _files(rules: Iterable[Rule]) -> RuleFiles:
    chosen = tuple(rules)
    own = tuple(rule.path for rule in chosen if rule.is_own)
    return RuleFiles(own, tuple(rule.path for rule in chosen if not rule.is_own), _body)


def _body(text: str) -> str:
    return parse_document(text).body.strip()


def _read_rule(file: ExtensionFile, project: Path) -> Rule:
    """Read a rule.

    Raises:
        NotAFile, OSError: The file cannot be read.
        ValueError: It is no rule; the text is the reason.
    """
    data, _ = read_beginning(file.path, _BEGINNING)
    # The beginning may end within a character.
    document = parse_document(data.decode("utf-8", "ignore"))
    is_own = file.root.level != "project"
    base = Path(os.path.realpath(project if is_own else file.root.path.parent))
    return Rule(file.path, base, _patterns(document), is_own)


@cache
def _compiled(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    # Imported when a file is used first: this takes 50 ms.
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(patterns)
    except ValueError as error:
        logger.warning("a pattern of %s is invalid: %s", patterns, error)
        return GitIgnoreSpec.from_lines(())


def _patterns(document: Document) -> tuple[str, ...]:
    """Return the patterns of a rule; empty if it always applies.

    Raises:
        ValueError: The rule has too many patterns, or only applies on request, which does not exist here.
    """
    always = document.flag("alwaysApply", default=False)
    written = () if always else document.words("paths") or document.words("globs")
    if not written:
        if not always and "alwaysApply" in document.metadata:
            raise ValueError("with alwaysApply: false it needs paths or globs")
        return ()
    patterns = [pattern.removeprefix("./") for each in written for pattern in expand_braces(each)]
    if len(patterns) > MOST_PATTERNS:
        raise ValueError(f"it has more than {MOST_PATTERNS} patterns")
    return tuple(patterns)


def expand_braces(pattern: str) -> list[str]:
    """Return the patterns that one with braces means, such as `*.{ts,tsx}`; at most a few more than `MOST_PATTERNS`."""
    done: list[str] = []
    pending = [pattern]
    while pending and len(done) + len(pending) <= MOST_PATTERNS:
        current = pending.pop(0)
        found = _BRACES.search(current)
        if found is None:
            done.append(current)
        else:
            pending = [
                current[: found.start()] + each + current[found.end() :] for each in found[1].split(",")
            ] + pending
    return done + pending
