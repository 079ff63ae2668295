from __future__ import annotations

from pathlib import Path

from extensions.locations import ExtensionFile, extension_files, roots_in


def write(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def names(files: list[ExtensionFile], folder: Path) -> list[str]:
    return [str(each.path.relative_to(folder)) for each in files]


def test_files_of_stronger_roots_come_first(tmp_path):
    for root in (".agents", ".claude", ".cinch"):
        write(tmp_path / root / "skills/commit/SKILL.md")

    found = list(extension_files("skill", roots_in(tmp_path, "project")))

    assert names(found, tmp_path) == [f"{root}/skills/commit/SKILL.md" for root in (".cinch", ".claude", ".agents")]
    assert found[0].parts == ("commit",)


def test_root_contains_only_kinds_of_its_format(tmp_path):
    write(tmp_path / ".agents/commands/a.md")
    write(tmp_path / ".claude/tools/a.toml")

    roots = roots_in(tmp_path, "project")

    assert [*extension_files("command", roots), *extension_files("script tool", roots)] == []


def test_folders_of_commands_are_parts_of_their_names(tmp_path):
    write(tmp_path / ".claude/commands/git/commit.md")
    write(tmp_path / ".claude/commands/README.txt")

    (found,) = extension_files("command", roots_in(tmp_path, "project"))

    assert found.parts == ("git", "commit")


def test_inactive_files_and_those_of_claude_code_can_be_left_out(tmp_path):
    write(tmp_path / ".claude/agents/a.md")
    kept = write(tmp_path / ".cinch/agents/b.md")
    write(tmp_path / ".cinch/agents/c.md")

    roots = roots_in(tmp_path, "project", claude=False, is_active=lambda path: path == kept)

    assert [each.path for each in extension_files("subagent", roots)] == [kept]


def test_missing_folders_have_no_files(tmp_path):
    assert list(extension_files("rules", roots_in(tmp_path / "missing", "user"))) == []
