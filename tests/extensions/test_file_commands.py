from __future__ import annotations

from pathlib import Path

from extensions.commands import LoadedCommands, command_template, load_commands
from extensions.locations import Root


def write(root: Path, name: str, text: str | bytes) -> Path:
    path = root / "commands" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def load(root: Path, plugin: str = "") -> LoadedCommands:
    return load_commands([Root(root, "user", plugin=plugin)])


def test_folders_and_plugins_come_before_the_name(tmp_path: Path) -> None:
    write(tmp_path, "git/commit.md", "---\ndescription: Commit\nargument-hint: [message]\n---\nCommit $1")
    write(tmp_path, "review.toml", 'description = "Review"\nprompt = "Review {{args}}"\n')
    write(tmp_path, "README.md", "Notes")

    own = load(tmp_path)
    plugin = load(tmp_path, plugin="tools")

    assert [(each.name, each.description, each.hint) for each in own.commands] == [
        ("git:commit", "Commit", "[message]"),
        ("review", "Review", ""),
    ]
    assert [each.name for each in plugin.commands] == ["tools:git:commit", "tools:review"]
    assert plugin.commands[0].variables == {"CLAUDE_PLUGIN_ROOT": str(tmp_path)}
    assert own.problems == plugin.problems == ()


def test_description_is_the_first_line_without_one(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "# Refactor the module\n\nSteps")

    assert [each.description for each in load(tmp_path).commands] == ["Refactor the module"]


def test_first_root_with_a_name_counts(tmp_path: Path) -> None:
    for each in ("near", "far"):
        write(tmp_path / each, "a.md", each)

    loaded = load_commands([Root(tmp_path / "near", "project"), Root(tmp_path / "far", "user")])

    assert [(each.description, each.level) for each in loaded.commands] == [("near", "project")]


def test_unusable_files_are_skipped_with_a_reason(tmp_path: Path) -> None:
    write(tmp_path, "b a d.md", "x")
    write(tmp_path, "binary.md", b"\xff\xfe\xfa")
    write(tmp_path, "empty.md", "---\ndescription: x\n---\n")
    write(tmp_path, "large.md", "x" * (256 * 1024 + 1))
    write(tmp_path, "none.toml", 'description = "x"')
    write(tmp_path, "wrong.toml", "prompt = ")

    loaded = load(tmp_path)

    assert loaded.commands == ()
    assert [problem.partition(" is skipped: ")[2].partition(" (")[0] for problem in loaded.problems] == [
        "a name consists of letters, digits, hyphens, dots and underscores",
        "it is not UTF-8 text",
        "it has no text",
        "it is a file of 262,145 bytes; the limit is 262,144",
        'it has no text: write prompt = "…"',
        "it is not valid TOML: Invalid value",
    ]


def test_toml_has_the_same_metadata(tmp_path: Path) -> None:
    path = write(tmp_path, "a.toml", 'prompt = "Go"\nmodel = "haiku"\nallowed-tools = ["Bash(ls:*)"]\n')

    template = command_template(path)

    assert (template.model, template.allowed_tools, template.fill("").unexecuted) == ("haiku", ("Bash(ls:*)",), "Go")


def test_hidden_folders_have_no_commands(tmp_path: Path) -> None:
    write(tmp_path, "review.md", "Review")
    write(tmp_path, ".github/CONTRIBUTING.md", "Notes")
    write(tmp_path, "tools/.git/description.md", "Notes")

    loaded = load(tmp_path)

    assert ([each.name for each in loaded.commands], loaded.problems) == (["review"], ())
