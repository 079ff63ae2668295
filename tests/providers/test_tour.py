from __future__ import annotations

from pathlib import Path

from fakes.people import ScriptedUser

from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.messages import ModelSpec
from harness.ports.provider import Model, StaticModelInfo
from harness.user_requests import Answer, Denied
from harness.workspace.workspace import Workspace
from providers.demo import DemoProvider
from providers.demo.tour import SAMPLE, STEPS, tour
from tools import builtin_tools


def visitor(folder: Path, user: ScriptedUser) -> Agent:
    """An agent on the tour, in a copy of the sample project."""
    for name, text in SAMPLE.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    model = Model(DemoProvider(tour), ModelSpec("demo", "tour"), StaticModelInfo())
    options = AgentOptions(workspace=Workspace(folder), user=user, spill_dir=folder / "spill")
    return Agent(model, builtin_tools(), "", options)


async def test_the_tour_fixes_the_sample_with_the_real_tools(tmp_path):
    user = ScriptedUser()
    user.answers = [Answer("selected", "Yes, run them", 0)]

    result = await visitor(tmp_path, user).prompt("hello")

    assert "discount / 100" in (tmp_path / "till/receipt.py").read_text()
    assert result.text.startswith("The tests pass.")
    assert [request.call.name for request in user.asked] == ["bash", "edit_file", "bash"]


async def test_the_tour_reports_denied_calls(tmp_path):
    user = ScriptedUser()
    user.approvals = [Denied(), Denied(), Denied()]
    user.answers = [Answer("selected", "Yes, run them", 0)]

    result = await visitor(tmp_path, user).prompt("hello")

    assert (tmp_path / "till/receipt.py").read_text() == SAMPLE["till/receipt.py"]
    assert result.text.startswith("The tests still fail")


async def test_the_tour_states_that_it_is_scripted_at_both_ends(tmp_path):
    user = ScriptedUser()
    agent = visitor(tmp_path, user)

    await agent.prompt("hello")
    first = next(message.text for message in agent.history if message.id and getattr(message, "provider", ""))
    for _ in STEPS:
        result = await agent.prompt("and now?")

    assert first.startswith("**This is a scripted tour.**")
    assert result.text.startswith("The scripted tour is over")
