"""Rules and instruction files of subfolders in a start of cinch: trust, the system prompt, the conversation."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

import pytest
from fakes.model_server import ModelServer, Reply

from cinch_tui.assembly.assembly import Assembly
from cinch_tui.assembly.building import assemble
from cinch_tui.cli.start import config_sources
from cinch_tui.config.names import build
from cinch_tui.config.options import Options
from cinch_tui.config.paths import find_paths
from cinch_tui.trust.inventory import inventory
from cinch_tui.trust.store import TrustStore
from harness.messages import UserMessage
from harness.ports.interaction import NonInteractive


class Start(Protocol):
    async def __call__(self, *, trusted: bool) -> Assembly: ...


FILES = {
    ".claude/rules/all.md": "Write short functions.",
    ".cinch/rules/web/ts.md": "---\npaths: src/**/*.{ts,tsx}\n---\nUse strict types.",
    "src/AGENTS.md": "Ask before you change the API.",
    "src/app.ts": "let a = 1\n",
    "lib/x.py": "x = 1\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def start(project: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
    paths = find_paths(os.environ)

    async def assembled(*, trusted: bool) -> Assembly:
        if trusted:
            TrustStore(paths.trust_file).trust(inventory(project, paths.config_file))
        sources = config_sources(paths, project)
        options = Options(cwd=project, paths=paths, environ=os.environ, sources=sources, keep_session=False)
        settings = build({"model.name": "anthropic/main", "retry.max_retries": 0})
        return await assemble(options, settings, NonInteractive())

    return assembled


@pytest.mark.parametrize("trusted", [True, False])
async def test_rules_for_all_files_are_in_the_prompt_of_a_trusted_folder(start: Start, trusted: bool):
    prompt = (await start(trusted=trusted)).folder.prompt

    assert ("Write short functions." in prompt) is trusted
    assert "Use strict types." not in prompt


async def test_request_after_a_matching_read_contains_rule_and_file_of_the_folder_once(
    start: Start, monkeypatch: pytest.MonkeyPatch
):
    read = Reply(calls=(("read_file", {"path": "src/app.ts"}),))
    other = Reply(calls=(("read_file", {"path": "lib/x.py"}),))
    with ModelServer([other, read, read, Reply("done")]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        agent = (await start(trusted=True)).agent
        await agent.prompt("go")
        await agent.close()

    sent = [(str(each.body).count("Use strict"), str(each.body).count("Ask before")) for each in server.requests]
    assert sent == [(0, 0), (0, 0), (1, 1), (1, 1)]
    added = [each.text for each in agent.messages if isinstance(each, UserMessage) and each.synthetic]
    assert [text.partition("\n")[0] for text in added] == ["[Instructions for src/app.ts]"]


async def test_changed_rule_for_all_files_is_announced(start: Start, project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("harness.instructions.changes._FRESH_S", 0.0)
    assembly = await start(trusted=True)
    (project / ".claude/rules/all.md").write_text("Write long functions.")

    (text,) = await assembly.reminders(assembly.folder.prompt, [])

    assert text.startswith("[Changed since the start of the session: all.md]")
    assert "Write long functions." in text
