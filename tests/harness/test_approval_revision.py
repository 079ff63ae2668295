from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.people import ScriptedUser
from fakes.runs import calls, results_of
from fakes.simple_tools import SimpleTool
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.approval.decide import INVALID_APPROVAL
from harness.approval.revision import MAX_LINE_CHARS, MAX_LINES, rejections
from harness.events import ToolApprovalResolved
from harness.messages import JsonObject
from harness.ports.tool import ToolContext
from harness.user_requests import (
    AllowHunks,
    AllowOnce,
    Answer,
    Approval,
    ApprovalRequest,
    Denied,
    Plan,
    PlanDecision,
    ProposeRevision,
    Question,
    RejectedHunk,
)
from harness.views import DiffView, TerminalView, View
from harness.workspace.hunks import applied, hunks_of
from harness.workspace.workspace import Workspace
from providers.demo import Call, Reply, scripted
from tools import builtin_tools

OLD = "".join(f"line {number}\n" for number in range(1, 21))
NEW = OLD.replace("line 2\n", "two\n").replace("line 10\n", "ten\nten and a half\n").replace("line 19\n", "")
EDITS = [
    {"old_string": "line 2\n", "new_string": "two\n"},
    {"old_string": "line 10\n", "new_string": "ten\nten and a half\n"},
    {"old_string": "line 19\n", "new_string": ""},
]


class Reader:
    """Agent that has read the file and then changes it; the user answers from a list."""

    def __init__(self, folder: Path, call: Call, *answers: Approval, content: bytes | None = None) -> None:
        self.user = ScriptedUser()
        self.user.approvals = list(answers)
        self.file = folder / "a.txt"
        if content is not None:
            self.file.write_bytes(content)
        model = scripted(Reply((Call("read_file", {"path": "a.txt"}),)), Reply((call,)), "done")
        options = AgentOptions(user=self, workspace=Workspace(folder), spill_dir=folder / "spill")
        self.agent = Agent(model, builtin_tools(), "", options)
        self.meanwhile = lambda: None

    async def approve(self, request: ApprovalRequest) -> Approval:
        self.meanwhile()
        return await self.user.approve(request)

    async def ask(self, question: Question) -> Answer:
        return await self.user.ask(question)

    async def review_plan(self, plan: Plan) -> PlanDecision:
        return await self.user.review_plan(plan)

    async def go(self) -> str:
        await self.agent.prompt("go")
        return results_of(self.agent)[-1].text


def write(content: str) -> Call:
    return Call("write_file", {"path": "a.txt", "content": content})


def edit(*edits: dict[str, str]) -> Call:
    return Call("edit_file", {"path": "a.txt", "edits": list(edits)})


@pytest.mark.parametrize("call", [write(NEW), edit(*EDITS)], ids=["write", "edit"])
async def test_rejected_hunk_is_not_written_and_reported_to_the_model(tmp_path: Path, call: Call):
    reader = Reader(tmp_path, call, AllowHunks((RejectedHunk(1, "keep ten as it is"),)), content=OLD.encode())

    reported = await reader.go()

    assert reader.file.read_text() == OLD.replace("line 2\n", "two\n").replace("line 19\n", "")
    assert reported.startswith(
        "The user allowed only a part of this change to a.txt: 2 of 3 hunks.\n"
        "Applied (lines of the file before): line 2; line 19.\n"
        "Rejected, so NOT applied:\n"
        "@@ line 10: keep ten as it is\n"
        "-line 10\n"
        "+ten\n"
        "+ten and a half\n"
    )
    assert not results_of(reader.agent)[-1].is_error


async def test_change_with_every_hunk_accepted_is_written_as_proposed(tmp_path: Path):
    reader = Reader(tmp_path, write(NEW), AllowHunks(()), content=OLD.encode())

    result = await reader.go()

    assert reader.file.read_text() == NEW
    assert "only a part" not in result
    assert len(reader.user.asked) == 1


MIXED = "".join(f"line {number}" + ("\r\n" if number % 2 else "\n") for number in range(1, 21))


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (OLD.replace("\n", "\r\n"), "utf-8"),
        (OLD.replace("\n", "\r\n"), "utf-16"),
        (MIXED, "utf-8"),
        (OLD.removesuffix("\n"), "utf-8-sig"),
        (f"caf\u00e9\n{OLD}", "latin-1"),
    ],
    ids=["crlf", "utf-16", "mixed", "bom and no last newline", "latin-1"],
)
async def test_allowed_hunks_keep_every_other_byte_in_any_encoding(tmp_path: Path, text: str, encoding: str):
    reader = Reader(tmp_path, edit(*EDITS), AllowHunks((RejectedHunk(1),)), content=text.encode(encoding))

    await reader.go()

    wanted = re.sub(r"line 2(\r?\n)", r"two\1", re.sub(r"line 19\r?\n", "", text))
    assert reader.file.read_bytes() == wanted.encode(encoding)


async def test_rejecting_every_hunk_denies_the_call_with_all_reasons(tmp_path: Path):
    refused = (RejectedHunk(0, "no"), RejectedHunk(1, "not that"), RejectedHunk(2))
    reader = Reader(tmp_path, write(NEW), AllowHunks(refused), content=OLD.encode())
    resolved = []
    reader.agent.subscribe(lambda event: resolved.append(event) if isinstance(event, ToolApprovalResolved) else None)

    reported = await reader.go()

    assert reader.file.read_text() == OLD
    assert "@@ line 2: no\n-line 2\n+two\n@@ line 10: not that" in reported
    assert [event.decision for event in resolved] == ["denied"]


async def test_revised_file_needs_approval_again_and_is_written_as_revised(tmp_path: Path):
    reader = Reader(
        tmp_path, edit(*EDITS), ProposeRevision(NEW.replace("two", "TWO")), AllowOnce(), content=OLD.encode()
    )

    reported = await reader.go()

    again = reader.user.asked[1]
    assert again.is_revised
    assert again.view == DiffView("a.txt", OLD, NEW.replace("two", "TWO"))
    assert reader.file.read_text() == NEW.replace("two", "TWO")
    assert "changed your proposal for a.txt" in reported
    assert "@@ line 2\n-two\n+TWO\n" in reported


async def test_revised_change_can_be_allowed_in_part_or_denied(tmp_path: Path):
    wanted = NEW.replace("two", "TWO")
    parts = Reader(tmp_path, write(NEW), ProposeRevision(wanted), AllowHunks((RejectedHunk(1),)), content=OLD.encode())

    reported = await parts.go()

    assert parts.file.read_text() == OLD.replace("line 2\n", "TWO\n").replace("line 19\n", "")
    assert "changed your proposal" in reported
    assert "2 of 3 hunks" in reported
    denied = Reader(tmp_path, write(NEW), ProposeRevision(wanted), Denied("after all not"), content=OLD.encode())
    assert await denied.go() == "The user denied this call: after all not"
    assert denied.file.read_text() == OLD


async def test_reverting_the_whole_change_denies_it(tmp_path: Path):
    reader = Reader(tmp_path, write(NEW), ProposeRevision(OLD), content=OLD.encode())

    assert "they reverted the whole change" in await reader.go()
    assert reader.file.read_text() == OLD


async def test_new_file_can_be_revised_and_is_one_hunk(tmp_path: Path):
    reader = Reader(tmp_path, write("a\nb\n"), ProposeRevision("a\nc\n"), AllowOnce())

    await reader.go()

    assert reader.file.read_text() == "a\nc\n"
    assert not (tmp_path / "b").exists()


async def test_rejecting_the_only_hunk_of_a_new_file_creates_no_file(tmp_path: Path):
    reader = Reader(tmp_path, write("a\nb\n"), AllowHunks((RejectedHunk(0, "not here"),)))

    assert "@@ at the beginning: not here\n+a\n+b\n" in await reader.go()
    assert not reader.file.exists()


async def test_revised_command_is_assessed_again(tmp_path: Path):
    call = Call("bash", {"command": "eval echo one"})
    reader = Reader(tmp_path, call, ProposeRevision("sudo ls"), ProposeRevision("eval echo two"), AllowOnce())

    reported = await reader.go()

    first, second, third = reader.user.asked
    assert (first.is_revised, first.risk.level) == (False, "execute")
    assert (second.view, second.risk.level, second.session) == (TerminalView("sudo ls", ""), "dangerous", ())
    assert third.call.arguments["command"] == "eval echo two"
    assert "what ran is:\neval echo two\n" in reported
    assert reported.endswith("Exit code: 0\ntwo")


async def test_command_revised_into_a_forbidden_one_never_runs(tmp_path: Path):
    reader = Reader(tmp_path, Call("bash", {"command": "eval echo one"}), ProposeRevision("rm -rf /"))

    assert (await reader.go()).startswith("Forbidden")


async def test_file_changed_during_the_approval_is_left_alone(tmp_path: Path):
    reader = Reader(tmp_path, write(NEW), AllowHunks((RejectedHunk(0),)), content=OLD.encode())
    reader.meanwhile = lambda: reader.file.write_text(f"{OLD}and more\n")

    assert "has changed on disk since it was read" in await reader.go()
    assert reader.file.read_text() == f"{OLD}and more\n"


async def test_decision_not_fitting_the_call_runs_nothing(make_agent: Callable[..., Agent], user):
    tool = SimpleTool("bash", risk="execute")
    agent = make_agent(calls("bash", command="ls"), calls("bash", command="ls"), "done", tools=[tool])
    user.approvals = [ProposeRevision("rm x"), AllowHunks((RejectedHunk(0),))]

    await agent.prompt("go")

    assert tool.ran == []
    assert [result.is_error for result in results_of(agent)] == [True, True]
    assert [request.is_revisable for request in user.asked] == [False, False]


class FixedCommand(SimpleTool):
    """Tool whose command is displayed but cannot be expressed in arguments."""

    async def preview(self, arguments: JsonObject, context: ToolContext) -> TerminalView:
        return TerminalView(str(arguments["command"]), "")

    def revised(self, arguments: JsonObject, view: View, text: str) -> JsonObject | None:
        return None


async def test_revision_that_the_tool_cannot_express_runs_nothing(make_agent: Callable[..., Agent], user):
    tool = FixedCommand("bash", risk="execute")
    agent = make_agent(calls("bash", command="ls"), "done", tools=[tool])
    user.approvals = [ProposeRevision("rm x")]

    await agent.prompt("go")

    assert tool.ran == []
    assert [(result.is_error, result.text) for result in results_of(agent)] == [(True, INVALID_APPROVAL)]


def test_report_of_a_rejected_hunk_truncates_long_hunks_and_lines():
    def rejected(*lines: str) -> list[str]:
        view = DiffView("a.txt", "", "".join(f"{line}\n" for line in lines))
        return rejections(view, [RejectedHunk(0)]).splitlines()[1:]

    assert rejected(*"x" * MAX_LINES) == ["+x"] * MAX_LINES
    assert rejected(*"x" * (MAX_LINES + 2)) == [*["+x"] * MAX_LINES, "+… 2 more lines"]
    assert rejected("y" * MAX_LINE_CHARS) == ["+" + "y" * MAX_LINE_CHARS]
    assert rejected("y" * (MAX_LINE_CHARS + 1)) == ["+" + "y" * MAX_LINE_CHARS + "…"]


lines = st.lists(st.sampled_from(["a", "b", "c", "", "  d", "é“q”"]), max_size=14).map("\n".join)


@given(st.tuples(lines, lines), st.sets(st.integers(0, 5)), st.sampled_from(["\n", "\r\n"]), st.booleans())
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_selection_of_hunks_is_written_as_previewed(
    tmp_path: Path, texts: tuple[str, str], refused: set[int], ending: str, is_edit: bool
):
    old, new = texts
    view = DiffView("a.txt", old, new)
    hunks = len(hunks_of(view))
    refused = {number for number in refused if number < hunks}
    if old == new or not refused:
        return
    answer = AllowHunks(tuple(RejectedHunk(number) for number in sorted(refused)))
    call = edit({"old_string": old, "new_string": new}) if is_edit else write(new)

    reader = Reader(tmp_path, call, answer, content=old.replace("\n", ending).encode())
    await reader.go()

    assert reader.user.asked[0].view == view
    left = applied(view, [number for number in range(hunks) if number not in refused]) or ""
    written = reader.file.read_bytes().decode()
    assert written.replace("\r\n", "\n") == left
    assert "\n" not in old or ending == "\n" or written.count("\n") == written.count("\r\n")
