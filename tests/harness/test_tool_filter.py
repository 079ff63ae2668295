from __future__ import annotations

import pytest
from fakes.runs import calls, results_of
from fakes.simple_tools import SimpleTool
from fakes.talk import call, reply
from hypothesis import given
from hypothesis import strategies as st

from harness.agent.tool_filter import RelevantTools, ToolCategory
from harness.approval.modes import PLAN
from harness.errors import ContextWindowOverflow
from harness.messages import Message, Text, UserMessage, user
from providers.demo import Break, Reply

NAMES = [
    "read_file",
    "write_file",
    "edit_file",
    "grep",
    "find_files",
    "list_files",
    "bash",
    "git_commit",
    "web_search",
    "todo",
    "ask_user",
]
DEFAULT = RelevantTools()
TOOLS = [SimpleTool(name) for name in NAMES]


def shown(*messages: Message, by: RelevantTools = DEFAULT) -> list[str]:
    return [tool.name for tool in by(TOOLS, messages)]


def test_all_tools_are_shown_without_a_matching_keyword():
    assert shown() == NAMES
    assert shown(user("Bonjour, ça va ?")) == NAMES
    assert RelevantTools()([], [user("read it")]) == []


def test_prompt_keywords_select_their_tools_in_order():
    assert shown(user("Commit this, please.")) == ["bash", "git_commit", "todo", "ask_user"]
    assert shown(user("search the web")) == ["grep", "find_files", "list_files", "web_search", "todo", "ask_user"]


@pytest.mark.parametrize("text", ["run it", "it runs", "RUNNING it?", "the tests", "was tested", "building"])
def test_keyword_matches_its_inflected_forms(text):
    assert "bash" in shown(user(text))


@pytest.mark.parametrize("text", ["a runtime", "latest", "prune it", "contest"])
def test_keyword_inside_another_word_does_not_match(text):
    assert shown(user(text)) == NAMES


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("explain this", "read_file"),
        ("where is it?", "grep"),
        ("rename it", "edit_file"),
        ("install it", "bash"),
        ("push it", "git_commit"),
        ("download it", "web_search"),
    ],
)
def test_each_default_category_is_selected_by_its_keywords(text, name):
    names = shown(user(text))

    assert name in names
    assert len(names) < len(NAMES)


def test_uncategorized_tool_matches_its_own_name():
    tools = [*TOOLS, SimpleTool("mcp__jira__issue"), SimpleTool("mcp__slack__send")]

    names = [tool.name for tool in RelevantTools()(tools, [user("read the Jira issue")])]

    assert "mcp__jira__issue" in names
    assert "mcp__slack__send" not in names


def test_recently_used_tools_stay_for_some_turns():
    used = [user("commit it"), reply(call("1", "web_search"))]
    later = [reply(call(str(number), "bash")) for number in range(2, 5)]

    assert "web_search" in shown(*used, *later[:2])
    assert "web_search" not in shown(*used, *later)


def test_program_messages_select_nothing():
    reminder = UserMessage((Text("search the web"),), synthetic=True)

    assert "web_search" not in shown(user("commit it"), reminder)


def test_older_prompts_are_ignored():
    talk = [user("search the web"), reply("done"), user("commit it"), reply("done"), user("run the tests")]

    assert shown(*talk) == ["bash", "git_commit", "todo", "ask_user"]


def test_best_matches_stay_when_there_are_too_many():
    by = RelevantTools(always=("ask_user",), most=3)
    history = [user("find where it is and read it"), reply(call("1", "todo"), call("2", "find_files"))]
    old = [reply("hm")] * 3

    assert shown(history[0], by=by) == ["grep", "list_files", "ask_user"]
    assert shown(*history, *old, by=by) == ["find_files", "list_files", "ask_user"]


def test_categories_are_configurable():
    by = RelevantTools({"money": ToolCategory(("invoice",), ("b*", "todo"))}, always=())

    assert shown(user("two invoices"), by=by) == ["bash", "todo"]


@given(
    st.lists(st.sampled_from(NAMES), unique=True, min_size=1),
    st.lists(st.sampled_from(["read it", "commit", "web search and fix", "plan", "salut"]).map(user), max_size=4),
    st.integers(0, 4),
    st.sampled_from([(), ("todo",), ("*",)]),
)
def test_some_tools_are_always_shown_in_their_position(names, prompts, most, always):
    tools = [SimpleTool(name) for name in names]

    chosen = RelevantTools(always=always, most=most)(tools, prompts)

    assert chosen
    assert list(chosen) == [tool for tool in tools if tool in chosen]


def offered(request: object) -> list[str]:
    return [tool.name for tool in request.tools]


async def test_tools_of_a_request_shrink_and_grow_with_the_task(make_agent, record, requests):
    agent = make_agent("committed", "found", "well", tools=TOOLS, tool_filter=RelevantTools(prompts=1))
    happened = record(agent)

    await agent.prompt("commit it")
    await agent.prompt("find it on the web")
    await agent.prompt("merci")

    assert [offered(request) for request in requests(agent)] == [
        ["bash", "git_commit", "todo", "ask_user"],
        ["grep", "find_files", "list_files", "web_search", "todo", "ask_user"],
        NAMES,
    ]
    run = ["AgentStart", "TurnStart", "MessageStart", "MessageEnd", "RequestStart", "MessageStart", "MessageEnd"]
    assert [name for name in happened.names if name != "MessageUpdate"] == [
        *run,
        "UsageUpdate",
        "TurnEnd",
        "AgentEnd",
    ] * 3


async def test_hidden_tool_still_runs_and_is_shown_from_then_on(make_agent, record, requests):
    agent = make_agent(calls("web_search"), "done", tools=TOOLS, tool_filter=RelevantTools())
    happened = record(agent)

    await agent.prompt("commit it")

    assert [result.text for result in results_of(agent)] == ["web_search ran"]
    assert ["web_search" in offered(request) for request in requests(agent)] == [False, True]
    assert [name for name in happened.names if name.startswith("ToolExec")] == [
        "ToolExecutionStart",
        "ToolExecutionEnd",
    ]


async def test_plan_mode_does_not_change_what_is_offered(make_agent, requests):
    tools = [SimpleTool("read_file"), SimpleTool("write_file", risk="edit")]
    agent = make_agent("a plan", tools=tools, tool_filter=RelevantTools(), mode=PLAN)

    await agent.prompt("write it")

    assert offered(requests(agent)[0]) == ["read_file", "write_file"]


async def test_custom_filter_is_called_once_per_model_call(make_agent, requests):
    counts: list[int] = []

    def choose(tools, messages):
        counts.append(len(messages))
        return [tool for tool in tools if len(counts) == 1 or tool.name != "bash"]

    overflow = Reply((Break(ContextWindowOverflow("too long")),))
    tools = [SimpleTool("bash"), SimpleTool("grep")]
    agent = make_agent(overflow, calls("grep"), "done", tools=tools, tool_filter=choose)
    await agent.prompt("go")

    names = [[tool.name for tool in request.tools] for request in requests(agent)]
    assert counts == [1, 3]
    assert names == [["bash", "grep"], ["bash", "grep"], ["grep"]]
