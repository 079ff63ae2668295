from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from fakes.family import cast, delegates
from fakes.runs import calls, results_of
from fakes.simple_tools import SimpleTool

from extensions.lifecycle.run_task import ChosenTask, RunTask
from extensions.lifecycle.task_types import TaskType
from harness.agent.agent import Agent
from harness.agent.limits import Limits
from harness.agent.options import AgentOptions
from harness.errors import RequestRejected
from harness.messages import Message, UserMessage, user
from harness.parallel.run import run_parallel
from harness.parallel.variant import ParallelVariant
from harness.ports.hooks import Hooks
from harness.ports.provider import Model
from harness.ports.tool import Tool
from harness.workspace.workspace import Workspace
from providers.demo import Break, DemoProvider, Reply, scripted
from tools.delegate import DelegateTool


class Session(RunTask):
    """Gives all prompts of a test the same task type."""

    def __init__(self, chosen: ChosenTask | None) -> None:
        super().__init__(self._find)
        self.prompts: list[str] = []
        self._chosen = chosen

    async def _find(self, prompt: UserMessage) -> ChosenTask | None:
        self.prompts.append(prompt.text)
        return self._chosen


def agent_of(
    path: Path, session: Hooks, *script: Reply | str, tools: Sequence[Tool] = (), model: Model | None = None
) -> Agent:
    options = AgentOptions(workspace=Workspace(path), approval="off", hooks=[session])
    return Agent(model or scripted(*script), tools, "You help.", options)


def texts(messages: Sequence[Message]) -> list[str]:
    return [each.text for each in messages if isinstance(each, UserMessage)]


def requests(agent: Agent) -> list[list[str]]:
    provider = agent.state.model.provider
    assert isinstance(provider, DemoProvider)
    return [texts(each.messages) for each in provider.requests]


async def test_instructions_are_in_the_first_request_and_stay_in_the_conversation(tmp_path: Path):
    session = Session(ChosenTask(TaskType("bug-fix"), "matches crashes", "Write a test first."))
    agent = agent_of(tmp_path, session, "done", "done")

    await agent.prompt("It crashes.")

    assert requests(agent) == [["It crashes.", "[Task type: bug-fix (matches crashes).]\n\nWrite a test first."]]
    assert texts(agent.messages) == requests(agent)[0]
    assert session.prompts == ["It crashes."]


async def test_prompt_without_a_type_is_sent_as_it_is(tmp_path: Path):
    agent = agent_of(tmp_path, Session(None), "done")

    await agent.prompt("Hello")

    assert requests(agent) == [["Hello"]]


async def test_other_tools_are_declared_but_blocked(tmp_path: Path):
    task = TaskType("query", tools=("read_*",))
    read, write = SimpleTool("read_file"), SimpleTool("write_file")
    agent = agent_of(tmp_path, Session(ChosenTask(task)), calls("read_file", "write_file"), "done", tools=[read, write])

    await agent.prompt("What is it?")

    assert (len(read.ran), len(write.ran)) == (1, 0)
    assert "write_file is not available for tasks of the type query. Use one of: read_*" in results_of(agent)[1].text
    assert "Use only these tools: read_*." in requests(agent)[0][-1]


async def test_limit_ends_this_run_only(tmp_path: Path):
    task = TaskType("query", limits=Limits(max_turns=1))
    agent = agent_of(tmp_path, Session(ChosenTask(task)), calls("look"), "next run", tools=[SimpleTool("look")])

    stopped = await agent.prompt("What?")
    other = await agent.prompt("And?")

    assert stopped.stop_message == "the limit of 1 turns is reached for tasks of the type query"
    assert (other.text, other.limit) == ("next run", "")


async def test_run_continues_until_a_marker_and_not_forever(tmp_path: Path):
    task = TaskType("feature", markers=("TASK_COMPLETED", "DONE"), max_continuations=2)
    agent = agent_of(tmp_path, Session(ChosenTask(task)), "half", "task_completed", "a", "b", "c", "never")

    first = await agent.prompt("Build it.")
    second = await agent.prompt("Build more.")

    assert (first.text, second.text) == ("task_completed", "c")
    assert "end your reply with TASK_COMPLETED" in requests(agent)[1][-1]


async def test_retried_run_has_the_type_and_no_second_message(tmp_path: Path):
    session = Session(ChosenTask(TaskType("bug-fix", tools=("look",))))
    agent = agent_of(
        tmp_path,
        session,
        Reply((Break(RequestRejected("no such model")),)),
        calls("write"),
        "done",
        tools=[SimpleTool("write")],
    )

    await agent.prompt("It crashes.")
    await agent.continue_run()

    assert texts(agent.messages) == ["It crashes.", "[Task type: bug-fix. Use only these tools: look.]"]
    assert session.prompts == ["It crashes."] * 2
    assert results_of(agent)[0].is_error


async def test_stopping_the_choice_keeps_the_prompt(tmp_path: Path):
    is_choosing = asyncio.Event()

    class Slow(Session):
        async def _find(self, prompt: UserMessage) -> ChosenTask | None:
            is_choosing.set()
            await asyncio.Event().wait()
            return None

    agent = agent_of(tmp_path, Slow(None), "never")
    run = asyncio.create_task(agent.prompt("It crashes."))
    await is_choosing.wait()
    agent.abort()

    assert (await run).stop_reason == "aborted"
    assert texts(agent.messages) == ["It crashes."]


async def test_failed_choice_ends_the_run_with_its_reason(tmp_path: Path):
    class Broken(Session):
        async def _find(self, prompt: UserMessage) -> ChosenTask | None:
            raise ValueError("broken")

    result = await agent_of(tmp_path, Broken(None), "never").prompt("Hi")

    assert "broken" in result.stop_message


async def test_subagents_have_the_tools_of_the_type_and_no_type_of_their_own(tmp_path: Path):
    session = Session(ChosenTask(TaskType("query", tools=("delegate*", "look")), "", "Be brief."))
    look, write = SimpleTool("look"), SimpleTool("write")
    model = cast({"go": [delegates("dig"), "ok"], "dig": [calls("look", "write"), "done"]})
    agent = agent_of(tmp_path, session, tools=[DelegateTool(), look, write], model=model)

    result = await agent.prompt("go")

    assert (result.text, session.prompts) == ("ok", ["go"])
    assert (len(look.ran), len(write.ran)) == (1, 0)


async def test_service_runs_no_tool_that_the_type_excludes():
    session = Session(ChosenTask(TaskType("query", tools=("read_file",))))
    hook = session.for_run()

    await hook.before_turn([user("What?")], 1)

    assert (hook.reviews("web_search"), hook.reviews("read_file"), hook.reviews("ask_user")) == (True, False, False)


async def test_each_model_of_a_parallel_run_has_the_type(tmp_path: Path):
    agent = agent_of(tmp_path, Session(ChosenTask(TaskType("bug-fix"), "", "Be brief.")), "never asked")
    models = [scripted("A"), scripted("B")]

    await run_parallel(agent, "It crashes.", [ParallelVariant(each) for each in models])

    for each in models:
        assert isinstance(each.provider, DemoProvider)
        assert "Be brief." in str(each.provider.requests[0].messages)
    assert texts(agent.messages) == ["It crashes.", "[Task type: bug-fix.]\n\nBe brief."]


async def test_message_is_repeated_once_after_a_compaction():
    hook = Session(ChosenTask(TaskType("bug-fix"), "", "Be brief.")).for_run()
    conversation = [user("It crashes.")]
    of_subagent = [user("Look around.")]
    first = await hook.before_turn(conversation, 1)

    await hook.before_compact("auto", 9_000)

    assert await hook.before_turn(of_subagent, 1) is None
    assert await hook.before_turn(conversation, 2) == first
    assert await hook.before_turn(conversation, 3) is None
