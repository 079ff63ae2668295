from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise

import pytest
from fakes.family import cast, delegates
from fakes.runs import calls, results_of
from fakes.simple_tools import SimpleTool
from fakes.tokens import count_pieces

from harness.agent.late_tools import MAX_DECLARED_TOKENS
from harness.context.tokens import estimate_overhead
from harness.messages import AssistantMessage, UserMessage
from harness.ports.tool import ToolOutput, specs_of
from harness.session.stores import FileSessionStore
from providers.demo import Call, Reply
from tools.delegate import DelegateTool

GITHUB, JIRA = "the MCP server github", "the MCP server jira"


def remote(server: str, *names: str) -> list[SimpleTool]:
    return [SimpleTool(f"mcp__{server}__{name}") for name in names]


def large(server: str, count: int) -> list[SimpleTool]:
    tools = remote(server, *(f"operation_{number}" for number in range(count)))
    for tool in tools:
        tool.description = f"{tool.name} does something. {'It has many details. ' * 20}"
    return tools


def use(name: str) -> Reply:
    return Reply((Call("call_tool", {"name": name, "arguments": {}}),))


def declared(request) -> list[str]:
    return [spec.name for spec in request.tools]


def reminders(agent) -> list[str]:
    return [each.text for each in agent.messages if isinstance(each, UserMessage) and each.synthetic]


async def test_small_source_that_is_known_at_the_first_request_is_declared(make_agent, requests):
    agent = make_agent("done", "again", tools=[SimpleTool("look")])
    agent.set_source_tools(GITHUB, remote("github", "issue"))

    await agent.prompt("go")

    assert declared(requests(agent)[0]) == ["look", "mcp__github__issue", "find_tools", "call_tool"]
    assert reminders(agent) == []


async def test_search_for_a_declared_tool_says_to_call_it_directly(make_agent):
    agent = make_agent(calls("find_tools", query="issue"), "done", tools=[SimpleTool("look")])
    agent.set_source_tools(GITHUB, remote("github", "issue"))

    await agent.prompt("go")

    assert results_of(agent)[0].text == "Call it directly, without call_tool: mcp__github__issue."


async def test_declared_tools_never_change_whatever_the_sources_do(make_agent, requests):
    issue, ticket = remote("github", "issue"), remote("jira", "ticket")
    script = (calls("mcp__github__issue"), "one", use("mcp__jira__ticket"), "two", calls("mcp__github__issue"), "three")
    agent = make_agent(*script, tools=[SimpleTool("look")], approval="off")
    agent.set_source_tools(GITHUB, issue)
    agent.set_source_tools(JIRA, ())

    await agent.prompt("first")
    agent.set_source_tools(JIRA, ticket)
    await agent.prompt("second")
    agent.set_source_tools(GITHUB, ())
    agent.set_source_tools(JIRA, ())
    await agent.prompt("third")

    assert all(each.tools == requests(agent)[0].tools for each in requests(agent))
    assert "the tools of the MCP server github, the MCP server jira." in requests(agent)[0].tools[-2].description
    assert ticket[0].ran == [{}]
    assert reminders(agent) == [
        "[Tools of the MCP server jira are available: mcp__jira__ticket. Find them with find_tools, then use "
        "call_tool.]",
        "[Tools of the MCP server jira are no longer available: mcp__jira__ticket.]",
    ]
    for before, after in pairwise(each.messages for each in requests(agent)):
        assert after[: len(before)] == before


async def test_calls_of_a_source_that_has_gone_are_sent_as_before(make_agent, requests):
    agent = make_agent(use("mcp__jira__ticket"), "one", "two", approval="off")
    agent.set_source_tools(JIRA, [*large("jira", 100), *remote("jira", "ticket")])
    await agent.prompt("first")
    agent.set_source_tools(JIRA, ())
    await agent.prompt("second")

    before, after = requests(agent)[1].messages, requests(agent)[2].messages
    assert after[: len(before)] == before
    (sent,) = [each for each in after if isinstance(each, AssistantMessage) and each.tool_calls]
    assert sent.tool_calls[0].name == "call_tool"


async def test_tools_found_late_are_called_under_their_own_name(make_agent, requests, user):
    agent = make_agent(calls("find_tools", query="ticket"), use("mcp__jira__ticket"), "done")
    agent.set_source_tools(JIRA, [*large("jira", 100), SimpleTool("mcp__jira__ticket", risk="execute")])

    await agent.prompt("go")

    assert declared(requests(agent)[0]) == ["find_tools", "call_tool"]
    assert results_of(agent)[0].text.startswith("mcp__jira__ticket: Does mcp__jira__ticket.")
    assert [asked.call.name for asked in user.asked] == ["mcp__jira__ticket"]


async def test_100_tools_take_at_most_1000_tokens_until_searched(make_agent, requests):
    agent = make_agent("done")
    tools = large("github", 100)
    agent.set_source_tools(GITHUB, tools)

    await agent.prompt("go")

    request = requests(agent)[0]
    texts = [f"{each.name} {each.description} {each.parameters}" for each in request.tools]
    assert estimate_overhead("", specs_of(tools)) > MAX_DECLARED_TOKENS
    assert "operation_0" in reminders(agent)[0]
    assert reminders(agent)[0].count("more. Find them") == 1
    assert count_pieces("\n".join([*texts, *reminders(agent)])) <= 1_000


async def test_resumed_session_declares_the_tools_it_had(make_agent, requests, tmp_path):
    store = FileSessionStore(tmp_path / "sessions")
    first = make_agent("one", tools=[SimpleTool("look")])
    first.set_source_tools(GITHUB, remote("github", "issue"))
    await first.open_session(store)
    await first.prompt("go")
    await first.close()

    second = make_agent("two", tools=[SimpleTool("look")])
    second.set_source_tools(JIRA, remote("jira", "ticket"))
    second.set_source_tools(GITHUB, remote("github", "comment", "issue"))
    await second.open_session(store, first.session_id)
    await second.prompt("go on")

    assert declared(requests(second)[0]) == declared(requests(first)[0])
    assert "mcp__jira__ticket" in reminders(second)[0]
    assert "mcp__github__comment" in reminders(second)[0]


async def test_resumed_session_waits_for_the_tools_it_had(make_agent, requests, tmp_path):
    store = FileSessionStore(tmp_path / "sessions")
    first = make_agent("one", tools=[SimpleTool("look")])
    first.set_source_tools(GITHUB, remote("github", "issue"))
    await first.open_session(store)
    await first.prompt("go")
    await first.close()
    second = make_agent("two", tools=[SimpleTool("look")])
    second.set_source_tools(GITHUB, ())

    async def connect(names: Collection[str]) -> None:
        second.set_source_tools(GITHUB, [SimpleTool(name) for name in names])

    second.state.late.sources.wait_ready = connect
    await second.open_session(store, first.session_id)
    await second.prompt("go on")

    assert declared(requests(second)[0]) == declared(requests(first)[0])


@pytest.mark.parametrize("call", [calls("mcp__jira__ticket"), use("mcp__jira__ticket")])
async def test_call_waits_for_a_source_that_is_connecting(make_agent, call):
    agent = make_agent(call, "done", approval="off")
    agent.set_source_tools(JIRA, ())
    await agent.state.late.freeze(agent.session_id, 0)
    (ticket,) = remote("jira", "ticket")

    async def connect(names: Collection[str]) -> None:
        agent.set_source_tools(JIRA, [ticket] if "mcp__jira__ticket" in names else ())

    agent.state.late.sources.wait_ready = connect
    await agent.prompt("go")

    assert ticket.ran == [{}]


@pytest.mark.parametrize("call", [calls("mcp__jira__ticket"), use("mcp__jira__ticket")])
async def test_call_of_a_source_that_is_not_connected_says_so(make_agent, call):
    agent = make_agent(call, "done", approval="off")
    agent.set_source_tools(JIRA, ())

    await agent.prompt("go")

    assert results_of(agent)[0].text.startswith(
        "Error: mcp__jira__ticket is not available now: its server is not connected"
    )


async def test_new_session_declares_the_tools_anew(make_agent, requests):
    agent = make_agent("one", "two")
    agent.set_source_tools(GITHUB, ())
    await agent.prompt("go")
    agent.set_source_tools(GITHUB, remote("github", "issue"))

    agent.new_session()
    await agent.prompt("go")

    assert declared(requests(agent)[0]) == ["find_tools", "call_tool"]
    assert declared(requests(agent)[1]) == ["mcp__github__issue", "find_tools", "call_tool"]


async def test_subagent_uses_tools_of_sources(make_agent):
    from tools import builtin_tools

    delegate = [each for each in builtin_tools() if each.name == "delegate_subagent"]
    issue = remote("github", "issue")
    script = (calls("delegate_subagent", task="look"), calls("mcp__github__issue"), "child done", "done")
    agent = make_agent(*script, tools=delegate, approval="off")
    agent.set_source_tools(GITHUB, issue)

    await agent.prompt("go")

    assert issue[0].ran == [{}]


async def test_subagent_keeps_a_named_tool_when_its_source_reconnects(make_agent, requests):
    name = "mcp__github__issue"
    replies = {"go": [delegates("dig", tools=[name]), "ok"], "dig": [calls(name), calls(name), "done"]}
    agent = make_agent(model=cast(replies), tools=[DelegateTool()], approval="off")

    async def reconnect(*_: object) -> ToolOutput:
        agent.set_source_tools(GITHUB, remote("github", "issue"))
        return ToolOutput.text("done")

    issue = SimpleTool(name, reconnect)
    agent.set_source_tools(GITHUB, [issue])

    await agent.prompt("go")

    assert issue.ran == [{}, {}]
    of_child = [each for each in requests(agent) if declared(each) == [name]]
    assert len(of_child) == 3


async def test_agent_without_sources_has_no_search_tools(make_agent, requests):
    agent = make_agent("done", tools=[SimpleTool("look")])

    await agent.prompt("go")

    assert declared(requests(agent)[0]) == ["look"]
