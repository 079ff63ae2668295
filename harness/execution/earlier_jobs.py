"""What a conversation tells of jobs: those of an earlier process are gone, and their names are not given again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from harness.messages import JsonValue, Message, ToolResult, UserMessage

if TYPE_CHECKING:
    from harness.agent.agent import Agent


def jobs_gone(messages: Sequence[Message], agent: Agent) -> tuple[str, ...]:
    """The jobs that this conversation takes for running and that do not run here. New ones are called otherwise."""
    begun: dict[str, str] = {}
    unfinished: dict[str, str] = {}
    for message in messages:
        match message:
            case ToolResult(details={"job_id": str(job_id), "state": str(state)}):
                if state != "running":
                    unfinished.pop(job_id, None)
            case ToolResult(details={"job_id": str(job_id)}):
                begun[job_id] = unfinished[job_id] = message.call_id
            case ToolResult(details={"jobs": list(left)}):
                for job_id, call_id in _left_by_sub_agent(left):
                    begun[job_id] = unfinished[job_id] = call_id
            case UserMessage(synthetic=True, text=text) if text.startswith("[Background "):
                unfinished.pop(text.split(maxsplit=2)[1], None)
            case _:
                pass
    agent.jobs.count_from(max((_number(job_id) for job_id in begun), default=0))
    here = {(job.id, job.errand.call_id) for job in agent.jobs.running}
    return tuple(job_id for job_id, call_id in unfinished.items() if (job_id, call_id) not in here)


def word_of_gone(jobs: Sequence[str]) -> str:
    """What the model is told of them."""
    return f"Not running any more, since the program that ran them has ended: {', '.join(jobs)}."


def _left_by_sub_agent(left: Sequence[JsonValue]) -> Iterator[tuple[str, str]]:
    for each in left:
        match each:
            case {"job_id": str(job_id), "call_id": str(call_id)}:
                yield job_id, call_id
            case _:
                pass


def _number(job_id: str) -> int:
    number = job_id.rpartition("-")[2]
    return int(number) if number.isdecimal() else 0
