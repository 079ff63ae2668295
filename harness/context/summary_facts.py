"""Facts that a summary states without a model: prompts, answers, todo list, plan, files, failed commands, jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from harness.context.call_description import changed_paths, describe_call, read_paths
from harness.context.policy import DEFAULT_POLICY
from harness.context.quoted_prompts import PromptFact, prompts_within, quoted_prompts
from harness.messages import AssistantMessage, JsonValue, Message, ToolCall, ToolResult
from harness.truncation import cut_middle
from harness.views import TextView

PlanStatus: TypeAlias = Literal["accepted", "proposed"]

MAX_FILES = 40
"""Maximum number of edited files, and of files read."""
MAX_COMMANDS = 5
"""Maximum number of failed commands."""
MAX_NOTES = 20
"""Maximum number of answers of the user, and of calls that the user denied."""
MAX_CHARS = 300
"""Maximum length of an answer, a command and the end of its output."""
LAST_LINES = 6
"""Lines of the output of a failed command."""
PLAN_CHARS = 8_000

TODO_MARKS = {"pending": " ", "in_progress": ">", "completed": "x"}
"""Mark of a todo item by its status."""


class TodoFact(Struct, frozen=True):
    """An item of the todo list."""

    content: str
    """The item."""
    status: str
    """`pending`, `in_progress` or `completed`."""


class PlanFact(Struct, frozen=True):
    """A plan of the model."""

    text: str
    """The plan."""
    status: PlanStatus
    """`accepted` by the user, or `proposed` and not accepted yet."""


class AnswerFact(Struct, frozen=True):
    """An answer of the user to a question of the model."""

    question: str
    """The question."""
    answer: str
    """The answer."""


class CommandFact(Struct, frozen=True):
    """A command whose latest run failed."""

    command: str
    """The command."""
    output: str
    """Exit code and the end of its output."""


class LiveFacts(Struct, frozen=True):
    """Facts about the present that no message contains."""

    mode: str = ""
    """Name of the mode, with its instructions if the model needs them again; empty for the usual mode."""
    jobs: tuple[str, ...] = ()
    """Background jobs, one line each."""


class SummaryFacts(Struct, frozen=True):
    """The structured part of a summary."""

    prompts: tuple[PromptFact, ...] = ()
    """Messages of the user, oldest first."""
    omitted_prompts: int = 0
    """Number of older messages of the user that do not fit."""
    answers: tuple[AnswerFact, ...] = ()
    """Answers of the user, oldest first."""
    unanswered: tuple[str, ...] = ()
    """Questions that the user skipped, or did not answer in time."""
    denied: tuple[str, ...] = ()
    """Calls that the user denied, with the reason."""
    todo: tuple[TodoFact, ...] = ()
    """Todo list."""
    plan: PlanFact | None = None
    """Latest plan; None if no plan was submitted."""
    edited: tuple[str, ...] = ()
    """Edited files, the latest last."""
    read: tuple[str, ...] = ()
    """Files that were read and not edited, the latest last."""
    failed: tuple[CommandFact, ...] = ()
    """Commands whose latest run failed, the latest last."""
    live: LiveFacts = LiveFacts()
    """Mode and background jobs at the time of the summary."""


def facts_of(
    messages: Sequence[Message],
    *,
    earlier: SummaryFacts = SummaryFacts(),
    later: Sequence[Message] = (),
    live: LiveFacts = LiveFacts(),
    prompts_tokens: int = DEFAULT_POLICY.prompts_tokens,
) -> SummaryFacts:
    """Return the facts that messages contain. Pure.

    Args:
        messages: Messages to be summarized, without earlier summaries.
        earlier: Facts of the summaries before them.
        later: Messages after them, which the model continues to see; they make some of the facts obsolete.
        live: Facts about the present.
        prompts_tokens: Tokens for the messages of the user, newest first; older ones are shortened.
    """
    calls, results = _calls(messages), _results(messages)
    later_calls, later_results = _calls(later), _results(later)
    kept, omitted = prompts_within((*earlier.prompts, *quoted_prompts(messages)), prompts_tokens)
    answers, unanswered = _answers(calls, results)
    edited = _latest((*earlier.edited, *_paths(calls, results, changed_paths)))
    read = _latest((*earlier.read, *_paths(calls, results, read_paths)))
    return SummaryFacts(
        prompts=kept,
        omitted_prompts=earlier.omitted_prompts + omitted,
        answers=(*earlier.answers, *answers)[-MAX_NOTES:],
        unanswered=_still_open((*earlier.unanswered, *unanswered), answers),
        denied=(*earlier.denied, *_denied(calls, results))[-MAX_NOTES:],
        todo=() if _has_call(later_calls, "todo") else _todo(calls, results, earlier.todo),
        plan=None if _has_call(later_calls, "submit_plan") else _plan(calls, results, earlier.plan),
        edited=edited,
        read=tuple(path for path in read if path not in edited),
        failed=_failed((*calls, *later_calls), {**results, **later_results}, earlier.failed),
        live=live,
    )


def _calls(messages: Iterable[Message]) -> list[ToolCall]:
    return [call for each in messages if isinstance(each, AssistantMessage) for call in each.tool_calls]


def _results(messages: Iterable[Message]) -> dict[str, ToolResult]:
    return {each.call_id: each for each in messages if isinstance(each, ToolResult)}


def _has_call(calls: Iterable[ToolCall], name: str) -> bool:
    return any(call.name == name for call in calls)


def _answers(calls: Iterable[ToolCall], results: Mapping[str, ToolResult]) -> tuple[list[AnswerFact], list[str]]:
    """Return the user's answers to the questions of `ask_user` calls, and the questions without an answer."""
    found: list[AnswerFact] = []
    unanswered: list[str] = []
    for call in calls:
        details = result.details if (result := results.get(call.id)) else None
        if call.name != "ask_user" or not details:
            continue
        fields = details.get("answers", [{"question": call.arguments.get("prompt", ""), **details}])
        for each in fields if isinstance(fields, list) else []:
            if answer := _answered(each):
                found.append(answer)
            elif question := _unanswered(each):
                unanswered.append(question)
    return found, unanswered


def _unanswered(fields: JsonValue) -> str:
    match fields:
        case {"status": "skipped" | "timed_out", "question": str() as question}:
            return truncated_line(question)
        case _:
            return ""


def _still_open(questions: Iterable[str], answers: Iterable[AnswerFact]) -> tuple[str, ...]:
    """Return the latest questions without those that were answered when they were asked again."""
    answered = {each.question for each in answers}
    return tuple(each for each in dict.fromkeys(questions) if each not in answered)[-MAX_NOTES:]


def _answered(fields: JsonValue) -> AnswerFact | None:
    match fields:
        case {"status": "selected" | "edited" | "free_text", "question": str() as question, "text": str() as text}:
            other = fields.get("other")
            answer = truncated_line(" + ".join(part for part in (text, other) if isinstance(part, str) and part))
            return AnswerFact(truncated_line(question), answer) if answer else None
        case _:
            return None


def _denied(calls: Iterable[ToolCall], results: Mapping[str, ToolResult]) -> list[str]:
    return [
        truncated_line(f"{describe_call(call)} — {result.text}")
        for call in calls
        if (result := results.get(call.id)) and result.details and result.details.get("denied") is True
    ]


def _todo(
    calls: Sequence[ToolCall], results: Mapping[str, ToolResult], earlier: tuple[TodoFact, ...]
) -> tuple[TodoFact, ...]:
    """Return the latest todo list; a completed one is history."""
    latest = next((call for call in reversed(calls) if call.name == "todo" and _succeeded(call, results)), None)
    todos = latest.arguments.get("todos") if latest else None
    items = [_todo_item(each) for each in todos] if isinstance(todos, list) else earlier
    found = tuple(each for each in items if each.content)
    return () if all(each.status == "completed" for each in found) else found


def _todo_item(fields: JsonValue) -> TodoFact:
    match fields:
        case {"content": str() as content, "status": "in_progress" | "completed" as status}:
            return TodoFact(truncated_line(content), status)
        case {"content": str() as content}:
            return TodoFact(truncated_line(content), "pending")
        case _:
            return TodoFact("", "pending")


def _plan(calls: Sequence[ToolCall], results: Mapping[str, ToolResult], earlier: PlanFact | None) -> PlanFact | None:
    for call in reversed(calls):
        result, text = results.get(call.id), call.arguments.get("plan")
        if call.name != "submit_plan" or result is None or not isinstance(text, str) or not text.strip():
            continue
        accepted = bool(result.details and result.details.get("accepted") is True)
        # The user may have edited the plan; the view has that version.
        final = result.view.text if accepted and isinstance(result.view, TextView) else text
        return PlanFact(_limited(final), "accepted" if accepted else "proposed")
    return earlier


def _limited(plan: str) -> str:
    return cut_middle(plan.strip(), PLAN_CHARS, lambda gone: f"\n[… {gone} characters]\n")


def _paths(
    calls: Iterable[ToolCall],
    results: Mapping[str, ToolResult],
    paths_of: Callable[[ToolCall, ToolResult], Sequence[str]],
) -> list[str]:
    done = (call for call in calls if call.id in results)
    return [truncated_line(path) for call in done for path in paths_of(call, results[call.id])]


def _succeeded(call: ToolCall, results: Mapping[str, ToolResult]) -> bool:
    result = results.get(call.id)
    return result is not None and not result.is_error


def _latest(paths: Iterable[str]) -> tuple[str, ...]:
    """Return each path once, in the order of its last occurrence, the latest `MAX_FILES` only."""
    ordered: dict[str, None] = {}
    for path in paths:
        ordered.pop(path, None)
        ordered[path] = None
    return tuple(ordered)[-MAX_FILES:]


def _failed(
    calls: Iterable[ToolCall], results: Mapping[str, ToolResult], earlier: tuple[CommandFact, ...]
) -> tuple[CommandFact, ...]:
    latest = {fact.command: fact for fact in earlier}
    for call in calls:
        result, command = results.get(call.id), call.arguments.get("command")
        if call.name != "bash" or result is None or not isinstance(command, str) or not command.strip():
            continue
        key = truncated_line(command)
        latest.pop(key, None)
        if fact := _failure(key, result):
            latest[key] = fact
    return tuple(latest.values())[-MAX_COMMANDS:]


def _failure(command: str, result: ToolResult) -> CommandFact | None:
    details = result.details or {}
    code = details.get("exit_code")
    if details.get("denied") or not (result.is_error or (isinstance(code, int) and code)):
        return None
    end = "\n".join(result.text.strip().splitlines()[-LAST_LINES:])[-MAX_CHARS:]
    shown = f"exit code {code}" if isinstance(code, int) else "did not finish"
    return CommandFact(command, f"{shown}\n{end}".strip())


def truncated_line(text: str, limit: int = MAX_CHARS) -> str:
    """Return a text in one line of at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def merge_facts(facts: Iterable[SummaryFacts]) -> SummaryFacts:
    """Return the facts of several summaries, oldest first, as those of one."""
    merged = SummaryFacts()
    for each in facts:
        merged = SummaryFacts(
            prompts=merged.prompts + each.prompts,
            omitted_prompts=merged.omitted_prompts + each.omitted_prompts,
            answers=merged.answers + each.answers,
            unanswered=merged.unanswered + each.unanswered,
            denied=merged.denied + each.denied,
            todo=each.todo or merged.todo,
            plan=each.plan or merged.plan,
            edited=merged.edited + each.edited,
            read=merged.read + each.read,
            failed=merged.failed + each.failed,
            live=each.live,
        )
    return merged
