"""Script tools: their files, and what their calls run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from fakes.contexts import tool_context
from fakes.processes import is_alive

from extensions.locations import Root
from extensions.script_tool import ScriptTool
from extensions.script_tools import LoadedScripts, Script, load_scripts
from harness.errors import InvalidArguments
from harness.messages import JsonObject, Text
from harness.ports.tool import ToolOutput

ECHO = f"{sys.executable} -c 'import sys, json; print(json.dumps(sys.argv[1:])); print(sys.stdin.read())'"
PARAMETERS = """
[parameters]
required = ["name"]
[parameters.properties]
name.type = "string"
count = { type = "integer", default = 1 }
tags = { type = "array", items = { type = "string" } }
"""


def write(folder: Path, text: str, name: str = "greet") -> Path:
    path = folder / "tools" / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def load(folder: Path) -> LoadedScripts:
    return load_scripts([Root(folder, "user")])


def tool(folder: Path, text: str) -> ScriptTool:
    write(folder, text)
    loaded = load(folder)
    assert loaded.problems == ()
    return ScriptTool(loaded.scripts[0])


async def call(tool: ScriptTool, folder: Path, arguments: JsonObject) -> ToolOutput:
    return await tool.run(tool.validate(arguments), tool_context(folder))


def text_of(output: ToolOutput) -> str:
    return "".join(each.text for each in output.content if isinstance(each, Text))


async def test_arguments_fill_placeholders_and_are_json_on_standard_input(tmp_path: Path):
    greet = tool(
        tmp_path,
        f"""description = "Greets"\ncommand = "{ECHO} --name=${{name}} ${{count}} ${{tags}} done"\n{PARAMETERS}""",
    )

    output = await call(greet, tmp_path, {"name": "a b'; rm -rf ~ $(date)", "tags": ["x", "y z"]})

    words, given = text_of(output).strip().splitlines()
    assert json.loads(words) == ["--name=a b'; rm -rf ~ $(date)", "1", "x", "y z", "done"]
    assert json.loads(given) == {"name": "a b'; rm -rf ~ $(date)", "tags": ["x", "y z"], "count": 1}
    assert not output.is_error


async def test_placeholder_alone_without_value_is_left_out(tmp_path: Path):
    greet = tool(tmp_path, f"""description = "Greets"\ncommand = "{ECHO} ${{tags}} tags=${{tags}}"\n{PARAMETERS}""")

    output = await call(greet, tmp_path, {"name": "a"})

    assert text_of(output).splitlines()[0] == '["tags="]'


@pytest.mark.parametrize("value", ['"; touch hacked; "', "$(touch hacked)", "`touch hacked`", "'; touch hacked; '"])
async def test_shell_receives_arguments_as_variables(tmp_path: Path, value: str):
    greet = tool(
        tmp_path, f"""description = "Greets"\nshell = true\ncommand = 'printf "%s|" "${{name}}" $count'\n{PARAMETERS}"""
    )

    output = await call(greet, tmp_path, {"name": value})

    assert text_of(output).strip() == f"{value}|1|"
    assert not (tmp_path / "hacked").exists()


async def test_failure_reports_exit_code_and_output(tmp_path: Path):
    greet = tool(tmp_path, 'description = "Greets"\nshell = true\ncommand = "echo no >&2; exit 3"')

    output = await call(greet, tmp_path, {})

    assert (output.is_error, text_of(output)) == (True, "Exit code: 3\nno")


async def test_missing_program_is_a_failed_call(tmp_path: Path):
    greet = tool(tmp_path, 'description = "Greets"\ncommand = ["./missing"]')

    output = await call(greet, tmp_path, {})

    assert output.is_error
    assert "could not be started" in text_of(output)


async def test_timeout_ends_the_program_and_its_children(tmp_path: Path):
    greet = tool(
        tmp_path,
        'description = "Greets"\nshell = true\ntimeout_s = 0.5\ncommand = "sleep 60 & echo $! > pid; echo begun; wait"',
    )

    output = await call(greet, tmp_path, {})

    assert output.is_error
    assert "Timed out after 0.5 s" in text_of(output)
    assert "begun" in text_of(output)
    assert not is_alive(int((tmp_path / "pid").read_text()))


async def test_environment_hides_keys_and_names_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    monkeypatch.setenv("OTHER_KEY", "other-secret")
    write(
        tmp_path,
        'description = "x"\nshell = true\ncommand = "env; pwd"\ncwd = "${CINCH_TOOL_DIR}"\nenv = { MODE = "quick" }',
    )
    (script,) = load(tmp_path).scripts

    shown = text_of(await call(ScriptTool(script, ["OTHER_KEY"]), tmp_path, {}))

    assert "secret" not in shown
    assert f"CINCH_PROJECT_DIR={tmp_path}\n" in shown
    assert "MODE=quick\n" in shown
    assert shown.splitlines()[-1] == str(tmp_path / "tools")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [({}, "name"), ({"name": 1}, "name"), ({"name": "a", "nmae": "b"}, "nmae")],
)
def test_arguments_are_validated(tmp_path: Path, arguments: JsonObject, problem: str):
    greet = tool(tmp_path, f'description = "Greets"\ncommand = "true"\n{PARAMETERS}')

    with pytest.raises(InvalidArguments, match=problem):
        greet.validate(arguments)


def test_invalid_schema_is_reported_to_the_model_with_its_file(tmp_path: Path):
    greet = tool(tmp_path, 'description = "x"\ncommand = "true"\n[parameters.properties.a]\ntype = "text"')

    with pytest.raises(InvalidArguments, match=r"greet\.toml: the schema of greet is invalid"):
        greet.validate({"a": "b"})


def test_calls_need_approval_unless_the_tool_only_reads(tmp_path: Path):
    writing = tool(tmp_path, f'description = "x"\ncommand = "true"\n{PARAMETERS}')
    reading = tool(tmp_path, f'description = "x"\ncommand = "true"\nread_only = true\n{PARAMETERS}')

    assert [(each.mutates, each.risk({}).level) for each in (writing, reading)] == [(True, "execute"), (False, "read")]
    assert writing.risk({"count": 2, "name": "a b"}).subject == "'name=a b' count=2"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('command = "true"', "missing required field `description`"),
        ('description = "x"', "missing required field `command`"),
        ('description = "x"\ncommand = ""', "command is empty"),
        ('description = "x"\ncommand = "true"\ncomand = "x"', "unknown field `comand`"),
        ('description = "x"\ncommand = "true ${other}"', "names ${other}, which is not a parameter"),
        ('description = "x"\ncommand = ["a"]\nshell = true', "must be a text if shell is true"),
        ('description = "x"\ncommand = "true"\nname = "mcp__a__b"', "not a name of a tool"),
        ('description = "x"\ncommand = "true"\ntimeout_s = 0', "timeout_s must be"),
        ('description = "x"\ncommand = "true"\nparameters = { type = "array" }', 'of type "object"'),
        ('description = "x"\ncommand = "true"\nparameters = { required = ["a"] }', "must list names"),
        ("description = ", "Invalid value"),
        (f"a = {'[' * 5_000}", "nested too deeply"),
        ("#" * 70_000, "bytes"),
    ],
)
def test_invalid_file_is_a_problem_and_the_others_are_used(tmp_path: Path, text: str, problem: str):
    write(tmp_path, text, "bad")
    write(tmp_path, 'description = "Greets"\ncommand = "true"')

    loaded = load(tmp_path)

    assert [each.name for each in loaded.scripts] == ["greet"]
    (reported,) = loaded.problems
    assert problem in reported
    assert reported.startswith(str(tmp_path / "tools" / "bad.toml"))


def test_invalid_file_keeps_the_last_valid_version(tmp_path: Path):
    path = write(tmp_path, 'description = "Greets"\ncommand = "true"')
    known: dict[Path, Script] = {path: load(tmp_path).scripts[0]}
    path.write_text("description =")

    loaded = load_scripts([Root(tmp_path, "user")], known)

    assert loaded.scripts == (known[path],)
    assert "its last valid version is used" in loaded.problems[0]


def test_names_of_plugins_come_first_and_the_strongest_file_of_a_name_counts(tmp_path: Path):
    for each in ("near", "far", "plugin"):
        write(tmp_path / each, f'description = "{each}"\ncommand = "true"')
    # Another file in a folder of this name is no script tool.
    write(tmp_path / "plugin" / "tools" / "package", "name = 1")

    roots = [Root(tmp_path / "near", "project"), Root(tmp_path / "far", "user")]
    loaded = load_scripts([*roots, Root(tmp_path / "plugin", "plugin", plugin="tidy")])

    assert [(each.name, each.description) for each in loaded.scripts] == [("greet", "near"), ("tidy__greet", "plugin")]
    assert len(loaded.problems) == 1
