from __future__ import annotations

import asyncio
import shlex
from pathlib import Path

import pytest
from fakes.contexts import tool_context
from msgspec.structs import replace

from harness.approval.explanation import CallSettings, explain
from harness.approval.modes import EXECUTE, ApprovalMode
from harness.approval.policy import Permissions
from harness.approval.store import RuleStore, WrittenRule
from harness.jobs import Jobs
from harness.messages import JsonObject, JsonValue, Text, ToolCall
from harness.permissions import Decision, RuleSource
from harness.ports.tool import ToolOutput, renewed_tools
from harness.workspace.workspace import Workspace
from tools.bash import BashTool
from tools.builtin import LazyTool, ToolOptions
from tools.shell_options import ShellOptions
from tools.shell_state import ShellState, read_report


class Shell:
    """Persistent shell in a folder, with background jobs."""

    def __init__(self, folder: Path) -> None:
        self.tool = BashTool(options=ShellOptions(persistent=True))
        self.jobs = Jobs()
        self._folder = folder
        self._context = replace(tool_context(folder), jobs=self.jobs)

    async def run(self, command: str, **arguments: JsonValue) -> str:
        return text_of(await self.call(self.valid(command, **arguments)))

    async def call(self, arguments: JsonObject) -> ToolOutput:
        return await self.tool.run(arguments, self._context)

    def valid(self, command: str, **arguments: JsonValue) -> JsonObject:
        return self.tool.validate({"command": command, **arguments})

    @property
    def state(self) -> ShellState:
        return self.tool.shell

    def decision(self, command: str, approval: ApprovalMode = "smart", *allowed: str) -> Decision:
        rules = RuleStore()
        rules.load([WrittenRule(each, "allow", RuleSource("user")) for each in allowed])
        settings = CallSettings(Permissions(EXECUTE, approval, rules), Workspace(self._folder), (self.tool,))
        return explain(settings, ToolCall(id="1", name="bash", arguments={"command": command}))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    (folder / ".git").mkdir()
    return folder


@pytest.fixture
def shell(folder: Path) -> Shell:
    return Shell(folder)


def text_of(output: ToolOutput) -> str:
    return "\n".join(block.text for block in output.content if isinstance(block, Text))


async def test_folder_and_exported_variables_last_for_later_commands(shell: Shell, folder: Path) -> None:
    left = await shell.run("cd sub && export MODE='a\nb' && lost=1; exit 3")
    later = await shell.run("printenv >/dev/null; pwd; printenv MODE; echo ${lost-gone}")

    assert left.endswith("[Later commands start with: folder sub; variables MODE]")
    assert left.startswith("Exit code: 3\n")
    assert later == f"Exit code: 0\n{folder}/sub\na\nb\ngone"


async def test_functions_and_simple_aliases_last_for_commands_that_mention_them(shell: Shell) -> None:
    left = await shell.run(
        "up() { echo \"${1^^}\"; }; twice() { up \"$1$1\"; }; alias ll='ls -1' ls='ls -a' odd='$(up)'"
    )
    later = await shell.run("twice 'ab'; cd sub; touch it; ll; bash -c 'type up' 2>&1 | tail -c 11")
    listed = await shell.run("ls; true > out")
    removed = await shell.run("unset -f twice")

    assert left.endswith("[Later commands start with: functions ll, ls, twice, up]")
    assert later.splitlines()[:5] == ["Exit code: 0", "ABAB", ".", "..", "it"]
    assert " not found" in later
    assert listed.splitlines()[1:4] == [".", "..", "it"]
    assert removed.endswith("functions ll, ls, up]")


ALIASES = {
    "gl": """true | echo --format="%h %s" 'a  b' "$MODE" """,
    "quo": r"""echo it\'s '*' "x\"y" """,
    "two": "true && echo second",
    "echo2": "echo echo2",
    "grep": "grep --color=never -e",
    "first": "echo $1",
    "sub": "echo $(pwd)",
    "loop": "for x in a b; do echo",
    "out": "echo > x",
    "itself": "true; itself",
    "open": "echo '",
}


async def test_aliases_with_quotes_last(shell: Shell) -> None:
    given = " ".join(f"{name}={shlex.quote(value)}" for name, value in ALIASES.items())
    left = await shell.run(f"export MODE=safe; alias {given}")
    used = await shell.run("gl c 'd  e'; quo z; two third; printf 'ab\\ncd\\n' | grep c; true > x")

    assert left.endswith("; functions gl, grep, quo, two]")
    assert used.splitlines()[1:] == ["--format=%h %s a  b safe c d  e", """it's * x"y z""", "second third", "cd"]


def test_alias_of_any_form_is_read_quickly(tmp_path: Path) -> None:
    value = f'echo "{"$aaaaaaaaaaaa" * 200}{"$a b" * 200} `'
    (tmp_path / "state").write_text(f"/\n\0alias a={shlex.quote(value)}\n\0:\0A=1\0")

    report = read_report(tmp_path / "state", {}, tmp_path)

    assert report is not None
    assert report.functions == {}


async def test_options_last_until_they_are_turned_off(shell: Shell) -> None:
    left = await shell.run("shopt -s globstar extglob; set -o pipefail; mkdir -p d/e; touch d/e/x.txt")
    used = await shell.run(
        "echo **/*.txt !(a.txt|d|x); false | true; echo $?; bash -c 'shopt -q globstar' || echo own; : > x"
    )
    script = await shell.run("set -euo noclobber; shopt -u globstar; : > y")
    later = await shell.run("echo $UNSET **/*.txt; false; : > x")
    off = await shell.run("shopt -u extglob; set +o pipefail; : > y")

    assert left.endswith("[Later commands start with: options extglob, globstar, pipefail]")
    assert used.splitlines()[1:] == ["d/e/x.txt sub", "1", "own"]
    assert script.endswith("[Later commands start with: options extglob, pipefail]")
    assert later.startswith("Exit code: 0")
    assert off.endswith("[Later commands start with: the workspace root, nothing else]")


async def test_command_is_analyzed_with_options_that_change_its_patterns(shell: Shell) -> None:
    await shell.run("shopt -s dotglob; set -o pipefail; : > x")

    assert shell.decision("cat a.txt | head").kind == "allow"
    for command in ("cat *", "x='*'; cat $x", "cat `echo '*'`"):
        decision = shell.decision(command, "smart", "bash(cat:*)")
        assert decision.kind == "ask"
        assert "shell options of earlier commands: dotglob, pipefail" in decision.risk.reason
    assert shell.decision("cat *", "smart", "bash(shopt -s dotglob)").kind == "allow"


async def test_reading_command_keeps_the_options(shell: Shell) -> None:
    await shell.run("set -o pipefail; : > x")

    assert (await shell.run("cat missing.txt 2>/dev/null | head")).startswith("Exit code: 1")


async def test_function_is_analyzed_with_the_command_that_mentions_it(shell: Shell) -> None:
    await shell.run('go() { git push "$@"; }; ls() { rm -r "$1"; }; cd() { true; }')

    risk = shell.tool.risk(shell.valid("go origin"))
    assert [command.words[:2] for command in risk.commands] == [("git", "push"), ("go", "origin")]
    assert risk.reason.endswith("with functions of earlier commands: go")
    assert shell.decision("go origin", "off").kind == "allow"
    assert shell.decision("ls", "smart").kind == "ask"
    assert shell.decision("cat a.txt", "smart").kind == "allow"
    assert "cd" not in shell.state.functions


async def test_reading_command_gets_no_function(shell: Shell) -> None:
    await shell.run("helper() { touch ran; }; true > x")

    assert shell.decision("echo helper").kind == "ask"
    assert await shell.run("echo hel''per") == "Exit code: 0\nhelper"


async def test_restoring_a_function_runs_nothing(shell: Shell, folder: Path) -> None:
    await shell.run("f() { echo f; }; true > x")
    shell.state.functions["f"] = "() { echo f; }; touch ran"

    await shell.run("f; true > x")

    assert not (folder / "ran").exists()


async def test_functions_of_any_size_are_not_kept(shell: Shell) -> None:
    left = await shell.run(f"small() {{ echo small; }}; large() {{ echo {'x' * 70_000}; }}; true > x")

    assert left.endswith("[Later commands start with: functions small]")


def test_description_tells_the_model_what_lasts() -> None:
    tools = [LazyTool("bash", ToolOptions(shell=ShellOptions(persistent=persistent))) for persistent in (False, True)]
    alone, persistent = (tool.description for tool in tools)

    assert "last for one call only" in alone
    assert "last for later replies" not in alone
    assert "last for one call only" not in persistent
    assert (
        "functions, simple aliases and options (`shopt`, `set -o pipefail`) of a call last for later replies"
        in persistent
    )


async def test_shell_that_is_not_persistent_keeps_nothing(folder: Path) -> None:
    tool, context = BashTool(), tool_context(folder)

    await tool.run(tool.validate({"command": "cd sub; export MODE=1"}), context)
    output = await tool.run(tool.validate({"command": "pwd; echo ${MODE-gone}"}), context)

    assert text_of(output) == f"Exit code: 0\n{folder}\ngone"


@pytest.mark.parametrize("end", ["timeout", "cancelled", "background", "killed"])
async def test_command_that_does_not_end_in_its_call_changes_nothing(shell: Shell, end: str) -> None:
    before = await shell.run("export KEPT=1")
    command = "cd sub; export LOST=1; until [ -e ../go ]; do sleep 0.01; done"
    if end == "timeout":
        await shell.run(command, timeout_s=0.3)
    elif end == "background":
        await shell.run(command, background=True)
    elif end == "killed":
        await shell.run("cd sub; export LOST=1; kill -KILL $$")
    else:
        call = asyncio.create_task(shell.call(shell.valid(command)))
        await asyncio.sleep(0.1)
        call.cancel()
        await asyncio.wait([call])
    await shell.jobs.close()

    assert "KEPT" in before
    assert shell.state == ShellState("", {"KEPT": "1"})


async def test_removed_and_restored_variables_are_no_longer_listed(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIVEN", "1")

    await shell.run("export NEW=1 GIVEN=2")
    await shell.run("unset NEW; export GIVEN=1")
    restored = shell.state.description
    await shell.run("unset GIVEN")

    assert restored == ""
    assert shell.state.variables == {"GIVEN": None}
    assert await shell.run("printenv >/dev/null; echo ${GIVEN-gone}") == "Exit code: 0\ngone"


async def test_folder_that_was_removed_stops_one_command_only(shell: Shell, folder: Path) -> None:
    await shell.run("cd sub")
    (folder / "sub").rmdir()

    assert "did not run" in await shell.run("touch ran")
    assert await shell.run("pwd") == f"Exit code: 0\n{folder}"
    assert not (folder / "ran").exists()


async def test_variables_that_steer_the_shell_or_the_meaning_of_paths_are_not_kept(shell: Shell) -> None:
    await shell.run("export HOME=/etc CDPATH=/ BASH_ENV=x IFS=x; ls() { rm -r /; }; export -f ls; export OK=1")

    assert shell.state.variables == {"OK": "1"}


async def test_reading_command_sees_variables_but_its_programs_do_not(shell: Shell, folder: Path) -> None:
    (folder / "bin").mkdir()
    fake = folder / "bin" / "ls"
    fake.write_text("#!/bin/sh\necho hijacked\n")
    fake.chmod(0o755)
    await shell.run('export PATH="$PWD/bin:$PATH" GIT_DIR=/nowhere WORD=seen; export LD_X=1')

    reading = await shell.run("echo $WORD; ls sub; git status 2>&1 | head -1")

    assert shell.decision("echo $WORD; ls sub").kind == "allow"
    assert reading.splitlines()[1] == "seen"
    assert "hijacked" not in reading
    assert "nowhere" not in reading
    assert "hijacked" in await shell.run("ls; printenv >/dev/null")


@pytest.mark.parametrize(
    ("earlier", "command", "approval", "kind"),
    [
        ("sub", "cat ../a.txt", "smart", "allow"),
        ("sub", "cat ../../a.txt", "smart", "ask"),
        ("..", "cat a.txt", "smart", "ask"),
        ("..", "ls", "smart", "ask"),
        ("/etc", "cat passwd", "smart", "ask"),
        ("..", "echo x > a.txt", "edits", "ask"),
        ("link", "cat a.txt", "smart", "ask"),
        ("sub", "rm -rf ..", "off", "deny"),
        ("sub", "rm -rf ../sub/..", "off", "deny"),
    ],
)
async def test_relative_paths_are_those_of_the_folder_an_earlier_command_entered(
    folder: Path, earlier: str, command: str, approval: ApprovalMode, kind: str
) -> None:
    (folder / "link").symlink_to(folder.parent)
    shell = Shell(folder)
    await shell.run(f"cd {earlier}")

    assert shell.decision(command, approval).kind == kind


async def test_protected_file_is_one_in_the_folder_an_earlier_command_entered(shell: Shell) -> None:
    before = shell.decision("echo x > config").risk.level
    await shell.run("cd .git")

    assert (before, shell.decision("echo x > config").risk.level) == ("execute", "dangerous")


async def test_rules_cover_a_command_in_the_folder_it_was_allowed_in(shell: Shell) -> None:
    allowed = ("bash(=./run.sh)", "edit(sub/**)")
    before = shell.decision("./run.sh", "smart", *allowed).kind
    await shell.run("cd sub")

    assert before == "allow"
    assert shell.decision("./run.sh", "smart", *allowed).kind == "ask"
    assert shell.decision("echo x > a.txt", "smart", *allowed).kind == "allow"
    assert shell.decision("echo x > ../a.txt", "smart", *allowed).kind == "ask"


async def test_call_runs_in_the_folder_it_was_approved_for(shell: Shell, folder: Path) -> None:
    approved = shell.valid("pwd; cd .. && pwd")
    await shell.run("cd sub")

    assert text_of(await shell.call(approved)).splitlines()[1:3] == [str(folder), str(folder.parent)]
    assert shell.tool.risk(shell.valid("make")).cwd == str(folder.parent)


async def test_reason_names_variables_of_earlier_commands(shell: Shell) -> None:
    await shell.run("export B=1 A=2")

    assert shell.tool.risk(shell.valid("make")).reason.endswith("with variables of earlier commands: A, B")


async def test_renewed_tool_starts_without_state(shell: Shell) -> None:
    await shell.run("cd sub; export A=1")
    (renewed,) = renewed_tools([shell.tool])

    assert isinstance(renewed, BashTool)
    assert renewed.validate({"command": "pwd"})["cwd"] is None
    assert shell.valid("pwd")["cwd"] == "sub"


def test_state_survives_names_with_quotes_and_newlines(tmp_path: Path) -> None:
    odd = tmp_path / "it's a\nfolder"
    odd.mkdir()
    shell = Shell(tmp_path)

    asyncio.run(shell.run("cd it*"))

    assert shell.state.folder == "it's a\nfolder"
