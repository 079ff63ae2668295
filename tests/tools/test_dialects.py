"""The dialect `claude`, in requests to a server and replies from it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.model_server import ModelServer, Reply
from fakes.people import ScriptedUser
from fakes.runs import results_of

from cinch_tui.assembly.dialects import chosen_dialect
from harness import ConfigError
from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.approval.modes import EXECUTE, PLAN
from harness.approval.rules import parse_rule
from harness.approval.store import RuleStore
from harness.codec import parsed_arguments
from harness.deltas import BlockDelta
from harness.events import Event, MessageUpdate
from harness.messages import JsonObject, ModelSpec, UserMessage
from harness.workspace.workspace import Workspace
from providers import connect
from tools import builtin_tools
from tools.dialects.streamed_arguments import StreamedArguments

SCRIPT = [
    Reply("Reading.", calls=[("Read", {"file_path": "a.py", "limit": 5})]),
    Reply(
        calls=[
            ("Edit", {"file_path": "a.py", "old_string": "1", "new_string": "2"}),
            ("Bash", {"command": "echo hi", "timeout": 5000, "description": "Greet"}),
            ("TodoWrite", {"todos": [{"content": "Look", "status": "pending", "activeForm": "Looking"}]}),
            ("Grep", {"pattern": "A", "-i": True, "head_limit": 3, "output_mode": "content"}),
            ("Bash", {"command": "git push"}),
        ]
    ),
    Reply("Done."),
]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(SCRIPT) as server:
        yield server


@pytest.fixture
async def agent(server: ModelServer, tmp_path: Path) -> AsyncIterator[Agent]:
    (tmp_path / "a.py").write_text("a = 1\n")
    options = AgentOptions(
        workspace=Workspace(tmp_path),
        user=ScriptedUser(),
        approval="off",
        grants=RuleStore(rules=[parse_rule("bash(git push:*)", "deny")]),
        dialect=chosen_dialect(["anthropic/*=claude"], ModelSpec("anthropic", "claude-x")),
    )
    model = connect("anthropic/claude-x", base_url=server.url, api_key="sk-x")
    prompt = 'Use read_file.\n\n<instructions file="AGENTS.md">\nread_file is our function\n</instructions>'
    agent = Agent(model, builtin_tools(), prompt, options)
    yield agent
    await agent.close()
    await model.provider.close()


def declared(server: ModelServer) -> dict[str, Any]:
    return {tool["name"]: tool for tool in server.requests[0].body["tools"]}


async def test_calls_in_the_dialect_run_as_those_of_cinch(agent: Agent, tmp_path: Path):
    await agent.prompt("go")

    results = results_of(agent)
    assert (tmp_path / "a.py").read_text() == "a = 2\n"
    assert [each.tool_name for each in results] == ["read_file", "edit_file", "bash", "todo", "grep", "bash"]
    assert [each.is_error for each in results] == [False] * 5 + [True]
    assert "a = 2" in results[4].text
    calls = [call for message in agent.history.messages for call in getattr(message, "tool_calls", ())]
    assert calls[1].arguments == {"path": "a.py", "old_string": "1", "new_string": "2"}
    assert calls[2].arguments == {"command": "echo hi", "timeout_s": 5.0, "description": "Greet"}


async def test_requests_have_names_schemas_and_history_of_the_dialect(agent: Agent, server: ModelServer):
    await agent.prompt("go")

    tools = declared(server)
    assert {"Read", "Edit", "Write", "Bash", "Grep", "Glob", "TodoWrite", "WebFetch"} <= tools.keys()
    assert not {"read_file", "edit_file", "bash", "grep"} & tools.keys()
    edit, bash = (tools[name]["input_schema"] for name in ("Edit", "Bash"))
    assert list(edit["properties"]) == ["file_path", "old_string", "new_string", "replace_all"]
    assert edit["required"] == ["file_path"]
    assert bash["properties"]["timeout"]["default"] == 120_000
    assert "Read" in tools["Edit"]["description"]
    assert "read_file" not in tools["Edit"]["description"]
    last = server.requests[-1].body
    system = last["system"][0]["text"]
    assert system.startswith("Use Read.")
    assert "read_file is our function" in system
    used = [block for message in last["messages"] for block in message["content"] if block["type"] == "tool_use"]
    assert used[2]["input"] == {"command": "echo hi", "timeout": 5000, "description": "Greet"}
    assert [block["name"] for block in used] == ["Read", "Edit", "Bash", "TodoWrite", "Grep", "Bash"]


async def test_name_of_the_dialect_that_another_tool_has_is_left_to_it(agent: Agent, server: ModelServer):
    def read(file_path: str) -> str:
        """Reads aloud."""
        return f"read {file_path} aloud"

    read.__name__ = "Read"
    agent.set_tools([*agent.state.tools, read])
    await agent.prompt("go")

    names = [tool["name"] for tool in server.requests[0].body["tools"]]
    assert {"Read", "read_file", "Edit"} <= set(names)
    assert len(set(names)) == len(names)
    assert results_of(agent)[0].tool_name == "Read"
    assert server.requests[0].body["system"][0]["text"].startswith("Use read_file.")


def test_first_entry_that_fits_a_model_chooses_its_dialect():
    openai, anthropic = ModelSpec("openai", "gpt-5"), ModelSpec("anthropic", "a")
    choose = chosen_dialect(["openai/*=cinch", "claude"], openai)

    assert choose(openai).name == "cinch"
    assert choose(anthropic).name == "claude"
    assert chosen_dialect(["cinch", "anthropic/*=cats"], openai)(anthropic).name == "cinch"
    assert chosen_dialect(["anthropic/*=cats"], openai)(anthropic).name == "cinch"
    assert chosen_dialect(["anthropic/*=cats"], anthropic)(openai).name == "cats"
    with pytest.raises(ConfigError, match=r"there is no dialect 'claud'.*claude"):
        chosen_dialect(["anthropic/*=claud"], openai)


NOTEBOOK = '{"cells": [{"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "source": ["x"]}]}'
CELL: JsonObject = {"cell_id": "a", "new_source": "y"}


def dialect_agent(server: ModelServer, folder: Path) -> Agent:
    """Return an agent with all tools in the dialect `claude`."""
    model = connect("anthropic/claude-x", base_url=server.url, api_key="sk-x")
    choose = chosen_dialect(["claude"], model.spec)
    options = AgentOptions(workspace=Workspace(folder), user=ScriptedUser(), approval="off", dialect=choose)
    return Agent(model, builtin_tools(), "You help.", options)


def named(server: ModelServer, request: int) -> set[str]:
    """Return the names of the declared tools, in the wires of Anthropic and OpenAI."""
    return {str(tool.get("name")) for tool in server.requests[request].body["tools"]}


async def test_former_names_of_tools_are_accepted(tmp_path: Path):
    (tmp_path / "a.py").write_text("a = 1\nb = 1\n")
    edits = [{"old_string": "a = 1", "new_string": "a = 2"}, {"old_string": "b = 1", "new_string": "b = 2"}]
    task = {"description": "Look", "prompt": "Look around.", "subagent_type": "general-purpose"}
    script = [
        Reply(calls=[("Read", {"file_path": "a.py"}), ("LS", {"path": ".", "ignore": ["x"]})]),
        Reply(calls=[("MultiEdit", {"file_path": "a.py", "edits": edits})]),
        Reply(calls=[("Bash", {"command": "sleep 60", "run_in_background": True})]),
        Reply(calls=[("BashOutput", {"bash_id": "job-1", "filter": "x"})]),
        Reply(calls=[("KillBash", {"shell_id": "job-1"})]),
        Reply(calls=[("Task", task)]),
        Reply("I looked."),
        Reply("Done."),
    ]
    with ModelServer(script) as server:
        agent = dialect_agent(server, tmp_path)
        await agent.prompt("go")
        await agent.close()

    results = results_of(agent)
    assert [each.tool_name for each in results] == [
        *("read_file", "list_files", "edit_file", "bash", "job_output", "job_kill", "delegate_subagent"),
    ]
    assert [each.text for each in results if each.is_error] == []
    assert (tmp_path / "a.py").read_text() == "a = 2\nb = 2\n"
    offered = named(server, 0)
    assert not offered & {"MultiEdit", "BashOutput", "KillBash", "KillShell", "Task"}
    used = [
        each["name"]
        for message in server.requests[-1].body["messages"]
        for each in message["content"]
        if each["type"] == "tool_use"
    ]
    assert used == ["Read", "LS", "Edit", "Bash", "TaskOutput", "call_tool", "Agent"]


async def test_deferred_tools_and_lists_of_tools_have_the_names_of_the_dialect(tmp_path: Path):
    (tmp_path / "n.ipynb").write_text(NOTEBOOK)
    script = [
        Reply(calls=[("Read", {"file_path": "n.ipynb"})]),
        Reply(calls=[("call_tool", {"name": "NotebookEdit", "arguments": {"notebook_path": "n.ipynb", **CELL}})]),
        Reply(calls=[("Agent", {"prompt": "Look.", "tools": ["Read", "Grep"]})]),
        Reply("I looked."),
        Reply("Done."),
    ]
    with ModelServer(script) as server:
        agent = dialect_agent(server, tmp_path)
        await agent.prompt("go")
        await agent.close()

    assert [each.text for each in results_of(agent) if each.is_error] == []
    assert '"y"' in (tmp_path / "n.ipynb").read_text()
    assert named(server, 3) == {"Read", "Grep"}
    used = [
        each
        for message in server.requests[-1].body["messages"]
        for each in message["content"]
        if each["type"] == "tool_use"
    ]
    assert used[1]["input"] == {"name": "NotebookEdit", "arguments": {"notebook_path": "n.ipynb", **CELL}}
    assert used[2]["input"] == {"prompt": "Look.", "tools": ["Read", "Grep"]}


async def test_questions_have_the_names_of_the_dialect(tmp_path: Path):
    options = [{"label": "red", "description": "as before"}, {"label": "blue", "description": "new"}]
    question = {"question": "Which color?", "header": "Color", "options": options, "multiSelect": False}
    script = [
        Reply(calls=[("AskUserQuestion", {"questions": [question]}), ("AskUserQuestion", question)]),
        Reply("Done."),
    ]
    with ModelServer(script) as server:
        agent = dialect_agent(server, tmp_path)
        await agent.prompt("go")
        user = agent.options.user
        await agent.close()

    assert isinstance(user, ScriptedUser)
    assert [each.prompt for each in user.questions] == ["Which color?"] * 2
    assert [[choice.label for choice in each.choices] for each in user.questions] == [["red", "blue"]] * 2
    schema = declared(server)["AskUserQuestion"]["input_schema"]
    several = schema["properties"]["questions"]["items"]
    for each in (schema["properties"], several["properties"]):
        assert question.keys() <= each.keys()
        assert not {"prompt", "choices", "multi_select"} & each.keys()
    assert several["required"] == ["question"]


async def test_arguments_are_translated_while_they_are_received(tmp_path: Path):
    text = "".join(f"line {number}\\n" for number in range(40))
    call = ("Write", {"file_path": "new.py", "content": text})
    with ModelServer([Reply(calls=[call]), Reply("Done.")]) as server:
        agent = dialect_agent(server, tmp_path)
        seen: list[str] = []

        def watch(event: Event) -> None:
            match event:
                case MessageUpdate(delta=BlockDelta(_, part), kind="tool_call"):
                    seen.append(part)
                case _:
                    pass

        agent.subscribe(watch)
        await agent.prompt("go")
        await agent.close()

    assert len(seen) > 2
    assert "".join(seen).startswith('{"path": "new.py"')
    assert (tmp_path / "new.py").read_text() == text


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('{"file_path": "a", "timeout": 5000}', {"path": "a", "timeout": 5.0}),
        ('{"timeout":1500 ,"file_path":"a\\"}b\\\\"}', {"timeout": 1.5, "path": 'a"}b\\'}),
        (
            '{"old": {"file_path": [1, "]", {}]}, "gone": [1, "\\""], "x": null}',
            {"old": {"file_path": [1, "]", {}]}, "x": None},
        ),
        ('{"gone": 1}', {}),
        ('{"gone": {"a": [}"]"]}, "file_path": "a"', None),
        ("{}", {}),
        (" { } ", {}),
        ("{'file_path': 1}", None),
        ("[1]", None),
        ("", None),
        ('{"timeout": nope}', None),
        ('{"file_path": "cut', None),
        ('{"timeout": 50', None),
    ],
)
def test_arguments_may_be_received_in_any_parts(written: str, expected: object):
    def translated(size: int) -> str:
        stream = StreamedArguments(
            lambda name: {"file_path": "path"}.get(name, name),
            lambda name: {"gone": "drop", "timeout": "hold"}.get(name, "pass"),  # pyright: ignore[reportArgumentType]
            lambda _, value: value / 1000 if isinstance(value, int) else value,
        )
        parts = [stream.feed(written[at : at + size]) for at in range(0, len(written), size)]
        return "".join([*parts, stream.end()])

    texts = {translated(size) for size in (1, 2, 3, 7, 1_000)}

    (text,) = texts
    if expected is not None:
        assert json.loads(text) == expected
    else:
        with pytest.raises(ValueError, match=r"."):
            parsed_arguments(text)


async def test_texts_for_the_model_name_its_tools(tmp_path: Path):
    script = [
        Reply(calls=[("Write", {"file_path": "x", "content": ""})]),
        Reply(calls=[("Read", {"offset": 3}), ("Raed", {}), ("Edit", "{")]),
        Reply("Done."),
    ]
    with ModelServer(script) as server:
        agent = dialect_agent(server, tmp_path)
        agent.set_mode(PLAN)
        await agent.prompt("hello")
        agent.set_mode(EXECUTE)
        server_reminders = [each.text for each in agent.messages if isinstance(each, UserMessage) and each.synthetic]
        await agent.close()

    excluded, missing, unknown, broken = (each.text for each in results_of(agent)[:4])
    assert "Write is not available in plan mode" in excluded
    assert "The arguments of Read do not fit its schema" in missing
    assert "required and missing: file_path" in missing
    assert "did you mean Read" in unknown
    assert "The arguments of Edit" in broken
    assert any("`AskUserQuestion`" in text and "`ExitPlanMode`" in text for text in server_reminders)


async def test_hints_name_tools_that_the_model_has(tmp_path: Path):
    call = ("Bash", {"command": "sleep 60", "run_in_background": True})
    with ModelServer([Reply(calls=[call]), Reply("Done."), Reply(calls=[call]), Reply("Done.")]) as server:
        agent = dialect_agent(server, tmp_path)
        await agent.prompt("go")
        agent.set_tools([tool for tool in agent.state.tools if not tool.name.startswith("job_")])
        await agent.prompt("go")
        await agent.close()

    named_hint, no_hint = (each.text for each in results_of(agent))
    assert "TaskOutput shows its output, TaskStop stops it." in named_hint
    assert "Running in the background as job-2" in no_hint
    assert "job_output" not in no_hint
    assert "shows its output" not in no_hint
