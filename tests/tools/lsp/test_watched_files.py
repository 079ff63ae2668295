from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fakes.language_servers import CodeTools, code_tools, raw_server

from harness.messages import JsonValue
from tools.lsp import watched_files
from tools.lsp.watched_files import glob_expression


@pytest.mark.parametrize(
    ("glob", "matching", "others"),
    [
        ("**/*.py", ["a.py", "x/y/a.py"], ["a.pyc", "a.py/b"]),
        ("*.{ts,tsx}", ["a.ts", "a.tsx"], ["x/a.ts", "a.t", "a.ts,tsx"]),
        ("src/**", ["src/a", "src/x/y"], ["src", "srcs/a"]),
        ("**/{go.mod,*.go}", ["go.mod", "x/a.go"], ["gomod", "go_mod"]),
        ("?.[a-c]", ["x.b"], ["x.d", "xy.b", "/.b"]),
        ("x.[!a-c]", ["x.d"], ["x.a"]),
        ("a,b+(c)", ["a,b+(c)"], ["a", "abc"]),
    ],
)
def test_patterns_of_the_protocol_match(glob: str, matching: list[str], others: list[str]) -> None:
    matches = re.compile(glob_expression(glob)).fullmatch

    assert [each for each in [*matching, *others] if matches(each)] == matching


def watching_server(log: Path, *watchers: JsonValue):
    return raw_server(log=str(log), watchers=list(watchers))


async def started(tools: CodeTools) -> None:
    """Start the server and wait until it has registered what it watches."""
    await tools.ask("workspace_symbols", "a.txt", query="x")
    await tools.until_watching()


def announced(log: Path, root: Path) -> list[list[tuple[str, int]]]:
    """Return what was announced, each time in order of the paths."""
    messages = [json.loads(line) for line in log.read_text().splitlines()]
    changes = (each["params"]["changes"] for each in messages if each.get("method", "").endswith("WatchedFiles"))
    prefix = f"{root.resolve().as_uri()}/"
    return [sorted((each["uri"].removeprefix(prefix), each["type"]) for each in events) for events in changes]


async def test_changes_of_other_programs_are_announced_before_the_next_question(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with code_tools(tmp_path, watching_server(log, {"globPattern": "**/*.txt"})) as tools:
        root = tools.place.root
        for name in ("a.txt", "gone.txt", "sub/b.txt", "same.txt", "other.md"):
            tools.place.put(name, "word\n")
        await started(tools)
        for name in ("sub/b.txt", "sub/new.txt", "other.md", ".git/c.txt", "node_modules/x/d.txt"):
            tools.place.put(name, "another word\n")
        (root / "gone.txt").unlink()
        await tools.ask("workspace_symbols", query="x")
        # Nothing has changed since.
        await tools.ask("workspace_symbols", query="x")
        edited = await tools.edit("a.txt", "word", "text")
        await tools.ask("workspace_symbols", query="x")

    assert len(edited.lines) == 1
    assert announced(log, root) == [[("gone.txt", 3), ("sub/b.txt", 2), ("sub/new.txt", 1)], [("a.txt", 2)]]


async def test_only_registered_kinds_and_folders_are_announced(tmp_path: Path) -> None:
    log = tmp_path / "log"
    sub = {"baseUri": (tmp_path / "project" / "sub").as_uri(), "pattern": "*"}
    watchers: list[JsonValue] = [
        {"globPattern": {**sub}, "kind": 1},
        {"globPattern": f"{tmp_path}/project/**/*.md", "kind": 4},
        {"globPattern": "**/node_modules/*"},
        {"globPattern": {"baseUri": "http://example.org", "pattern": "**"}},
        {"globPattern": "**/" * 9 + "*"},
        {"globPattern": "[z-a]"},
    ]
    async with code_tools(tmp_path, watching_server(log, *watchers)) as tools:
        root = tools.place.root
        for name in ("a.txt", "sub/b", "a.md", "node_modules/x/deep/index.js"):
            tools.place.put(name, "word\n")
        await started(tools)
        for name in ("a.txt", "sub/b", "sub/c", "a.md", "d.md", "node_modules/y/index.js"):
            tools.place.put(name, "another word\n")
        await tools.ask("workspace_symbols", query="x")
        (root / "d.md").unlink()
        await tools.ask("workspace_symbols", query="x")

    assert announced(log, root) == [[("node_modules/y", 1), ("sub/c", 1)], [("d.md", 3)]]


async def test_large_project_is_not_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched_files, "MAX_ENTRIES", 10)
    log = tmp_path / "log"
    async with code_tools(tmp_path, watching_server(log, {"globPattern": "**"})) as tools:
        tools.place.put("a.txt", "word\n")
        await started(tools)
        for number in range(11):
            tools.place.put(f"{number}.txt", "word\n")
        await tools.ask("workspace_symbols", query="x")
        tools.place.put("a.txt", "another word\n")
        await tools.ask("workspace_symbols", query="x")

    assert announced(log, tools.place.root) == []
