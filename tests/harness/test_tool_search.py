from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from fakes.runs import calls, deeds, results_of
from fakes.simple_tools import SimpleTool
from fakes.tokens import count_pieces

from harness.agent.tool_search import LEAST_TOKENS, declared_tools, search_tools
from harness.approval.modes import PLAN
from harness.approval.store import RuleStore
from harness.context.tokens import estimate_overhead
from harness.function_tools.function_tool import tool
from harness.messages import AssistantMessage, ToolResult
from harness.permissions import Rule
from harness.ports.tool import Tool, is_deferred, specs_of
from providers.demo import Call, Reply
from tools import OPTIONAL_TOOLS, builtin_tools
from tools.web.options import WebOptions


class RareTool(SimpleTool):
    """Tool with a long description that is searched for."""

    deferred = True

    def __init__(self, name: str, about: str, **options) -> None:
        super().__init__(name, **options)
        self.description = f"{about} {'It has many details. ' * 60}"
        self.parameters = {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}


@pytest.fixture
def tools() -> list[SimpleTool]:
    return [
        SimpleTool("look"),
        RareTool("fetch_page", "Downloads a page of the web.", required=("url",)),
        RareTool("send_mail", "Sends letters.", risk="execute"),
    ]


def use(name: object, arguments: object = None) -> Reply:
    return Reply((Call("call_tool", {"name": name, "arguments": arguments or {}}),))


async def test_deferred_tools_are_found_and_called_while_the_declared_ones_stay_the_same(
    make_agent, record, tools, requests
):
    script = (calls("find_tools", query="download"), use("fetch_page", {"url": "x"}), calls("look"), "done")
    agent = make_agent(*script, tools=tools)
    happened = record(agent)

    await agent.prompt("go")

    assert {tuple(spec.name for spec in each.tools) for each in requests(agent)} == {
        ("look", "find_tools", "call_tool")
    }
    assert "fetch_page, send_mail" in requests(agent)[0].tools[1].description
    assert "fetch_page: Downloads a page" in results_of(agent)[0].text
    assert json.dumps(tools[1].parameters) in results_of(agent)[0].text
    assert "send_mail" not in results_of(agent)[0].text
    assert tools[1].ran == [{"url": "x"}]
    names = ["find_tools", "fetch_page", "look"]
    assert deeds(happened.events) == [f"{step} {name}" for name in names for step in ("start", "end")]


async def test_history_names_the_real_tool_and_requests_the_declared_one(make_agent, tools, requests):
    agent = make_agent(use("fetch_page", {"url": "x"}), "done", tools=tools)

    await agent.prompt("go")

    _, reply, result, _ = agent.messages
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("fetch_page", {"url": "x"})]
    assert result.tool_name == "fetch_page"
    _, sent, answer = requests(agent)[1].messages
    assert isinstance(sent, AssistantMessage)
    assert isinstance(answer, ToolResult)
    [call] = sent.tool_calls
    assert (call.name, call.arguments) == ("call_tool", {"name": "fetch_page", "arguments": {"url": "x"}})
    assert (answer.tool_name, answer.call_id, answer.content) == ("call_tool", call.id, result.content)


async def test_permissions_are_those_of_the_real_tool(make_agent, tools, user):
    rules = RuleStore(rules=[Rule("fetch_page", effect="deny")])
    agent = make_agent(
        use("fetch_page", {"url": "x"}), use("send_mail", {"url": "y"}), "done", tools=tools, grants=rules
    )

    await agent.prompt("go")

    assert "fetch_page denies it" in results_of(agent)[0].text
    assert [(asked.call.name, asked.label) for asked in user.asked] == [("send_mail", "Send mail")]
    assert (tools[1].ran, tools[2].ran) == ([], [{"url": "y"}])


async def test_plan_mode_refuses_a_deferred_tool_that_changes_something(make_agent, tools):
    agent = make_agent(use("send_mail", {"url": "y"}), "done", tools=tools, mode=PLAN)

    await agent.prompt("go")

    assert results_of(agent)[0].text.startswith("send_mail is not available in plan mode")


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (use("fetch_page"), "fetch_page needs url"),
        (use("fetch_pages", {"url": "x"}), "unknown tool 'fetch_pages'. Did you mean fetch_page?"),
        (use("nothing"), "unknown tool 'nothing'. find_tools shows"),
        (use(["fetch_page"]), "name: must be the name of a tool"),
        (use("fetch_page", "url"), "arguments: must be an object with the arguments of fetch_page"),
        (calls("find_tools"), "query: must be string"),
        (calls("find_tools", query="zebra"), "No tool fits 'zebra'. There are: fetch_page, send_mail."),
    ],
)
async def test_invalid_call_says_what_to_correct(make_agent, tools, reply: Reply, problem: str):
    agent = make_agent(reply, "done", tools=tools)

    await agent.prompt("go")

    assert problem in results_of(agent)[0].text
    assert tools[1].ran == []


@pytest.mark.parametrize("reply", [use("fetch_page", '{"url": "x"}'), calls("fetch_page", url="x")])
async def test_arguments_in_a_string_and_direct_calls_are_accepted(make_agent, tools, reply: Reply):
    agent = make_agent(reply, "done", tools=tools)

    await agent.prompt("go")

    assert tools[1].ran == [{"url": "x"}]


async def test_side_question_declares_the_same_tools(make_agent, tools, requests):
    agent = make_agent(use("fetch_page", {"url": "x"}), "done", "answer", tools=tools)
    await agent.prompt("go")

    await agent.ask_side_question("why?")

    first, *_, aside = requests(agent)
    assert aside.tools == first.tools
    assert [call.name for each in aside.messages if isinstance(each, AssistantMessage) for call in each.tool_calls] == [
        "call_tool"
    ]


async def test_continued_conversation_sends_the_same_prefix(make_agent, tools, requests):
    agent = make_agent(use("fetch_page", {"url": "x"}), "done", tools=tools)
    await agent.prompt("go")
    before = requests(agent)[-1].messages
    resumed = make_agent("more", tools=tools)
    resumed.replace_messages(agent.messages)

    await resumed.prompt("on")

    assert requests(resumed)[0].messages[: len(before)] == before


async def test_few_deferred_tools_are_declared_as_others(make_agent, requests):
    @tool(risk="read", deferred=True)
    def rarely() -> str:
        """Do it rarely."""
        return "done"

    agent = make_agent(calls("rarely"), "done", tools=[rarely])

    await agent.prompt("go")

    assert [spec.name for spec in requests(agent)[0].tools] == ["rarely"]


def test_tools_are_found_by_name_or_by_their_words(tools) -> None:
    rare = tools[1:]

    assert search_tools("select: send_mail,fetch_page", rare) == rare
    assert search_tools("mailing", rare) == [rare[1]]
    assert search_tools("downloaded web pages", rare) == [rare[0]]
    assert search_tools("zebra", rare) == []


def size(tools: Sequence[Tool]) -> int:
    """Return the tokens of the declarations, by the larger of two counts."""
    specs = specs_of(tools)
    text = json.dumps([[spec.name, spec.description, spec.parameters] for spec in specs], separators=(",", ":"))
    return max(estimate_overhead("", specs), count_pieces(text))


def test_built_in_tools_take_less_than_4000_tokens_with_ten_more_to_come() -> None:
    more = [RareTool(f"tool_{number}", "Does something.") for number in range(10)]

    assert size(more) > 3 * LEAST_TOKENS
    tools = builtin_tools(web=WebOptions(service="brave"))
    assert size(declared_tools(tools)) < 4000
    assert size(declared_tools([*tools, *more])) < 4000
    # Those that a user enables by name come on top; apply_patch can replace two.
    optional = {each.name: each for each in builtin_tools(optional=OPTIONAL_TOOLS)[-len(OPTIONAL_TOOLS) :]}
    replaced = [each for each in tools if each.name in ("write_file", "edit_file")]
    assert size([optional.pop("apply_patch")]) < size(replaced)
    assert size(declared_tools([*tools, *optional.values()])) < 4500


def test_rare_built_in_tools_are_searched_for_and_one_alone_is_declared() -> None:
    tools = builtin_tools()
    rare = [each.name for each in tools if is_deferred(each)]
    with_one = [each for each in tools if each.name == "job_kill" or each.name not in rare]

    assert {"job_kill", "git_commit", "repo_map", "move_file"} <= set(rare)
    assert not {each.name for each in declared_tools(tools)}.intersection(rare)
    assert "job_kill" in [each.name for each in declared_tools(with_one)]
