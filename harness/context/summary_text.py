"""Text of a summary message: the facts and the prose in a form that can be read back.

The text is the only record of a summary, in the session file and in a context that is summarized again. Each section
is enclosed in tags on lines of their own; a line of content that looks like such a tag is escaped with a backslash.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from harness.context.quoted_prompts import PromptFact, prompts_within
from harness.context.summary_facts import (
    TODO_MARKS,
    AnswerFact,
    CommandFact,
    LiveFacts,
    PlanFact,
    SummaryFacts,
    TodoFact,
)
from harness.context.tokens import estimate_text
from harness.messages import Message, Text, UserMessage

TAG = "context_summary"
INTRODUCTION = (
    "Earlier messages of this conversation are replaced by this summary. The lists are exact; the prose at the end was "
    "written by a model. Continue the work from here, and do not repeat what is done. The tool `recall`, if "
    "you have it, searches the original messages."
)

_SECTIONS = (
    "user_messages",
    "answers",
    "unanswered_questions",
    "denied",
    "todo",
    "plan",
    "edited_files",
    "read_files",
    "failed_commands",
    "background_jobs",
    "mode",
    "summary",
)
_TAG_LINE = re.compile(rf"^(\\*)(</?(?:{TAG}|message|command|{'|'.join(_SECTIONS)})(?: [a-z]+=\"[a-z0-9]+\")?>)$")
_QUOTE_TOKENS = estimate_text("<message>\n</message>\n")
_STATUSES = {mark: status for status, mark in TODO_MARKS.items()}
_ANSWER = " → "


class Summary(Struct, frozen=True):
    """A summary: facts and prose."""

    facts: SummaryFacts = SummaryFacts()
    """Facts that were collected without a model."""
    prose: str = ""
    """Text of the model."""


def is_summary(message: Message) -> TypeGuard[UserMessage]:
    """Return True for a message that `summary_text` wrote."""
    return isinstance(message, UserMessage) and message.synthetic and message.text.startswith(f"<{TAG}>\n")


def summary_text(summary: Summary) -> str:
    """Return the text of a summary message. Pure and deterministic; `parse_summary` is its inverse."""
    sections = chain.from_iterable(_sections(summary))
    return "\n".join((f"<{TAG}>", INTRODUCTION, *sections, f"</{TAG}>"))


def parse_summary(text: str) -> Summary:
    """Return the summary that a text contains; a text in another format is prose."""
    lines = text.split("\n")
    if lines[0] != f"<{TAG}>":
        return Summary(prose=text.strip())
    return _summary_of(_contents(lines[1:]))


def prose_of(message: UserMessage) -> str:
    """Return the prose of a summary message."""
    return parse_summary(message.text).prose


def replace_prose(message: UserMessage, prose: str) -> UserMessage:
    """Return a summary message with other prose, the same facts and the same id."""
    return _rewritten(message, replace(parse_summary(message.text), prose=prose.strip()))


def with_fewer_prompts(message: UserMessage, tokens: int) -> UserMessage:
    """Return a summary message of at most `tokens` tokens, as far as it becomes shorter with fewer prompts."""
    if estimate_text(message.text) <= tokens:
        return message
    summary = parse_summary(message.text)
    facts = summary.facts
    rest = estimate_text(summary_text(replace(summary, facts=replace(facts, prompts=()))))
    room = max(0, tokens - rest - _QUOTE_TOKENS * len(facts.prompts))
    prompts, omitted = prompts_within(facts.prompts, room)
    facts = replace(facts, prompts=prompts, omitted_prompts=facts.omitted_prompts + omitted)
    shorter = _rewritten(message, replace(summary, facts=facts))
    return shorter if len(shorter.text) < len(message.text) else message


def _rewritten(message: UserMessage, summary: Summary) -> UserMessage:
    return replace(message, content=(Text(summary_text(summary)),))


def _sections(summary: Summary) -> Iterator[list[str]]:
    facts = summary.facts
    omitted = f' omitted="{facts.omitted_prompts}"' if facts.omitted_prompts else ""
    prompts = chain.from_iterable(
        _enclosed("message", _escaped(each.text), ' shortened="yes"' if each.is_shortened else "")
        for each in facts.prompts
    )
    commands = chain.from_iterable(
        _enclosed("command", _escaped(f"{each.command}\n{each.output}")) for each in facts.failed
    )
    yield _enclosed("user_messages", prompts, omitted, keep_empty=bool(omitted))
    yield _enclosed(
        "answers", _items(f"{each.question.replace(_ANSWER, ' -> ')}{_ANSWER}{each.answer}" for each in facts.answers)
    )
    yield _enclosed("unanswered_questions", _items(facts.unanswered))
    yield _enclosed("denied", _items(facts.denied))
    yield _enclosed("todo", (f"- [{TODO_MARKS[each.status]}] {each.content}" for each in facts.todo))
    if facts.plan:
        yield _enclosed("plan", _escaped(facts.plan.text), f' status="{facts.plan.status}"')
    yield _enclosed("edited_files", _items(facts.edited))
    yield _enclosed("read_files", _items(facts.read))
    yield _enclosed("failed_commands", commands)
    yield _enclosed("background_jobs", _items(facts.live.jobs))
    yield _enclosed("mode", _escaped(facts.live.mode) if facts.live.mode else [])
    yield _enclosed("summary", _escaped(summary.prose), keep_empty=True)


def _enclosed(tag: str, lines: Iterable[str], attribute: str = "", *, keep_empty: bool = False) -> list[str]:
    content = list(lines)
    return [f"<{tag}{attribute}>", *content, f"</{tag}>"] if content or keep_empty else []


def _items(items: Iterable[str]) -> Iterator[str]:
    return (f"- {' '.join(item.split())}" for item in items)


def _escaped(text: str) -> Iterator[str]:
    return (_TAG_LINE.sub(r"\\\1\2", line) for line in text.split("\n"))


def _unescaped(lines: Iterable[str]) -> str:
    return "\n".join(line[1:] if line.startswith("\\") and _TAG_LINE.match(line) else line for line in lines)


class _Section(Struct):
    """Lines of a section, with its attribute."""

    attribute: str = ""
    lines: list[str] = []


def _contents(lines: Sequence[str]) -> Mapping[str, _Section]:
    """Return the sections by name, empty ones for other names; an unclosed one ends with the text."""
    sections: defaultdict[str, _Section] = defaultdict(_Section)
    name = ""
    for line in lines:
        tag, attribute = _tag(line)
        if not name and tag in _SECTIONS:
            name, sections[tag] = tag, _Section(attribute)
        elif name and tag == f"/{name}":
            name = ""
        elif name:
            sections[name].lines.append(line)
    return sections


def _tag(line: str) -> tuple[str, str]:
    """Return the name of the tag in a line and the value of its attribute; empty for content."""
    match = _TAG_LINE.match(line)
    if not match or match[1]:
        return "", ""
    name, _, attribute = match[2].strip("<>").partition(" ")
    return name, attribute.partition("=")[2].strip('"')


def _summary_of(sections: Mapping[str, _Section]) -> Summary:
    omitted, plan = sections["user_messages"].attribute, sections["plan"]
    facts = SummaryFacts(
        prompts=tuple(
            PromptFact(_unescaped(each.lines), each.attribute == "yes")
            for each in _nested(sections["user_messages"], "message")
        ),
        omitted_prompts=int(omitted) if omitted.isdecimal() else 0,
        answers=tuple(AnswerFact(*_split(item)) for item in _listed(sections["answers"])),
        unanswered=_listed(sections["unanswered_questions"]),
        denied=_listed(sections["denied"]),
        todo=tuple(_todo_items(sections["todo"].lines)),
        plan=PlanFact(_unescaped(plan.lines), "accepted" if plan.attribute == "accepted" else "proposed")
        if plan.lines
        else None,
        edited=_listed(sections["edited_files"]),
        read=_listed(sections["read_files"]),
        failed=tuple(_command(each.lines) for each in _nested(sections["failed_commands"], "command") if each.lines),
        live=LiveFacts(_unescaped(sections["mode"].lines), _listed(sections["background_jobs"])),
    )
    return Summary(facts, _unescaped(sections["summary"].lines))


def _nested(section: _Section, tag: str) -> Iterator[_Section]:
    """Yield the sections between tags of this name."""
    open_section: _Section | None = None
    for line in section.lines:
        name, attribute = _tag(line)
        if name == tag:
            open_section = _Section(attribute)
        elif name == f"/{tag}" and open_section is not None:
            yield open_section
            open_section = None
        elif open_section is not None:
            open_section.lines.append(line)


def _listed(section: _Section) -> tuple[str, ...]:
    return tuple(line.removeprefix("- ") for line in section.lines)


def _split(item: str) -> tuple[str, str]:
    question, _, answer = item.partition(_ANSWER)
    return question, answer


def _todo_items(lines: Iterable[str]) -> Iterator[TodoFact]:
    for line in lines:
        if match := re.match(r"- \[(.)\] (.*)", line):
            yield TodoFact(match[2], _STATUSES.get(match[1], "pending"))


def _command(lines: Sequence[str]) -> CommandFact:
    command, *output = lines
    return CommandFact(_unescaped([command]), _unescaped(output))
