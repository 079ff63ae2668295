from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from fakes.contexts import tool_context
from fakes.hostile_repository import GIT, HostileRepository, bare_layout

from tools.bash import BashTool
from tools.environment import git_environment, read_only_environment


@pytest.fixture
def attack(tmp_path: Path) -> HostileRepository:
    return HostileRepository(tmp_path)


async def bash(attack: HostileRepository, command: str) -> str:
    output = await BashTool().run(BashTool().validate({"command": command}), tool_context(attack.root))
    return "".join(getattr(block, "text", "") for block in output.content)


@pytest.mark.parametrize(
    "command", ["git status", "git status && true", "git diff", "git log", "git ls-files", "git add ."]
)
async def test_folder_that_looks_like_a_bare_repository_is_not_used_by_git(attack: HostileRepository, command: str):
    bare_layout(attack.root, f"fsmonitor = {attack.program}\n[diff]\nexternal = {attack.program}\n")
    attack.shell("git status")
    works_without_protection = attack.has_run
    attack.trace.unlink()

    printed = (await bash(attack, command)).lower()

    assert works_without_protection
    assert "cannot use bare repository" in printed or "not a git repository" in printed
    assert not attack.has_run


@pytest.mark.parametrize(
    ("key", "command"),
    [
        ("core.fsmonitor", "git status"),
        ("core.fsmonitor", "git add . && git status"),
        ("diff.external", "git diff"),
        ("diff.evil.command", "git diff"),
        ("diff.evil.textconv", "git diff"),
        ("diff.evil.textconv", "git log -p | head -50"),
        ("diff.evil.textconv", "git show"),
        ("diff.evil.textconv", "git blame f.py"),
        ("filter.evil.clean", "git diff"),
        ("filter.evil.process", "git diff"),
        ("core.pager", "script -qec 'git log' /dev/null"),
        ("pager.log", "script -qec 'git log' /dev/null"),
        ("gpg.program", "git log --show-signature"),
    ],
)
async def test_reading_with_git_runs_no_program_that_the_repository_configures(
    attack: HostileRepository, key: str, command: str
):
    attack.repository(**{key: str(attack.program)})
    (attack.root / ".gitattributes").write_text("* diff=evil filter=evil\n")
    sign = "/^committer/a gpgsig -----BEGIN PGP SIGNATURE-----\\n x\\n -----END PGP SIGNATURE-----"
    attack.shell(
        f"git cat-file commit HEAD | sed '{sign}' > ../c; git update-ref HEAD $(git hash-object -t commit -w ../c)"
    )

    await bash(attack, command)

    assert not attack.has_run


@pytest.mark.parametrize("key", ["core.fsmonitor", "diff.evil.textconv", "filter.evil.clean"])
async def test_reading_runs_no_program_that_a_submodule_configures(attack: HostileRepository, key: str):
    attack.repository(diff__submodule="diff")
    attack.shell(f"{GIT} -c protocol.file.allow=always submodule add -q ./ libs/sub; {GIT} commit -qam submodule")
    attack.shell(
        f"git -C libs/sub config {key} {attack.program}; echo '* diff=evil filter=evil' > libs/sub/.gitattributes"
    )
    (attack.root / "libs/sub/f.py").write_text("two\n")

    printed = await bash(attack, "git status && git diff")

    assert "libs/sub" in printed
    assert not attack.has_run


@pytest.mark.parametrize("nested", ["sub", "sub/deep"])
@pytest.mark.parametrize("command", ["git status", "git diff"])
async def test_reading_runs_no_filter_of_a_submodule_with_a_repository_of_its_own(
    attack: HostileRepository, command: str, nested: str
):
    attack.repository()
    commit = f"echo one > f.py; git add .; {GIT} commit -qm one"
    attack.shell(
        f"mkdir -p sub/deep; cd sub/deep; git init -q; {commit}; cd ..; git init -q; {commit}; cd ..; {commit}"
    )
    attack.shell(f"cd {nested}; git config filter.evil.clean {attack.program}; echo '* filter=evil' > .gitattributes")
    (attack.root / nested / "f.py").write_text("two\n")

    await bash(attack, command)

    assert not attack.has_run


async def test_reading_fetches_no_missing_object_with_a_program_that_the_repository_names(attack: HostileRepository):
    remote = {
        "remote__o__url": f"ext::{attack.program}",
        "remote__o__promisor": "true",
        "protocol__ext__allow": "always",
    }
    attack.repository(**remote, extensions__partialClone="o")

    await bash(attack, f"git log {'de' * 20}")

    assert not attack.has_run


@pytest.mark.parametrize("enter", ["cd project", "cd a/../project/ && cd .", "cd {root}"])
@pytest.mark.parametrize("key", ["diff.evil.textconv", "filter.evil.clean"])
async def test_reading_in_a_folder_that_the_command_enters_runs_no_program(
    attack: HostileRepository, key: str, enter: str
):
    attack.repository(**{key: str(attack.program)})
    (attack.root / ".gitattributes").write_text("* diff=evil filter=evil\n")
    (attack.root.parent / "a").mkdir()
    tool, command = BashTool(), f"{enter.format(root=attack.root)} && git diff | head -20"

    output = await tool.run(tool.validate({"command": command}), tool_context(attack.root.parent))

    assert "+two" in str(output.content)
    assert not attack.has_run


async def test_driver_in_an_included_file_is_not_run(attack: HostileRepository):
    attack.repository(include__path="../innocent.txt")
    (attack.root / "innocent.txt").write_text(f"[diff]\nexternal = {attack.program}\n")

    printed = await bash(attack, "git diff")

    assert not attack.has_run
    assert "git diff --no-ext-diff" in printed


async def test_diff_without_external_programs_shows_the_change(attack: HostileRepository):
    attack.repository(diff__external=str(attack.program), diff__evil__textconv=str(attack.program))
    (attack.root / ".gitattributes").write_text("* diff=evil\n")

    printed = await bash(attack, "git diff --no-ext-diff f.py")

    assert "+two" in printed
    assert not attack.has_run


async def test_reading_with_git_runs_no_hook(attack: HostileRepository):
    attack.repository()
    (attack.root / ".git/hooks/post-index-change").symlink_to(attack.program)
    os.utime(attack.root / "f.py", (1, 1))
    (attack.root / "f.py").write_text("one\n")

    await bash(attack, "git status")

    assert not attack.has_run


async def test_hooks_and_ssh_command_of_the_user_work_for_other_git_commands(attack: HostileRepository):
    attack.repository(core__sshCommand=f"{attack.program} ssh")
    (attack.root / ".git/hooks/pre-commit").symlink_to(attack.program)

    await bash(attack, f"{GIT} commit -qam second")
    await bash(attack, "git fetch ssh://host.invalid/x")

    trace = attack.trace.read_text()
    assert "pre-commit" in trace
    assert "program ssh" in trace


async def test_filters_of_the_user_work_for_other_git_commands(attack: HostileRepository):
    attack.repository(filter__upper__clean="tr a-z A-Z")
    (attack.root / ".gitattributes").write_text("*.txt filter=upper\n")
    (attack.root / "a.txt").write_text("text\n")

    printed = await bash(attack, "git add a.txt && git show :a.txt")

    assert printed.endswith("\nTEXT")


def test_configuration_that_the_environment_holds_already_is_kept(tmp_path: Path):
    base = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "me"}

    environment = git_environment(base | os.environ, [tmp_path], "any")
    reported = subprocess.run(
        ["git", "config", "--list", "--show-scope"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert "command\tuser.name=me" in reported
    assert "command\tsafe.barerepository=explicit" in reported


async def test_code_of_the_project_may_work_in_bare_repositories(attack: HostileRepository):
    (attack.root / "test.sh").write_text("git init -q --bare origin; git -C origin rev-parse --is-bare-repository\n")

    assert (await bash(attack, "sh test.sh")).endswith("\ntrue")


def test_command_that_only_reads_gets_no_variable_that_names_a_program(tmp_path: Path):
    outside = tmp_path / "outside"
    root = tmp_path / "root"
    for folder in (outside, root / "bin"):
        folder.mkdir(parents=True)
    (tmp_path / "link").symlink_to(root / "bin")
    path = os.pathsep.join([str(root / "bin"), "bin", "", str(tmp_path / "link"), str(outside)])
    steering = ("LESSOPEN", "BASH_ENV", "LD_PRELOAD", "GIT_SSH_COMMAND", "GIT_TRACE", "RIPGREP_CONFIG_PATH", "CDPATH")
    base = dict.fromkeys(steering, "evil") | {"PATH": path, "HOME": "/home/me", "GIT_CONFIG_COUNT": "0"}

    environment = read_only_environment(base, root)

    assert environment == {"PATH": str(outside), "HOME": "/home/me", "GIT_CONFIG_COUNT": "0"}


async def test_program_in_the_workspace_is_not_run_in_place_of_one_that_reads(
    attack: HostileRepository, monkeypatch: pytest.MonkeyPatch
):
    program = attack.root / "ls"
    program.write_text("#!/bin/sh\necho hijacked\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{attack.root}{os.pathsep}{os.environ['PATH']}")

    assert "hijacked" not in await bash(attack, "ls")
    assert "hijacked" in await bash(attack, "ls > out; cat out")
