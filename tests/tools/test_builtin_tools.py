from __future__ import annotations

import subprocess
import sys
from ast import literal_eval
from pathlib import Path

import pytest

from harness.approval.modes import EXECUTE, PLAN, tools_of
from harness.errors import InvalidArguments
from harness.messages import JsonObject
from tools import builtin_tools, load
from tools.builtin import CLASSES, MANIFEST, create_tool, manifest_text
from tools.lsp.options import LspOptions
from tools.lsp.servers import LanguageServers
from tools.read import ReadTool
from tools.web.options import WebOptions

ORDER = [
    "read_file",
    "write_file",
    "edit_file",
    "notebook_edit",
    "move_file",
    "copy_file",
    "delete_file",
    "list_files",
    "find_files",
    "grep",
    "find_symbol",
    "repo_map",
    "bash",
    "job_output",
    "job_input",
    "job_kill",
    "recall",
    "todo",
    "git_status",
    "git_diff",
    "git_log",
    "git_branch",
    "git_commit",
    "git_checkout",
    "lsp",
    "web_fetch",
    "web_search",
    "ask_user",
    "delegate_subagent",
    "submit_plan",
]
SEARCH = WebOptions(service="brave")
SERVERS = LanguageServers(LspOptions())

RED: JsonObject = {"label": "red", "description": "as before"}
ASKED: JsonObject = {"choices": [{**RED, "body": ""}] * 2, "editable": False, "max_edit_length": None}
EDIT: JsonObject = {"old_string": "x", "new_string": "y", "replace_all": False}


def test_tools_come_in_the_order_the_model_sees() -> None:
    assert [tool.name for tool in builtin_tools(web=SEARCH, servers=SERVERS)] == ORDER


def test_web_search_and_language_servers_are_offered_only_if_there_are_any() -> None:
    assert [tool.name for tool in builtin_tools()] == [name for name in ORDER if name not in ("web_search", "lsp")]


def test_every_tool_describes_itself() -> None:
    for tool in builtin_tools():
        assert len(tool.description) > 100, tool.name
        assert tool.label
        assert tool.parameters["type"] == "object"


def test_a_summary_never_fails_on_half_streamed_arguments() -> None:
    for tool in builtin_tools():
        for arguments in ({}, {"command": None}, {"todos": [1, {"status": "in_progress"}]}, {"prompt": ["x"]}):
            assert isinstance(tool.summary(arguments), str)


def test_plan_mode_can_read_run_commands_ask_and_submit_only() -> None:
    shown = [tool.name for tool in tools_of(PLAN, builtin_tools(web=SEARCH, servers=SERVERS))]

    assert shown == [
        "read_file",
        "list_files",
        "find_files",
        "grep",
        "find_symbol",
        "repo_map",
        "bash",
        "job_output",
        "recall",
        "todo",
        "git_status",
        "git_diff",
        "git_log",
        "git_branch",
        "lsp",
        "web_fetch",
        "web_search",
        "ask_user",
        "delegate_subagent",
        "submit_plan",
    ]
    assert [tool.name for tool in tools_of(EXECUTE, builtin_tools(web=SEARCH, servers=SERVERS))] == ORDER[:-1]


def test_importing_the_tools_folder_loads_no_tool() -> None:
    code = "import sys, tools; print([m for m in sys.modules if m.startswith(('tools.', 'pydantic', 'tree_sitter'))])"

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[2])

    assert loaded.stdout.strip() == "[]"


def test_building_the_tools_loads_none_until_one_is_called() -> None:
    code = (
        "import sys, tools; read, *others = tools.builtin_tools(); [tool.parameters for tool in others]\n"
        "print([m for m in sys.modules if m.startswith(('tools.ask', 'tools.read', 'pydantic', 'tree_sitter'))])\n"
        "read.validate({'path': 'x'}); print({'tools.ask', 'tools.read', 'pydantic'} & set(sys.modules))"
    )

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[2])

    before, after = loaded.stdout.splitlines()
    assert before == "[]"
    assert set(literal_eval(after)) == {"tools.read"}


@pytest.mark.parametrize(
    ("name", "given", "validated"),
    [
        ("read_file", {"file_path": "a", "limit": "5"}, {"path": "a", "limit": 5}),
        ("edit_file", {"filePath": "a", "oldText": "x", "new": ""}, {"path": "a", "old_string": "x", "new_string": ""}),
        ("edit_file", {"path": "a", "edits": '[{"old": "x", "newText": "y"}]'}, {"path": "a", "edits": [EDIT]}),
        ("grep", {"pattern": "x", "-i": True, "-C": 3, "include": "*.py"}, {"ignore_case": True, "context": 3}),
        ("bash", {"cmd": "ls", "timeout": 5000, "run_in_background": True}, {"command": "ls", "timeout_s": 5.0}),
        (
            "ask_user",
            {"questions": [{"question": "Which?", "header": "Color", "options": [RED, RED], "multiSelect": True}]},
            {"questions": [{**ASKED, "prompt": "Which?", "header": "Color", "multi_select": True}]},
        ),
    ],
)
def test_names_of_other_agents_and_values_in_strings_are_accepted(
    name: str, given: JsonObject, validated: JsonObject
) -> None:
    assert validated.items() <= create_tool(name).validate(given).items()


@pytest.mark.parametrize(
    ("name", "given", "problems"),
    [
        ("edit_file", {"path": "a", "old_string": "x"}, ["arguments: give old_string and new_string"]),
        ("edit_file", {"edits": [{"old": 1}]}, ["edits[0].old_string: must be string", "missing: new_string"]),
        ("bash", {"command": "", "timeout": 0}, ["command: length must be at least 1", "timeout_s: 0 is less than"]),
        (
            "read_file",
            {"path": "a", "file_path": "b", "limt": 1},
            ["file_path: unknown", "limt: unknown", "mean limit"],
        ),
        ("ask_user", {"questions": [{"prompt": "?", "choices": ["a"]}]}, ["questions[0]: one choice is not enough"]),
    ],
)
def test_error_names_every_problem_of_a_call(name: str, given: JsonObject, problems: list[str]) -> None:
    with pytest.raises(InvalidArguments) as caught:
        create_tool(name).validate(given)

    assert [problem for problem in problems if problem not in str(caught.value)] == []


def test_manifest_matches_the_tools() -> None:
    assert MANIFEST.read_text(encoding="utf-8") == manifest_text(), "make snapshots writes the manifest anew"
    assert [create_tool(name).name for name in CLASSES] == list(CLASSES)


def test_loading_in_advance_leaves_other_tools_alone() -> None:
    lazy, own = builtin_tools()[0], ReadTool()

    load([lazy, own])

    assert lazy.parameters == own.parameters
    assert lazy.description == own.description
