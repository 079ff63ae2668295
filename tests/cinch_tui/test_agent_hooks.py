"""Hooks of the user in a start of cinch: where they come from, trust, sessions, `/hooks`."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fakes.chat import chat, ready, until
from fakes.model_server import Item, ModelServer, Reply
from fakes.recording_host import RecordingHost

from cinch_tui.api_keys.key_store import KeyStore
from cinch_tui.assembly.assembly import Assembly
from cinch_tui.assembly.building import assemble
from cinch_tui.cli.start import config_sources
from cinch_tui.commands.hooks import hooks as hooks_command
from cinch_tui.config.layers import load_config
from cinch_tui.config.options import Options
from cinch_tui.config.paths import find_paths
from cinch_tui.trust.inventory import inventory
from cinch_tui.trust.prompt import folder_state, question
from cinch_tui.trust.store import TrustStore
from harness.errors import CinchError
from harness.ports.interaction import NonInteractive
from harness.session.references import find_reference, load_reference
from providers.demo import scripted

DENY = "echo 'not today' >&2; exit 2"


def claude(folder: Path, events: dict[str, Any], name: str = "settings.json", **others: Any) -> Path:
    path = folder / ".claude" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"hooks": events, **others}))
    return path


def running(command: str, matcher: str = "") -> list[dict[str, Any]]:
    return [{"matcher": matcher, "hooks": [{"type": "command", "command": command}]}]


def configure(text: str) -> None:
    path = find_paths(os.environ).config_file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


async def assembled(project: Path, *script: str) -> Assembly:
    paths = find_paths(os.environ)
    sources = config_sources(paths, project)
    config = load_config(sources)
    options = Options(project, paths, os.environ, sources, hooks=config.hooks)
    return await assemble(options, config.settings, NonInteractive(), model=scripted(*script))


def trust(project: Path) -> None:
    paths = find_paths(os.environ)
    TrustStore(paths.trust_file).trust(inventory(project, paths.config_file))


def used(assembly: Assembly) -> list[str]:
    loaded = assembly.hooks.loaded
    return [each.command for each in loaded.usable] if loaded else []


async def test_hooks_of_user_and_trusted_project_are_used(project: Path):
    claude(Path.home(), {"Stop": running("echo user")})
    claude(project, {"Stop": running("echo project")})
    claude(project, {"Stop": running("echo local")}, "settings.local.json")
    configure('[[hooks.Stop]]\ncommand = "echo configured"\n')

    before = used(await assembled(project))
    trust(project)
    after = used(await assembled(project))

    assert before == ["echo configured", "echo user"]
    assert after == ["echo configured", "echo local", "echo project", "echo user"]


async def test_hooks_of_a_project_configuration_need_trust(project: Path):
    (project / ".cinch").mkdir()
    (project / ".cinch" / "config.toml").write_text('[[hooks.PreToolUse]]\nmatcher = "bash"\ncommand = "true"\n')
    before = await assembled(project)
    trust(project)
    after = await assembled(project)

    assert (used(before), used(after)) == ([], ["true"])
    assert before.hooks.session is None
    assert before.agent.options.guardrails == ()


async def test_changed_hooks_of_a_project_are_not_used(project: Path):
    claude(project, {"Stop": running("echo one")})
    trust(project)
    claude(project, {"Stop": running("echo other")})

    assert used(await assembled(project)) == []


async def test_hook_whose_script_has_changed_is_not_used(project: Path):
    claude(project, {"Stop": running('"$CLAUDE_PROJECT_DIR"/.claude/hooks/check.sh'), "PreCompact": running("true")})
    script = project / ".claude" / "hooks" / "check.sh"
    script.parent.mkdir()
    script.write_text("exit 0\n")
    (script.parent / "log.txt").write_text("one\n")
    trust(project)
    before = used(await assembled(project))

    (script.parent / "log.txt").write_text("two\n")
    logged = used(await assembled(project))
    script.write_text("rm -r .\n")

    assert before == logged == ['"$CLAUDE_PROJECT_DIR"/.claude/hooks/check.sh', "true"]
    assert used(await assembled(project)) == ["true"]


async def test_hooks_of_claude_code_can_be_left_out(project: Path):
    claude(Path.home(), {"Stop": running("echo user")})
    configure("[extensions]\nclaude = false\n")

    assert (await assembled(project)).hooks.loaded is None


async def test_strongest_file_turns_all_hooks_off(project: Path):
    claude(Path.home(), {"Stop": running("echo user")}, disableAllHooks=False)
    claude(project, {}, disableAllHooks=True)
    untrusted = used(await assembled(project))
    trust(project)

    assert (untrusted, used(await assembled(project))) == (["echo user"], [])


async def test_trust_given_later_applies_from_the_next_run_on(project: Path):
    claude(project, {"UserPromptSubmit": running("echo from the project")})
    assembly = await assembled(project, "one", "two")
    await assembly.agent.prompt("go")
    trust(project)

    await assembly.reload_folder(assembly.options, assembly.settings)
    await assembly.agent.prompt("again")

    assert "from the project" not in str(assembly.agent.messages[:2])
    assert "from the project" in str(assembly.agent.messages[2:])


async def test_mistake_in_a_file_is_a_warning(project: Path):
    configure('[[hooks.PreToolUs]]\ncommand = "true"\n')

    assembly = await assembled(project)

    assert any("hooks.PreToolUs is not an event" in each for each in assembly.warnings)


async def test_sessions_begin_and_end_with_their_hooks(project: Path):
    log = project / "log"
    fields = r's/.*"session_id": "([^"]{8}).*"hook_event_name": "([^"]*)", "(source|reason)": "([^"]*)".*/\2 \4 \1/'
    note = json.dumps(f"echo \"$(sed -E '{fields}')\" >> {log}")
    tables = (f"[[hooks.{event}]]\ntimeout = 30\ncommand = {note}\n" for event in ("SessionStart", "SessionEnd"))
    configure("".join(tables))
    assembly = await assembled(project, "one")
    first = assembly.agent.session_id

    async def logged(count: int) -> list[str]:
        async with asyncio.timeout(20):
            while not log.exists() or log.read_text().count("\n") < count:
                await asyncio.sleep(0.01)
        return log.read_text().splitlines()

    assembly.hooks.start()
    await assembly.agent.prompt("go")
    assembly.start_session()
    second = assembly.agent.session_id
    await logged(3)
    await assembly.resume(load_reference(find_reference(assembly.options.paths.data, project, first)))
    await logged(5)
    await assembly.agent.close()
    assembly.close()

    assert sorted(await logged(6)) == sorted(
        [
            f"SessionStart startup {first[:8]}",
            f"SessionEnd clear {first[:8]}",
            f"SessionStart clear {second[:8]}",
            f"SessionEnd resume {second[:8]}",
            f"SessionStart resume {first[:8]}",
            f"SessionEnd prompt_input_exit {first[:8]}",
        ]
    )


def test_trust_question_names_the_hooks(project: Path):
    claude(project, {"Stop": running("x"), "PreToolUse": running("y")}, permissions={"allow": ["Bash(ls)"]})
    (project / ".cinch").mkdir()
    (project / ".cinch" / "config.toml").write_text('[[hooks.Stop]]\ncommand = "true"\n')
    paths = find_paths(os.environ)
    options = Options(project, paths, os.environ, config_sources(paths, project))

    rows = question(options, *folder_state(options)).rows

    assert rows == (
        (".cinch/config.toml", "configuration · runs hooks at Stop"),
        (
            ".claude/settings.json",
            "Claude Code settings · runs hooks at Stop, PreToolUse; 1 permission rule · rules not imported",
        ),
    )


async def test_command_lists_and_tests_hooks(project: Path):
    claude(project, {"PreToolUse": running("echo untrusted", "Edit"), "Setup": running("x")})
    configure(f'[[hooks.PreToolUse]]\nmatcher = "Bash"\ncommand = "{DENY}"\n[[hooks.Stop]]\ncommand = "true"\n')
    host = RecordingHost()
    assembly = await assembled(project)
    host.session._assembly = assembly  # pyright: ignore[reportPrivateUsage] as a front end does when it opens

    await hooks_command(host, "")
    await hooks_command(host, "test pretooluse")
    await hooks_command(host, "test PreToolUse Write")
    with pytest.raises(CinchError, match="did you mean"):
        await hooks_command(host, "test PreTooluse2")

    listed, tested, other = [call[2] for call in host.calls if call[0] == "show"]
    assert f"- `{DENY}` · matches `Bash` · user, " in listed
    assert "- `echo untrusted` · matches `Edit` · project, " in listed
    assert "**not trusted, does not run**" in listed
    assert "Setup is an event that cinch does not have" in listed
    assert "exit code 2, " in tested
    assert "- decision: deny, `not today`" in tested
    assert other == "No hook of PreToolUse matches Write."


async def test_blocked_prompt_returns_to_the_input(project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    claude(Path.home(), {"UserPromptSubmit": running(DENY)})
    app = chat(project)
    async with app.run_test() as pilot:
        await ready(pilot, app)
        await pilot.press(*"tell me", "enter")
        blocks = app.controller.view.widgets.transcript.blocks
        await until(pilot, lambda: "Message blocked: not today" in [getattr(each, "text", "") for each in blocks])
        await until(pilot, lambda: app.controller.view.prompt.text == "tell me")


def print_mode(folder: Path, script: list[Item], *flags: str) -> tuple[subprocess.CompletedProcess[str], ModelServer]:
    command = [sys.executable, "-m", "cinch_tui", "-p", "-m", "anthropic/fake-model", "go", *flags]
    with ModelServer(script) as server:
        environment = {"ANTHROPIC_API_KEY": "sk-secret", "ANTHROPIC_BASE_URL": server.url}
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    return done, server


def test_hooks_run_in_print_mode_without_api_keys(project: Path):
    claude(project, {"PreToolUse": running(DENY, "Bash"), "SessionStart": running("env > environment; echo on main")})
    trust(project)
    script: list[Item] = [Reply(calls=[("bash", {"command": "touch made"})]), Reply("done")]

    done, server = print_mode(project, script, "--allow", "bash", "--output-format", "stream-json")

    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, lines[-1]["result"]) == (0, "done"), done.stderr
    results = [str(line["message"]["content"]) for line in lines if line["type"] == "user"]
    assert ["'is_error': True" in each and "not today" in each for each in results] == [True]
    assert "Blocked by a hook: not today" in json.dumps(server.requests[1].body)
    assert "on main" in json.dumps(server.requests[0].body)
    variables = (project / "environment").read_text()
    assert f"CLAUDE_PROJECT_DIR={project}" in variables
    assert f"CINCH_PROJECT_DIR={project}" in variables
    assert "sk-secret" not in variables


def test_start_without_hooks_imports_nothing_for_them(project: Path):
    code = (
        "import asyncio, os, sys\n"
        "from pathlib import Path\n"
        "from cinch_tui.assembly.building import assemble\n"
        "from cinch_tui.cli.start import config_sources\n"
        "from cinch_tui.config.options import Options\n"
        "from cinch_tui.config.paths import find_paths\n"
        "from cinch_tui.config.settings import Settings\n"
        "from harness.ports.interaction import NonInteractive\n"
        "from providers.demo import scripted\n"
        "paths = find_paths(os.environ)\n"
        "options = Options(Path.cwd(), paths, os.environ, config_sources(paths, Path.cwd()))\n"
        "asyncio.run(assemble(options, Settings(), NonInteractive(), model=scripted()))\n"
        "print([name for name in sys.modules if name.startswith('extensions.hooks')])\n"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


def test_hook_of_a_file_asks_the_model_of_the_session_if_there_is_no_small_one(project: Path):
    claude(Path.home(), {"Stop": [{"hooks": [{"type": "prompt", "prompt": "Finished? $ARGUMENTS"}]}]})
    script: list[Item] = [Reply("done"), Reply('{"ok": false, "reason": "write tests"}'), Reply("tests"), Reply("?")]

    done, server = print_mode(project, script, "--output-format", "stream-json")

    assert json.loads(done.stdout.splitlines()[-1])["result"] == "tests", done.stderr
    assert "Finished? {" in str(server.requests[1].body["messages"])
    assert "[Stop hook]\\nwrite tests" in str(server.requests[2].body["messages"])
    assert "did not answer with" in done.stderr + done.stdout
    assert [request.body["model"] for request in server.requests] == ["fake-model"] * 4


@pytest.mark.parametrize(
    ("name", "model"),
    [("", "anthropic/claude-haiku"), ("haiku", "anthropic/claude-haiku"), ("anthropic/x", "anthropic/x")],
)
async def test_hook_asks_the_small_model_or_the_one_it_names(project: Path, name: str, model: str):
    configure("")
    assembly = await assembled(project)
    assembly.keys = KeyStore(find_paths(os.environ), {"ANTHROPIC_API_KEY": "sk-x"})
    assembly.agent.set_model(assembly.connect("anthropic/claude-sonnet-4-5", "off"))

    found = await assembly.connect_cheap(name)

    assert found is not None
    assert found.spec.name.startswith(model)
