"""Background jobs that a conversation left running in an earlier process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.jobs import JOB_ENDED, Jobs
from harness.messages import JsonObject, JsonValue, Message, ToolResult, UserMessage


def lost_jobs(messages: Sequence[Message], jobs: Jobs) -> tuple[str, ...]:
    """Return the ids of jobs that a conversation left running in an earlier process; `jobs` does not reuse them."""
    started: dict[str, str] = {}
    unfinished: dict[str, str] = {}
    for message in messages:
        # Comparing types first: matching each message of a long session takes ten times as long.
        if type(message) is UserMessage and message.synthetic:
            _remove_reported(message.text, unfinished)
        elif type(message) is ToolResult and message.details:
            found = dict(_started_by(message))
            started |= found
            unfinished |= found
            _remove_ended(message.details, unfinished)
    numbers = (job_id.rpartition("-")[2] for job_id in started)
    jobs.count_from(max((int(number) for number in numbers if number.isdecimal()), default=0))
    here = {(job.id, job.spec.call_id) for job in jobs.running}
    return tuple(job_id for job_id, call_id in unfinished.items() if (job_id, call_id) not in here)


def _started_by(result: ToolResult) -> Iterator[tuple[str, str]]:
    """Yield the ids of the jobs that a call started, each with the id of the call."""
    match result.details:
        case {"job_id": str(job_id)} as details if "state" not in details:
            yield job_id, result.call_id
        case {"jobs": list(left)}:
            yield from _left_by_subagent(left)
        case _:
            pass


def _remove_ended(details: JsonObject, unfinished: dict[str, str]) -> None:
    """Remove the job whose end a result reports."""
    match details:
        case {"job_id": str(job_id), "state": str(state)} if state != "running":
            unfinished.pop(job_id, None)
        case _:
            pass


def _remove_reported(text: str, unfinished: dict[str, str]) -> None:
    """Remove the jobs whose end a message to the model reports."""
    reported: list[str] = []
    if text.startswith(JOB_ENDED):
        reported = [text.split(maxsplit=2)[1]]
    elif text.startswith(_LOST):
        reported = text.removeprefix(_LOST).removesuffix(".").split(", ")
    for job_id in reported:
        unfinished.pop(job_id, None)


_LOST = "No longer running, because the program that ran them has ended: "


def lost_jobs_notice(jobs: Sequence[str]) -> str:
    """Return the notice for the model about lost jobs."""
    return f"{_LOST}{', '.join(jobs)}."


def _left_by_subagent(left: Sequence[JsonValue]) -> Iterator[tuple[str, str]]:
    for each in left:
        match each:
            case {"job_id": str(job_id), "call_id": str(call_id)}:
                yield job_id, call_id
            case _:
                pass
