from __future__ import annotations

from pathlib import Path

from fakes.runs import calls, results_of, texts_of

from harness.events import Event, SubagentEvent, ToolExecutionEnd
from harness.workspace.workspace import Workspace
from tools import builtin_tools
from tools.shell_options import ShellOptions


async def test_session_and_subagents_have_shells_of_their_own(make_agent, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    tools = builtin_tools(shell=ShellOptions(persistent=True))
    agent = make_agent(
        calls("bash", command="cd sub; export MODE=1"),
        calls("delegate_subagent", task="look"),
        calls("bash", command="pwd; cd .."),
        "seen",
        calls("bash", command="pwd"),
        "done",
        calls("bash", command="pwd"),
        "again",
        tools=tools,
        approval="off",
        workspace=Workspace(tmp_path),
    )
    subagent: list[str] = []
    agent.subscribe(lambda event: subagent.append(_output_of_subagent(event)))

    await agent.prompt("go")
    agent.restore_messages(agent.save_messages())
    agent.new_session(messages=agent.messages)
    await agent.prompt("go on")

    outputs = [result.text for result in results_of(agent) if result.tool_name == "bash"]
    assert [text.splitlines()[1] for text in outputs[1:]] == [f"{tmp_path}/sub", str(tmp_path)]
    assert f"Exit code: 0\n{tmp_path}" in "".join(subagent)
    assert [
        text for text in texts_of(agent) if "bash has started anew" in text and "folder sub; variables MODE" in text
    ]


def _output_of_subagent(event: Event) -> str:
    is_end = isinstance(event, SubagentEvent) and isinstance(event.event, ToolExecutionEnd)
    return event.event.result.text if is_end else ""
