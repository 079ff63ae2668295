"""`cinch doctor` as users run it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect
import pytest
from fakes.cinch_process import CINCH, run
from fakes.model_server import Failure, Hang, ModelServer, Reply
from fakes.script import Script

Begin = Callable[[Script], ModelServer]
COMMAND = [*CINCH, "doctor"]
KEY = "sk-canary-0123456789"


def doctor(*arguments: str, folder: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    return run([*COMMAND, *arguments], cwd=folder, **environment)


def test_a_machine_without_anything_set_up_is_well() -> None:
    done = doctor("--offline")

    assert done.returncode == 0, done.stdout
    assert "note services        no API key and no local server found" in done.stdout


def test_all_configured_services_are_checked_within_80_columns(anthropic: Begin) -> None:
    anthropic([Failure(401, f"invalid key {KEY}: {'no ' * 60}")])

    done = doctor()

    assert done.returncode == 1
    assert "bad  anthropic       key: " in done.stdout
    assert "ok   python" in done.stdout
    assert KEY not in done.stdout
    # A path too long for a line is not broken.
    assert [line for line in done.stdout.splitlines() if len(line) > 80 and len(line.split()) > 3] == []


def test_a_service_that_is_well_makes_status_0(anthropic: Begin) -> None:
    anthropic([Reply("OK")])

    done = doctor("anthropic")

    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("ok   anthropic       answer: ")


@pytest.mark.parametrize("line", ["[model]\nname", "[providers]\nfallback"])
def test_model_of_the_configuration_needs_no_provider_name(own_home: Path, line: str) -> None:
    name = '["claude-sonnet-5-5"]' if line.endswith("fallback") else '"claude-sonnet-5-5"'
    config = own_home / "cinch" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(f"{line} = {name}\n")

    done = doctor("--offline", ANTHROPIC_API_KEY=KEY)

    assert done.returncode == 0, done.stdout
    assert "anthropic/claude-sonnet-5-5" in done.stdout


RULES = """\
[permissions]
allow = ["bash(git status:*)", "bash(sudo ls:*)", "bahs(ls)", "grep", "bash(make test:*)"]
deny = ["bash(git:*)", "grep"]
[permissions.examples]
"bash(make test:*)" = ["make tests"]
"""


def test_rules_without_effect_and_ignored_files_are_reported(own_home: Path, tmp_path: Path) -> None:
    config = own_home / "cinch" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(RULES)
    (tmp_path / "AGENTS.md").write_text("Rhyme.")

    done = doctor("--offline", "--json", folder=tmp_path)
    found = [(each["subject"], each["message"]) for each in json.loads(done.stdout)["findings"]]
    place = f"{config}, line 2: "

    assert done.returncode == 0
    assert ("trust", f"{tmp_path} is not trusted; ignored: AGENTS.md") in found
    assert [text.removeprefix(place) for subject, text in found if subject == "permissions"] == [
        "approval smart: calls that change files or run programs need approval; 4 allow, 2 deny",
        "bash(make test:*) does not match 'make tests'; the rule has no effect",
        "bahs(ls) has no effect: there is no tool named bahs",
        "bash(git status:*) never applies: deny bash(git:*) comes first",
        "bash(sudo ls:*) never applies: sudo ls is dangerous",
        "grep never applies: deny grep comes first",
    ]


def test_rules_for_all_tools_are_known_and_those_with_names_of_claude_code_get_a_hint(
    own_home: Path, tmp_path: Path
) -> None:
    config = own_home / "cinch" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    known = ["lsp", "web_search", "apply_patch", "think", "skill", "run_command(ls:*)", "mcp__x__y"]
    config.write_text(f"[permissions]\nallow = {json.dumps([*known, 'Bash(ls)', 'Task', 'Glob'])}\n")

    done = doctor("--offline", "--json", folder=tmp_path)

    found = [each["message"] for each in json.loads(done.stdout)["findings"] if each["subject"] == "permissions"]
    assert [text.partition(", line 2: ")[2] for text in found[1:]] == [
        "Bash(ls) has no effect: there is no tool named Bash; rules name it bash",
        "Task has no effect: there is no tool named Task; rules name it delegate_subagent",
        "Glob has no effect: there is no tool named Glob; rules name it find_files or list_files",
    ]


def test_invalid_deny_rule_is_an_error(own_home: Path) -> None:
    config = own_home / "cinch" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text('[permissions]\ndeny = ["bash("]\n')

    done = doctor("--offline")

    assert done.returncode == 1
    assert f"bad permissions {config}, line 2: 'bash(' is not a permission rule" in " ".join(done.stdout.split())


def test_scripts_get_one_object(anthropic: Begin) -> None:
    anthropic([Failure(429, "slow down")])

    done = doctor("anthropic", "--json")

    assert done.returncode == 0
    [finding] = json.loads(done.stdout)["findings"]
    assert finding["level"] == "note"
    assert finding["subject"] == "anthropic"
    assert finding["step"] == "answer"
    assert finding["remedy"].startswith("connection and key are valid")


def test_a_wrong_configuration_does_not_keep_the_doctor_from_looking(own_home: Path) -> None:
    (own_home / "cinch" / "config.toml").write_text("[model]\nnme = 3\n")
    (own_home / "cinch" / "data").mkdir()
    (own_home / "cinch" / "data" / "credentials.json").write_text("{")

    done = doctor("--offline")

    assert done.returncode == 1
    assert "bad  configuration" in done.stdout
    assert done.stdout.count("is not valid JSON") == 1


@pytest.mark.parametrize(
    ("argument", "reported"), [("--ofline", "unrecognized"), ("antropic", "did you mean anthropic")]
)
def test_invalid_argument_is_rejected(argument: str, reported: str) -> None:
    done = doctor(argument)

    assert done.returncode == 2
    assert reported in done.stderr


def test_help_lists_the_options() -> None:
    done = doctor("-h")

    assert done.returncode == 0
    assert "--offline" in done.stdout
    assert "usage: cinch doctor" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_ctrl_c_ends_it_at_once(anthropic: Begin) -> None:
    server = anthropic([Hang()])
    command: Any = pexpect.spawn  # pyright: ignore[reportUnknownMemberType] - pexpect has no types
    terminal = command(COMMAND[0], COMMAND[1:], encoding="utf-8", dimensions=(24, 80), timeout=60)
    terminal.expect("checking anthropic")
    while not server.requests:
        terminal.expect([".", pexpect.TIMEOUT], timeout=0.05)

    terminal.sendintr()
    terminal.expect(pexpect.EOF)
    terminal.close()

    assert terminal.exitstatus == 130
    assert "Traceback" not in terminal.before
