"""Facts about a project for `/init`, read from files: what it consists of, its commands, and its documents.

Runs no program of the project. The texts are those of files, hence short and on one line.
"""

from __future__ import annotations

import asyncio
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from extensions.index_text import one_line, shortened
from harness.errors import CinchError, NotAFile
from harness.workspace.disk import read_small_text
from harness.workspace.workspace import Workspace
from tools.ripgrep import Ripgrep, RipgrepMissing
from tools.symbols.client import map_repository
from tools.symbols.repository_map import MapQuery

MOST_PATHS = 20_000
"""Maximum number of files that are counted."""
LARGE_PROJECT = 200
"""Number of files from which on a repository map shows the structure instead of the folders."""
_MAP_CHARS = 6_000
_MAP_LINE = 140
_MOST_BYTES = 256 * 1024
_MOST_ITEMS = 30
_MOST_CHARS = 100
_DEEPEST_MANIFEST = 2
_MANIFESTS = re.compile(
    r"(?:.*/)?(?:Cargo\.toml|CMakeLists\.txt|Dockerfile|Gemfile|Makefile|Package\.swift|Pipfile|Rakefile|Taskfile\.yml|"
    r"build\.(?:gradle(?:\.kts)?|sbt|zig)|composer\.json|deno\.jsonc?|go\.mod|justfile|meson\.build|mix\.exs|noxfile\.py|"
    r"package\.json|pnpm-workspace\.yaml|pom\.xml|pyproject\.toml|requirements\.txt|setup\.py|tox\.ini|turbo\.json)"
)
_DOCUMENTS = re.compile(
    r"(?:.*/)?(?:AGENTS|CLAUDE|GEMINI|CONVENTIONS)(?:\.local)?\.md|\.(?:cursor|windsurf|cline)rules|\.cursor/rules/.*\.mdc?|"
    r"\.clinerules/.*\.md|\.(?:claude|cinch)/rules/.*\.mdc?|\.github/copilot-instructions\.md|\.github/instructions/.*\.md|"
    r"(?:README|CONTRIBUTING|ARCHITECTURE|DEVELOPMENT|HACKING)[^/]*|docs/[^/]*\.(?:md|rst)",
    re.IGNORECASE,
)
_CHECKS = re.compile(
    r"\.github/workflows/[^/]*\.ya?ml|\.gitlab-ci\.yml|\.circleci/config\.yml|\.pre-commit-config\.yaml|\.editorconfig|"
    r"\.?eslint[^/]*|\.prettierrc[^/]*|biome\.jsonc?|ruff\.toml|mypy\.ini|pytest\.ini|tsconfig[^/]*\.json|\.golangci\.ya?ml|"
    r"rustfmt\.toml|clippy\.toml|(?:vitest|jest|playwright)\.config\.[^/]*"
)
_TARGET = re.compile(r"^([A-Za-z][\w.-]*)\s*:(?!=)", re.MULTILINE)
_RECIPE = re.compile(r"^@?([A-Za-z][\w-]*)(?:[ \t][^:\n]*)?:(?!=)", re.MULTILINE)
_STEP = re.compile(r"^\s*(?:- )?run:\s*(?![|>])(\S.*)$", re.MULTILINE)
_ENVIRONMENT = re.compile(r"^\[testenv:([^\]]+)\]", re.MULTILINE)


async def survey(workspace: Workspace, symbol_cache: Path | None = None) -> str:
    """Return facts about a project as Markdown lists.

    Args:
        workspace: The project is its root.
        symbol_cache: Folder of the symbol indexes, for the repository map of a larger project; None for none.
    """
    files = await _files(workspace.root)
    structure = await _repository_map(workspace, symbol_cache) if len(files) >= LARGE_PROJECT else ""
    return await asyncio.to_thread(_describe, workspace.root, files, structure)


async def _repository_map(workspace: Workspace, symbol_cache: Path | None) -> str:
    """Return the repository map as a Markdown section; empty if absent."""
    with suppress(CinchError, OSError, RipgrepMissing):
        found = await map_repository(workspace, ".", MapQuery((), _MAP_CHARS), symbol_cache)
        lines = [
            line
            for file in found.files
            for line in (
                f"- {one_line(file.path)}",
                *(f"  - {shortened(one_line(each), _MAP_LINE)}" for each in file.lines),
            )
        ]
        if lines:
            return "\n".join(("## Most used definitions, by file", "", *lines))
    return ""


async def _files(folder: Path) -> list[str]:
    """Return the paths of the files that git does not ignore, in order; empty if they cannot be listed."""
    with suppress(OSError, NotAFile, RipgrepMissing):
        names = await Ripgrep(["--files", "--null", "--sort=path"], folder).names(MOST_PATHS)
        return [name.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for name in names]
    return []


def _describe(folder: Path, files: Sequence[str], structure: str) -> str:
    manifests = [path for path in files if path.count("/") <= _DEEPEST_MANIFEST and _MANIFESTS.fullmatch(path)]
    checks = [path for path in files if _CHECKS.fullmatch(path)]
    sections = {
        "Files": [_count(files)] if files else ["none"],
        "Folders": []
        if structure
        else list(dict.fromkeys(f"{path.partition('/')[0]}/" for path in files if "/" in path)),
        "Manifests": manifests,
        "Checks and formatting": checks,
        "Instructions and documents": [path for path in files if _DOCUMENTS.fullmatch(path)],
        "Commands": list(_commands(folder, (*manifests[:_MOST_ITEMS], *checks[:_MOST_ITEMS]))),
    }
    texts = [f"## {title}\n\n{_items(items)}" for title, items in sections.items() if items]
    return "\n\n".join([*texts, structure] if structure else texts)


def _items(items: Sequence[str]) -> str:
    lines = [f"- {shortened(one_line(item), _MOST_CHARS)}" for item in items[:_MOST_ITEMS]]
    more = [f"- and {len(items) - _MOST_ITEMS} more"] if len(items) > _MOST_ITEMS else []
    return "\n".join(lines + more)


def _count(files: Sequence[str]) -> str:
    """Return the number of files, and those of the most frequent types."""
    suffixes = Counter(Path(path).suffix.lower() for path in files)
    del suffixes[""]
    types = ", ".join(f"{count} {suffix}" for suffix, count in suffixes.most_common(6))
    total = f"{len(files):,}" if len(files) < MOST_PATHS else f"more than {MOST_PATHS:,}"
    return f"{total} files: {types}" if types else f"{total} files"


def _commands(folder: Path, paths: Iterable[str]) -> Iterator[str]:
    """Yield the commands that files define, each with its file."""
    for path in paths:
        read = _READERS.get(_name(path)) or (_steps if path.startswith(".github/workflows/") else None)
        if read is None:
            continue
        try:
            found = list(dict.fromkeys(read(read_small_text(folder / path, _MOST_BYTES))))
        except (NotAFile, OSError, ValueError, RecursionError):
            continue
        yield from (f"{path}: {command}" for command in found[:_MOST_ITEMS])


def _scripts(text: str) -> Iterator[str]:
    data: object = json.loads(text)
    for name, command in _table(_table(data).get("scripts")).items():
        yield f"{name} = {command}"


def _python(text: str) -> Iterator[str]:
    data = tomllib.loads(text)
    tools = _table(data.get("tool"))
    if tools:
        yield f"configures {', '.join(tools)}"
    for name, command in _table(_table(data.get("project")).get("scripts")).items():
        yield f"{name} = {command}"
    for name in _table(_table(tools.get("poe")).get("tasks")):
        yield f"poe {name}"


def _targets(text: str) -> Iterator[str]:
    yield from (f"make {found[1]}" for found in _TARGET.finditer(text))


def _recipes(text: str) -> Iterator[str]:
    yield from (f"just {found[1]}" for found in _RECIPE.finditer(text))


def _steps(text: str) -> Iterator[str]:
    yield from (found[1] for found in _STEP.finditer(text))


def _environments(text: str) -> Iterator[str]:
    yield from (f"tox -e {found[1]}" for found in _ENVIRONMENT.finditer(text))


_READERS: Mapping[str, Callable[[str], Iterator[str]]] = {
    "package.json": _scripts,
    "deno.json": _scripts,
    "composer.json": _scripts,
    "pyproject.toml": _python,
    "Makefile": _targets,
    "justfile": _recipes,
    "tox.ini": _environments,
}


def _table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType] parsed; its values are only printed


def _name(path: str) -> str:
    return path.rpartition("/")[2]
