from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.chat import until
from fakes.model_server import ModelServer
from fakes.script import Hang, Reply
from msgspec.structs import replace

from cinch_tui.app.app import CinchApp
from cinch_tui.cli.arguments import parse_arguments
from cinch_tui.cli.start import prepare
from cinch_tui.reports.usage import usage_report
from harness.agent.agent import Agent
from harness.messages import AssistantMessage, Usage
from harness.ports.provider import ModelInfo, Price, StaticModelInfo
from providers import demo


@pytest.fixture
def server() -> Iterator[ModelServer]:
    delegate = Reply(calls=[("delegate_subagent", {"task": "Look around."})])
    look = Reply(calls=[("list_files", {"path": "."})])
    with ModelServer([delegate, look, look, Hang()]) as server:
        yield server


@pytest.fixture
def app(server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CinchApp:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
    options, settings = prepare(parse_arguments(["-m", "anthropic/session", "--cwd", str(tmp_path)]))
    return CinchApp(options, settings)


async def test_subagent_usage_is_shown_while_it_runs_and_after_a_stop(app: CinchApp, server: ModelServer):
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.controller.sender.ready.is_set())
        bar = app.controller.view.widgets.status
        app.controller.view.prompt.restore("go")
        await pilot.press("enter")
        await until(pilot, lambda: len(server.requests) == 4)
        at_work = bar.status.tokens_in
        app.controller.abort()
        await until(pilot, lambda: bar.status.state == "aborted")

        assert (at_work, bar.status.tokens_in) == (300, 300)


async def test_usage_report_adds_what_no_reply_carries() -> None:
    replies = (
        demo.Reply((demo.Say(text),), usage=usage) for text, usage in (("1", Usage(100, 2)), ("2", Usage(900, 3)))
    )
    agent = Agent(demo.scripted(*replies))
    await agent.prompt("go")
    assert "side questions" not in usage_report(agent)

    await agent.ask_side_question("why?")

    assert "| **all** | 100 | 0 | 0 | 2 |" in usage_report(agent)
    assert (
        "With summaries, subagents, side questions and discarded replies: 1,000 tokens input, 5 output"
        in usage_report(agent)
    )


@pytest.mark.parametrize(("price", "cost"), [(10.0, "$0.0300"), (None, "not part of the cost")])
async def test_usage_report_shows_searches_of_the_service(price: float | None, cost: str) -> None:
    model = demo.scripted(demo.Reply((demo.Say("Found."),), usage=Usage(100, 2, searches=3)))
    agent = Agent(replace(model, info=StaticModelInfo(ModelInfo(price=Price(1.0, 2.0, searches=price)))))
    await agent.prompt("go")

    assert f"Web searches by the service of the model: 3, {cost}." in usage_report(agent)


async def test_usage_report_explains_cache_misses_and_fits_80_columns() -> None:
    usages = [Usage(10, 900, cache_write=1_250_000), Usage(10, 900, cache_write=1_251_000)]
    usages += [Usage(10, 900, cache_read=1_252_000, cache_write=900)] * 40
    agent = Agent(demo.scripted(*(demo.Reply((demo.Say("hi"),), usage=usage) for usage in usages[:1])))
    await agent.prompt("one")
    replies = [each for each in agent.messages if isinstance(each, AssistantMessage)]
    history = [replace(replies[0], id=str(at), usage=usage, time=1e9 + at) for at, usage in enumerate(usages)]
    agent.replace_messages([replace(history[0], model="a-model-with-a-very-long-name-20260101"), *history[1:3]])

    short = usage_report(agent)
    agent.replace_messages(history)
    lines = usage_report(agent).splitlines()

    unexplained = [replace(each, time=1e9) for each in (history[0], history[1], history[0], history[1])]
    agent.replace_messages([replace(each, id=f"u{at}") for at, each in enumerate(unexplained)])
    collapsed = usage_report(agent)

    assert "- Turns 2, 3, 4: 3,750,030 tokens; the cause was not recorded" in collapsed
    assert "| 2 ! | 10 | 0 | 1,251,000 | 900 |" in short
    assert "- Turn 2: 1,250,010 tokens; the model changed from a-model-with-a-very-long-name-20260101" in short
    assert "| 3 | 10 | 1,252,000 | 900 | 900 |" in short
    assert lines[2].startswith("| 1-22 | 220 |")
    assert max(len(line) for line in lines if line.startswith("|")) < 80
