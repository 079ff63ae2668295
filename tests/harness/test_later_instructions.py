"""Instructions for the files that calls have used: in the conversation once, again when they are needed again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest
from fakes.family import cast, delegates
from fakes.runs import calls, texts_of

from harness.agent.agent import Agent
from harness.context.overlay import Compaction, ContextOverlay
from harness.events import Event, Notice
from harness.instructions.loading import LoadedInstructions
from harness.instructions.reader import Instruction
from harness.messages import UserMessage, synthetic
from harness.ports.provider import Request
from providers.demo import DemoProvider, Reply
from tools import builtin_tools

MakeAgent: TypeAlias = Callable[..., Agent]
READ = calls("read_file", path="a.py")
HEAD = "[Instructions for "


class Rules:
    """Source with one rule for all Python files; `asked` are the paths it was asked about."""

    def __init__(self, folder: Path) -> None:
        self.text = "Use tabs."
        self.problems: tuple[str, ...] = ()
        self.asked: list[str] = []
        self._folder = folder

    async def __call__(self, paths: Sequence[Path]) -> LoadedInstructions:
        self.asked.extend(path.relative_to(self._folder).as_posix() for path in paths)
        found = [Instruction(self._folder / "rule.md", self.text)] if any(p.suffix == ".py" for p in paths) else []
        return LoadedInstructions(tuple(found), self.problems)


@pytest.fixture
def rules(tmp_path: Path) -> Rules:
    (tmp_path / "a.py").write_text("a = 1\n")
    (tmp_path / "b.txt").write_text("b\n")
    return Rules(tmp_path)


def added(agent: Agent) -> list[str]:
    return [text for text in texts_of(agent) if text.startswith(HEAD)]


async def test_instructions_are_in_the_request_after_the_call_and_only_once(
    make_agent: MakeAgent, requests: Callable[[Agent], list[Request]], rules: Rules, tmp_path: Path
):
    agent = make_agent(READ, READ, "done", "ok", tools=builtin_tools(), approval="off", get_instructions=rules)

    await agent.prompt("go")
    await agent.prompt("again")

    (text,) = added(agent)
    assert text.startswith("[Instructions for a.py]\n\n")
    assert text.endswith(f'<instructions file="{tmp_path}/rule.md">\nUse tabs.\n</instructions>')
    sent = [any(each.text == text for each in r.messages if isinstance(each, UserMessage)) for r in requests(agent)]
    assert sent == [False, True, True, True]


@pytest.mark.parametrize(
    ("call", "asked"),
    [
        (calls("write_file", path="new/c.py", content="c"), ["new/c.py"]),
        (calls("bash", command="cat a.py"), ["a.py"]),
        (calls("grep", pattern="b", path="."), ["."]),
        (calls("grep", pattern="b", path="b.txt"), ["b.txt"]),
        (calls("list_files", path="."), []),
        (calls("read_file", path="missing.py"), []),
    ],
)
async def test_source_is_asked_about_what_successful_calls_have_used(
    make_agent: MakeAgent, rules: Rules, call: Reply, asked: list[str]
):
    agent = make_agent(call, "done", tools=builtin_tools(), approval="off", get_instructions=rules)

    await agent.prompt("go")

    assert rules.asked == asked


async def test_changed_instructions_are_added_again(make_agent: MakeAgent, rules: Rules):
    agent = make_agent(READ, "done", READ, "ok", tools=builtin_tools(), approval="off", get_instructions=rules)
    await agent.prompt("go")
    rules.text = "Use spaces."

    await agent.prompt("again")

    assert ["Use spaces." in text for text in added(agent)] == [False, True]


async def test_summarized_instructions_are_added_again(make_agent: MakeAgent, rules: Rules):
    agent = make_agent(READ, "done", READ, "ok", tools=builtin_tools(), approval="off", get_instructions=rules)
    await agent.prompt("go")
    everything = frozenset(each.id for each in agent.messages)
    summary = Compaction(replaced=everything, summary=synthetic("Summary."), after=agent.messages[-1].id)
    agent.state.context.overlay = ContextOverlay(compactions=(summary,))

    await agent.prompt("again")

    assert len(added(agent)) == 2


async def test_instructions_in_the_system_prompt_are_not_added(make_agent: MakeAgent, rules: Rules, tmp_path: Path):
    agent = make_agent(READ, "done", tools=builtin_tools(), approval="off", get_instructions=rules)
    agent.set_system_prompt(f'<instructions file="{tmp_path}/rule.md">\nUse tabs.\n</instructions>')

    await agent.prompt("go")

    assert added(agent) == []


async def test_subagent_gets_the_instructions_of_its_own_conversation(make_agent: MakeAgent, rules: Rules):
    model = cast({"go": [READ, delegates("dig"), "ok"], "dig": [READ, "found"]})
    agent = make_agent(model=model, tools=builtin_tools(), approval="off", get_instructions=rules)

    await agent.prompt("go")

    assert isinstance(model.provider, DemoProvider)
    received = [[m.text for m in each.messages if isinstance(m, UserMessage)] for each in model.provider.requests]
    assert any("dig" in texts and HEAD in texts[-1] for texts in received)
    assert len(added(agent)) == 1


async def test_problems_are_notices_and_a_failing_source_does_not_stop_the_run(make_agent: MakeAgent, rules: Rules):
    async def broken(paths: Sequence[Path]) -> LoadedInstructions:
        raise OSError(paths)

    rules.problems = ("rule.md is too long",)
    agent = make_agent(READ, "done", tools=builtin_tools(), approval="off", get_instructions=rules)
    notices: list[Event] = []
    agent.subscribe(notices.append)
    await agent.prompt("go")
    other = make_agent(READ, "done", tools=builtin_tools(), approval="off", get_instructions=broken)
    end = await other.prompt("go")

    assert [each.text for each in notices if isinstance(each, Notice)] == ["rule.md is too long"]
    assert end.text == "done"
