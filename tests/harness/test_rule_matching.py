from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.approval.matching import Coverage, Target, affects
from harness.approval.places import Places
from harness.approval.rules import parse_rule
from harness.function_tools.names import legal_tool_name
from harness.risk import PathAccess, Risk, SimpleCommand
from tools.shell.analysis import analyze


def command(text: str, verdict: str = "other", **options: object) -> SimpleCommand:
    return SimpleCommand(tuple(text.split()), verdict="read" if verdict == "read" else "other", **options)  # pyright: ignore[reportArgumentType]


def shell(
    *commands: str | SimpleCommand, subject: str = "", concern: str = "", paths: Sequence[PathAccess] = ()
) -> Risk:
    parsed = tuple(command(each) if isinstance(each, str) else each for each in commands)
    text = " && ".join(" ".join(each.words) for each in parsed)
    return Risk("execute", commands=parsed, subject=text, concern=concern, accesses=tuple(paths))


def covering(risk: Risk, *rules: str, tool: str = "bash", root: Path = Path("/work"), edits: bool = False) -> list[str]:
    coverage = Coverage(
        Target(tool, risk, Places(root)), tuple(map(parse_rule, rules)), secrets_only, allows_edits=edits
    )
    return [str(rule) for rule in coverage.find()]


def secrets_only(risk: Risk) -> Risk:
    secret = next((each.path for each in risk.accesses if each.path.endswith(".env")), "")
    program = f"{risk.programs[0]} is a program of the workspace" if risk.programs else ""
    return Risk("read", concern=f"reads a secret: {secret}" if secret else program)


def is_affected(risk: Risk, rule: str, tool: str = "bash", root: Path = Path("/work")) -> bool:
    return affects(parse_rule(rule, "deny"), Target(tool, risk, Places(root)))


GREP = SimpleCommand(("grep", "x", "a"), verdict="read")


def test_every_command_of_a_compound_line_must_be_covered() -> None:
    both = shell("git push", "make test", GREP)

    assert covering(both, "bash(git push:*)", "bash(make:*)") == ["bash(git push:*)", "bash(make:*)"]
    assert covering(both, "bash(git push:*)") == []
    assert covering(both, "bash") == ["bash"]


def test_command_that_cannot_be_analyzed_is_covered_as_a_whole_only() -> None:
    opaque = Risk("execute", subject="git push `x`")

    assert covering(opaque, "bash(git push:*)", "bash(git * x)") == []
    assert covering(opaque, "bash(=git push `x`)") == ["bash(=git push `x`)"]
    assert covering(opaque, "bash") == ["bash"]


def test_words_known_only_at_run_time_are_covered_after_a_prefix() -> None:
    unknown = shell(command("git push $x", is_literal=False))

    assert covering(unknown, "bash(git push:*)") == ["bash(git push:*)"]
    assert covering(unknown, "bash(git push $x)", "bash(git * x)") == []
    assert covering(shell(command("$x push", is_literal=False)), "bash($x:*)") == []


def test_redirection_needs_a_rule_for_the_file() -> None:
    writes = shell(command("make", redirects=("out.txt",)))

    assert covering(writes, "bash(make:*)") == []
    assert covering(writes, "bash(make:*)", "edit(out.txt)") == ["bash(make:*)", "edit(out.txt)"]
    assert covering(writes, "bash(make:*)", edits=True) == ["bash(make:*)"]
    assert covering(shell(command("echo x", "read", redirects=("a",))), "bash(echo:*)", edits=True) == ["bash(echo:*)"]


def test_path_of_concern_is_covered_only_by_a_rule_that_names_it() -> None:
    reads = [PathAccess(".env"), PathAccess("a")]
    secret = shell(command("cat .env a", "read"), concern="reads a secret: .env", paths=reads)
    tool = Risk("read", paths=(".env",), concern="reads a secret: .env")

    assert covering(secret, "bash", "read", "bash(cat:*)") == []
    assert covering(secret, "read(.env)") == ["read(.env)"]
    assert covering(secret, "read(b)") == []
    assert covering(tool, "read_file", "read", tool="read_file") == []
    assert covering(tool, "read_file(.env)", tool="read_file") == ["read_file(.env)"]


def test_redirection_counts_in_the_folder_that_the_command_entered() -> None:
    writes = shell(command("make", redirects=("a",)), paths=[PathAccess("a", "write", cwd="sub")])

    assert covering(writes, "bash(make:*)", "edit(/a)") == []
    assert covering(writes, "bash(make:*)", "edit(/sub/a)") == ["bash(make:*)", "edit(/sub/a)"]


def test_path_rule_does_not_cover_a_concern_about_a_program() -> None:
    reads = Risk(
        "read",
        commands=(command("ls src", "read"),),
        accesses=(PathAccess("src"),),
        programs=("ls",),
        concern="ls is a program of the workspace",
    )

    assert covering(reads, "read(src/**)", "bash") == []


def test_allow_rule_must_match_the_written_and_the_resolved_path(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "secret").write_text("x", encoding="utf-8")
    (tmp_path / "src" / "link").symlink_to(tmp_path / "secret")
    link = Risk("edit", paths=("src/link",))

    assert covering(link, "edit(src/**)", tool="edit_file", root=tmp_path) == []
    assert covering(Risk("edit", paths=("src/a",)), "edit(src/**)", tool="edit_file", root=tmp_path) == ["edit(src/**)"]
    assert is_affected(link, "edit(secret)", "edit_file", tmp_path)
    assert is_affected(link, "edit(src/**)", "edit_file", tmp_path)


def test_rules_resolve_paths_as_programs_do(tmp_path: Path) -> None:
    root = tmp_path / "shop [new]"
    for name in ("shop [new]/src/a.py", "shop [new]/src/b.py", "other/deep/x", "other/secret.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (root / "link").symlink_to("../other/deep")
    above = Risk("read", accesses=(PathAccess("link/../secret.txt"),))
    glob = Risk("read", accesses=(PathAccess("src/[^b].py", is_pattern=True),))

    assert is_affected(above, f"read(/{tmp_path}/other/secret.txt)", "x", root)
    assert covering(above, "read(/secret.txt)", tool="x", root=root) == []
    assert covering(glob, "read(src/a.py)", tool="x", root=root) == ["read(src/a.py)"]
    assert is_affected(glob, "read(src/a.py)", "x", root)
    assert not is_affected(glob, "read(src/b.py)", "x", root)


def test_every_file_of_a_shell_glob_must_be_covered(tmp_path: Path) -> None:
    for name in ("a.py", "b.py", "b.txt"):
        (tmp_path / name).touch()
    python = Risk("read", accesses=(PathAccess("*.py", is_pattern=True),))
    every = Risk("read", accesses=(PathAccess("*", is_pattern=True),))

    assert covering(python, "x(*.py)", tool="x", root=tmp_path) == ["x(*.py)"]
    assert covering(every, "x(*.py)", tool="x", root=tmp_path) == []


@pytest.mark.parametrize(
    ("rule", "tool", "risk", "expected"),
    [
        ("bash(git push:*)", "bash", shell("make", "git push -f"), True),
        ("bash(git push:*)", "bash", shell("git pull"), False),
        ("bash(git push:*)", "bash", shell("/usr/bin/git push"), True),
        ("bash(sudo:*)", "bash", shell(command("ls", wrappers=("env", "sudo"))), True),
        ("bash(git push:*)", "bash", shell(command("flock x git push", is_known=False)), True),
        ("bash(git push:*)", "bash", shell("env A=1 git push"), True),
        ("bash(rm:*)", "bash", shell("git rm x"), False),
        ("bash(git push:*)", "bash", shell("git -C x push"), True),
        ("bash(git push:*)", "bash", shell("git --no-pager -c a=b push -f"), True),
        ("bash(git push:*)", "bash", shell("git log push"), False),
        ("bash(rm:*)", "bash", analyze("eval 'rm x'").risk, True),
        ("bash(rm:*)", "bash", analyze("trap 'rm x' EXIT").risk, True),
        ("bash(rm:*)", "bash", analyze("echo rm x | sh").risk, True),
        ("bash(rm:*)", "bash", analyze("ssh host 'ls; rm x'").risk, True),
        ("bash(rm:*)", "bash", analyze("echo rm x").risk, False),
        ("read(.env)", "bash", analyze("curl -F f=@.env x").risk, True),
        ("read(.env)", "bash", analyze("bash <<< 'cat .env'").risk, True),
        ("read(Keys/**)", "read_file", Risk("read", paths=("keys/a",)), True),
        ("bash(git push:*)", "bash", Risk("execute", subject="x=$(git push"), True),
        ("bash(=make)", "bash", shell("make"), True),
        ("read(.env)", "read_file", Risk("read", paths=("a/../.env",)), True),
        ("read(.env)", "bash", shell(command("cat .env", "read"), paths=[PathAccess(".env")]), True),
        ("read(.env)", "bash", shell("mystery --file=.env"), True),
        ("read(.env)", "bash", Risk("execute", subject="cat <(cat .env)"), True),
        ("read(.env)", "edit_file", Risk("edit", paths=(".env",)), False),
        ("edit(.env)", "bash", shell("cp a .env", paths=[PathAccess(".env", "write")]), True),
        ("read", "list_files", Risk("read", paths=("src",)), True),
        ("edit", "bash", shell("make"), False),
        ("mcp__github", "mcp__github__delete", Risk("execute"), True),
        ("mcp__github", "mcp__githubx__delete", Risk("execute"), False),
        ("mcp__github", legal_tool_name("mcp", "github", "_x__y"), Risk("execute"), True),
        ("mcp__github", legal_tool_name("mcp", "github__x", "delete"), Risk("execute"), False),
        ("mcp__github", legal_tool_name("mcp", "github_", "delete"), Risk("execute"), False),
        ("mcp__github__*", legal_tool_name("mcp", "github__x", "delete"), Risk("execute"), False),
        ("mcp__github__x", legal_tool_name("mcp", "github__x", "delete"), Risk("execute"), True),
        ("mcp__github__x", legal_tool_name("mcp", "github", "x"), Risk("execute"), True),
        ("mcp__github__x", legal_tool_name("mcp", "github", "xy"), Risk("execute"), False),
        ("mcp__git_hub", legal_tool_name("mcp", "git hub", "delete"), Risk("execute"), True),
        (f"mcp__{'a' * 99}", legal_tool_name("mcp", "a" * 99, "delete"), Risk("execute"), True),
        ("mcp__*__delete*", "mcp__github__delete_repo", Risk("execute"), True),
        ("web_fetch(domain:x.org)", "web_fetch", Risk("read", subject="https://x.org/a"), True),
        ("delegate_subagent(review*)", "delegate_subagent", Risk("none", subject="reviewer"), True),
        ("delegate_subagent(review*)", "delegate_subagent", Risk("none", subject="coder"), False),
    ],
)
def test_deny_rule_matches_any_part_of_a_call(rule: str, tool: str, risk: Risk, *, expected: bool) -> None:
    assert is_affected(risk, rule, tool) is expected


def test_deny_rule_matches_a_file_that_a_recursive_search_would_read(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / ".env").touch()
    search = Risk("read", accesses=(PathAccess("src", "search"),))

    assert is_affected(search, "read(.env)", "grep", tmp_path)
    assert is_affected(search, "read(/src/.env)", "grep", tmp_path)
    assert not is_affected(search, "read(/.env)", "grep", tmp_path)


def test_first_rule_in_order_is_named() -> None:
    assert covering(shell("git push"), "bash(git push)", "bash(git:*)") == ["bash(git push)"]
    assert covering(Risk("edit", paths=("a",)), "edit", "edit_file", tool="edit_file") == ["edit"]


def test_group_covers_no_program() -> None:
    assert covering(shell("make"), "edit", "read") == []
    assert covering(Risk("execute"), "edit", "read", tool="x") == []
    assert covering(shell("make"), "bash(make)") == ["bash(make)"]
