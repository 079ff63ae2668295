from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.chat import chat, ready, until
from fakes.model_server import ModelServer
from fakes.pictures import png
from fakes.script import Reply

from cinch_tui.app.app import CinchApp
from cinch_tui.attached_files import attached_names, mentioned_paths
from cinch_tui.transcript.blocks import NoticeBlock, UserBlock
from cinch_tui.user_input import user_input_of
from harness.messages import Text


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    with ModelServer([Reply("heard"), Reply("heard again")]) as running:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", running.url)
        yield running


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    (root / "src").mkdir(parents=True)
    (root / "README.md").write_text("".join(f"line {number}\n" for number in range(1, 121)))
    (root / "long.txt").write_text("x\n" * 9_000)
    (root / "src" / "a b.py").write_text("print(1)\n")
    (root / ".env").write_text("TOKEN=1\n")
    (root / "key.txt").write_text("the key is sk-ant-good-0123456789abcdef\n")
    (root / "shot.png").write_bytes(png(4, 4))
    (tmp_path / "outside.txt").write_text("not yours\n")
    return root


async def said(project: Path, prompt: str) -> CinchApp:
    app = chat(project)
    async with app.run_test(size=(100, 40)) as pilot:
        await ready(pilot, app)
        app.controller.view.process_input(prompt)
        await until(pilot, lambda: app.controller.agent.history.prompts() and not app.controller.is_running)
        await pilot.pause()
    return app


def shown(app: CinchApp, kind: type[NoticeBlock] | type[UserBlock]) -> str:
    return "\n".join(block.text for block in app.controller.view.widgets.transcript.blocks if isinstance(block, kind))


def sent(server: ModelServer) -> str:
    return json.dumps(server.requests[-1].body["messages"])


async def test_named_file_is_sent_and_shown_as_one_line(project: Path, server: ModelServer, own_home: Path):
    app = await said(project, "explain @README.md.")

    assert "line 120" in sent(server)
    assert shown(app, UserBlock) == "explain @README.md."
    assert shown(app, NoticeBlock) == "Attached README.md (120 lines)"
    assert any("line 120" in path.read_text() for path in own_home.rglob("*.jsonl"))


async def test_long_file_is_cut_and_the_rest_announced(project: Path, server: ModelServer):
    app = await said(project, "read @long.txt")

    assert "Attached long.txt (first 2,000 lines of 9,000)" in shown(app, NoticeBlock)
    assert "offset=2001" in sent(server)


async def test_picture_is_sent_as_a_picture_and_a_folder_as_its_listing(project: Path, server: ModelServer):
    app = await said(project, 'what is on @shot.png and in @src and @"src/a b.py"?')

    assert '"type": "image"' in sent(server)
    assert "a b.py" in sent(server)
    assert shown(app, NoticeBlock) == "Attached shot.png (picture), src (folder), src/a b.py (1 line)"


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        ("see @nosuchfile", "@nosuchfile: no such file"),
        ("see @../outside.txt", "@../outside.txt is not attached: .*outside"),
        ("see @.env", "@.env is not attached: it probably contains secrets"),
        ("see @key.txt", "@key.txt is not attached: it seems to contain an API key"),
    ],
)
async def test_file_that_cannot_be_attached_is_reported_and_the_text_stays(
    project: Path, server: ModelServer, prompt: str, reason: str
):
    app = await said(project, prompt)

    assert prompt in sent(server)
    for secret in ("not yours", "TOKEN=1", "sk-ant-good"):
        assert secret not in sent(server)
    assert re.search(reason, shown(app, NoticeBlock)), shown(app, NoticeBlock)


def test_print_mode_sends_named_files_and_reports_missing_ones(project: Path, server: ModelServer):
    done = subprocess.run(
        [sys.executable, "-m", "cinch_tui", "-p", "-m", "anthropic/a", "explain @README.md and @nothing"],
        cwd=project,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=True,
        timeout=60,
    )

    assert "line 120" in sent(server)
    assert "@nothing: no such file" in done.stderr


async def test_queued_message_comes_back_without_the_files(project: Path, server: ModelServer):
    app = await said(project, "explain @README.md")

    (message,) = app.controller.agent.history.prompts()

    assert "line 120" in message.text
    assert user_input_of(message).text == "explain @README.md"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("see @a.py, @b/c.py", ["a.py,", "b/c.py"]),
        ('see @"a b.py"', ["a b.py"]),
        ("mail ada@example.org", []),
        ("```\n@decorator\n```", []),
        ("(@a.py)", ["a.py)"]),
    ],
)
def test_mentions_are_found(text: str, names: list[str]):
    assert mentioned_paths(text) == names


@pytest.mark.parametrize("path", ["/opt/cinch/skills/commit/SKILL.md", ".claude/commands/commit.md"])
def test_instructions_of_a_skill_or_command_are_shown_by_its_name(path: str):
    content = (Text("/commit"), Text(f'<attached path="{path}" extent="instructions">\nCommit.\n</attached>'))

    assert attached_names(content) == ["the instructions of commit"]
