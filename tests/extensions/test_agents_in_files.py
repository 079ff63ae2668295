from __future__ import annotations

from pathlib import Path

import pytest
from fakes.contexts import tool_context
from fakes.family import cast
from fakes.runs import results_of
from msgspec.structs import replace

from extensions.locations import Root
from extensions.subagent_tool import AgentTool
from extensions.subagents import MAX_INDEX, LoadedSubagents, Subagent, load_subagents, subagent_index
from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.approval.store import RuleStore
from harness.permissions import Rule
from harness.ports.tool import Role, SubagentTask, ToolOutput
from providers.demo import Call, Reply

ROOT = Root(Path("/config"), "user")


def write(root: Path, name: str, text: str) -> Path:
    path = root / "agents" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def load(*folders: Path) -> LoadedSubagents:
    return load_subagents(Root(folder, "user") for folder in folders)


def loaded_one(tmp_path: Path, metadata: str) -> Subagent:
    write(tmp_path, "one.md", f"---\nname: one\ndescription: Does it\n{metadata}\n---\nWork.")
    (subagent,) = load(tmp_path).subagents
    return subagent


def test_first_root_with_a_name_counts_and_other_files_are_no_subagents(tmp_path: Path):
    write(tmp_path / "near", "team/reviewer.md", "---\nname: reviewer\ndescription: Near\n---\nReview.")
    write(tmp_path / "far", "reviewer.md", "---\nname: reviewer\ndescription: Far\n---\nReview.")
    write(tmp_path / "far", "README.md", "# Our agents\n")

    loaded = load(tmp_path / "near", tmp_path / "far")

    assert [(each.name, each.description) for each in loaded.subagents] == [("reviewer", "Near")]
    assert loaded.problems == ()


def test_subagents_of_a_plugin_have_its_name(tmp_path: Path):
    write(tmp_path, "reviewer.md", "---\nname: reviewer\ndescription: Reviews\n---\nReview.")

    loaded = load_subagents([Root(tmp_path, "plugin", plugin="quality")])

    assert [each.name for each in loaded.subagents] == ["quality:reviewer"]


@pytest.mark.parametrize(
    ("metadata", "tools", "denied"),
    [
        ("", None, ()),
        ("tools: Read, Grep, Glob", ("read_file", "grep", "find_files", "list_files"), ()),
        ("tools:\n  - Bash\n  - WebFetch", ("bash", "web_fetch"), ()),
        ("tools: []", (), ()),
        ("tools: '*'", None, ()),
        ("tools: Bash(git log:*), mcp__github", ("bash", "mcp__github", "mcp__github__*"), ()),
        ("tools: read_file, mcp__github__get_issue, Unknown", ("read_file", "mcp__github__get_issue", "Unknown"), ()),
        ("disallowedTools: Write, Edit", None, ("write_file", "edit_file")),
        ("tools:\n  write: false\n  bash: true", None, ("write_file",)),
    ],
)
def test_tools_are_those_of_cinch(tmp_path: Path, metadata: str, tools: tuple[str, ...] | None, denied: tuple[str]):
    subagent = loaded_one(tmp_path, metadata)

    assert (subagent.tools, subagent.denied_tools) == (tools, denied)


@pytest.mark.parametrize(
    ("metadata", "is_read_only", "asks", "notes"),
    [
        ("permissionMode: plan", True, True, ()),
        ("permissionMode: dontAsk", False, False, ()),
        (
            "permissionMode: bypassPermissions",
            False,
            True,
            ("permissionMode bypassPermissions: a subagent is never asked for less than its caller",),
        ),
        ("isolation: worktree\ncolor: red", False, True, ("isolation has no effect",)),
    ],
)
def test_modes_only_restrict(tmp_path: Path, metadata: str, is_read_only: bool, asks: bool, notes: tuple[str, ...]):
    subagent = loaded_one(tmp_path, metadata)

    assert (subagent.is_read_only, subagent.asks, subagent.notes) == (is_read_only, asks, notes)


def test_model_turns_and_skills_are_read(tmp_path: Path):
    subagent = loaded_one(tmp_path, "model: haiku\nmaxTurns: 7\nskills: deploy, review")

    assert (subagent.model, subagent.max_turns, subagent.skills) == ("haiku", 7, ("deploy", "review"))
    assert loaded_one(tmp_path, "model: inherit").model == ""


def test_problems_are_reported_and_the_others_are_used(tmp_path: Path):
    write(tmp_path, "a.md", "---\nname: a\n---\nFirst\nlines.\n\nSecond.")
    write(tmp_path, "b.md", "---\nname: b\ndescription: Use it: always\ntools: [\n---\nBody")
    write(tmp_path, "large.md", "x" * (100 * 1024 + 1))
    write(tmp_path, "binary.md", "").write_bytes(b"\xff\xfe\xfa")

    loaded = load(tmp_path)

    assert [(each.name, each.description) for each in loaded.subagents] == [
        ("a", "First lines."),
        ("b", "Use it: always"),
    ]
    assert [problem.partition(".md")[2][:30] for problem in loaded.problems] == [
        " has no description; its first",
        ": the metadata is not valid YA",
        " is skipped: it is not UTF-8 t",
        " is skipped: it is a file of 1",
    ]


@pytest.mark.parametrize("length", [3, 100, 1_000])
def test_index_of_200_subagents_is_within_the_budget(length: int):
    subagents = [Subagent(f"subagent-{number}", "d" * length, Path("a.md"), ROOT) for number in range(200)]

    index = subagent_index(subagents)

    assert len(index) <= MAX_INDEX
    assert all(each.name in index for each in subagents)


def tool_for(*subagents: Subagent) -> AgentTool:
    async def role_of(subagent: Subagent) -> Role:
        if subagent.name == "gone":
            raise FileNotFoundError(2, "No such file", str(subagent.path))
        return Role(system_prompt="You review.")

    return AgentTool(subagents, role_of)


REVIEWER = Subagent("reviewer", "Reviews changes", Path("reviewer.md"), ROOT, max_turns=3)


async def test_named_agent_gets_its_role_and_the_others_none(tmp_path: Path):
    handed: list[SubagentTask] = []

    async def delegate(delegation: SubagentTask) -> ToolOutput:
        handed.append(delegation)
        return ToolOutput.text("done")

    tool, context = tool_for(REVIEWER), replace(tool_context(tmp_path), delegate=delegate)
    await tool.run(tool.validate({"task": "Look.", "subagent_type": "reviewer"}), context)
    await tool.run(tool.validate({"task": "Look.", "name": "own"}), context)

    assert "- reviewer: Reviews changes" in tool.description
    assert [(each.name, each.role.system_prompt, each.max_turns) for each in handed] == [
        ("reviewer", "You review.", 3),
        ("own", "", 20),
    ]


@pytest.mark.parametrize(
    ("agent", "answer"),
    [
        ("reviewr", "There is no agent 'reviewr'. Did you mean reviewer?"),
        ("x", "There is no agent 'x'. Leave `agent` out for a subagent like you."),
        ("gone", "The agent gone cannot be used: [Errno 2] No such file: 'gone.md'"),
    ],
)
async def test_agent_that_cannot_be_used_is_explained(tmp_path: Path, agent: str, answer: str):
    tool = tool_for(REVIEWER, Subagent("gone", "", Path("gone.md"), ROOT))

    output = await tool.run(tool.validate({"task": "Look.", "agent": agent}), tool_context(tmp_path))

    assert output == ToolOutput.failure(answer)


async def test_permission_rules_name_an_agent():
    script = [
        Reply(tuple(Call("delegate_subagent", {"task": name, "agent": name}) for name in ("reviewer", "writer"))),
        "ok",
    ]
    writer = Subagent("writer", "Writes", Path("writer.md"), ROOT)
    store = RuleStore(rules=[Rule("delegate_subagent", "writer", effect="deny")])
    model = cast({"go": script, "reviewer": ["reviewed"], "writer": ["written"]})
    agent = Agent(model, [tool_for(REVIEWER, writer)], options=AgentOptions(grants=store))

    await agent.prompt("go")

    assert [result.text.partition(":")[0] for result in results_of(agent)] == [
        "reviewed",
        "This call is denied",
    ]
