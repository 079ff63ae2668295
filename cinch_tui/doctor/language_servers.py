"""Check of the language servers that are installed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from cinch_tui.config.options import Options
from cinch_tui.config.settings import Settings
from cinch_tui.doctor.findings import Finding
from cinch_tui.language_servers import lsp_options
from cinch_tui.trust.prompt import folder_state
from harness.terminal_text import escape_controls
from tools.lsp.options import FoundServer, LanguageServer, installed_servers

_MOST_FILES = 20_000
_MAIN_SHARE = 0.1
"""Share of the project's files above which a missing server of their language is reported."""
_PACKAGES = ("node_modules", "site-packages", "vendor", "venv", "__pycache__")
_DATA = frozenset(("css", "dockerfile", "html", "json", "markdown", "python lint", "toml", "yaml"))
"""Languages whose servers are not reported as missing."""


def language_server_finding(options: Options, settings: Settings) -> Finding:
    """Return the language servers that are found for the languages of the project; none is started."""
    subject = "lsp"
    if not settings.lsp.enabled:
        return Finding("ok", subject, "language servers are disabled")
    is_trusted = folder_state(options)[1].is_trusted
    lsp, problems = lsp_options(options, settings, lambda: is_trusted)
    if problems:
        return Finding("note", subject, escape_controls("; ".join(problems)), "correct the configuration")
    found = installed_servers(options.cwd, lsp)
    languages = _languages(options.cwd, lsp.servers)
    served = {language for each in found for language in each.server.languages}
    total = sum(languages.values())
    missing = [
        language
        for language, count in languages.most_common()
        if language not in served and language not in _DATA and count >= _MAIN_SHARE * total
    ]
    parts = list(_described(found, set(languages), is_trusted=is_trusted))
    if missing:
        parts.append(f"none for {', '.join(missing)}")
    text = escape_controls(f"language servers: {'; '.join(parts) or 'none'}")
    programs = (f"{each}: {' or '.join(_programs(each, lsp.servers))}" for each in missing)
    return (
        Finding("note", subject, text, f"install one ({'; '.join(programs)})")
        if missing
        else Finding("ok", subject, text)
    )


def _described(found: Sequence[FoundServer], languages: set[str], *, is_trusted: bool) -> Iterator[str]:
    """Yield the servers, those for languages of the project first."""
    here = [each.server for each in found if languages.intersection(each.server.languages)]
    others = [each.server.name for each in found if each.server not in here]
    if here:
        yield ", ".join(f"{each.name} ({', '.join(each.languages)})" for each in here)
    if held := [each.name for each in here if each.runs_code and not is_trusted]:
        yield f"only in a trusted folder: {', '.join(held)}"
    if others:
        yield f"for other languages: {', '.join(others)}"


def _programs(language: str, servers: Sequence[LanguageServer]) -> list[str]:
    return list(dict.fromkeys(each.command[0] for each in servers if language in each.languages))


def _languages(folder: Path, servers: Sequence[LanguageServer]) -> Counter[str]:
    """Return how many files of a project each language has, as far as there are servers for it."""
    endings = Counter(Path(name).suffix or name for name in islice(_names(folder), _MOST_FILES))
    counts: Counter[str] = Counter()
    for ending, count in endings.items():
        file = Path(f"file{ending}" if ending.startswith(".") else ending)
        found = {language for each in servers if each.language_id(file) for language in each.languages}
        counts.update(dict.fromkeys(found, count))
    return counts


def _names(folder: Path) -> Iterator[str]:
    """Yield the names of the files below a folder, without hidden ones and installed packages."""
    for _, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if not each.startswith(".") and each not in _PACKAGES]
        yield from (each for each in names if not each.startswith("."))
