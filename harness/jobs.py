"""Commands that go on after their call: begun in the background, or moved there while their call ran.

An agent has one registry for itself and all that works for it, and each of them hears of the jobs that it began. What
a job prints is kept by the tool that began it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import field
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias

from harness.concurrency.cancellation import cancel_tasks
from harness.concurrency.threads import call_in, settle
from harness.events import Event, JobEnded, JobStarted, Notice
from harness.inbox import Queue
from harness.lazy_dataclass import dataclass
from harness.messages import JsonValue, Message, Text, ToolResult, UserMessage

MOST_RUNNING = 20
MOST_KEPT = 20
"""Of those that are over, the newest stay to be asked about."""

HOW_IT_GOES_ON = "You are told when it ends; job_output shows what it prints, job_kill stops it."

JobState: TypeAlias = Literal["running", "ended", "killed", "failed"]
Wait: TypeAlias = Literal["over", "late", "moved"]
Killer: TypeAlias = Literal["", "model", "person", "leaving"]


class JobOutput(Protocol):
    """Port: what a job has printed so far."""

    def latest(self, limit: int) -> str:
        """Its last characters."""
        ...

    def whole(self) -> str:
        """All of it so far, or its beginning and end with a word between on where the rest is."""
        ...

    def news(self) -> str:
        """What is new since this was asked last, cut where it is long, with a word on where all of it is."""
        ...


@dataclass(frozen=True, slots=True)
class JobSpec:
    """What is to be done: `work` comes to an exit code; cancelled, it leaves nothing behind."""

    call_id: str
    title: str
    printed: JobOutput
    work: Callable[[], Coroutine[Any, Any, int]]  # Any: what a coroutine yields and is sent is asyncio's own affair


@dataclass(slots=True, eq=False)
class Job:
    """An errand under way. It has an `id` once it is in the background; who began it hears of it through `owner`."""

    errand: JobSpec
    owner: Jobs
    task: asyncio.Task[int]
    moved: asyncio.Future[None]
    id: str = ""
    state: JobState = "running"
    exit_code: int | None = None
    problem: str = ""
    killer: Killer = ""
    waiting: int = 0
    started: float = field(default_factory=time.monotonic)
    ended: float = 0.0

    @property
    def seconds(self) -> float:
        return (self.ended or time.monotonic()) - self.started

    @property
    def fate(self) -> str:
        """How it stands, in words."""
        match self.state:
            case "running":
                return f"running for {self.seconds:.0f} s"
            case "ended":
                return f"ended with exit code {self.exit_code} after {self.seconds:.0f} s"
            case "killed":
                return f"killed after {self.seconds:.0f} s"
            case "failed":
                return f"failed: {self.problem}"


def _tell_nobody(event: Event) -> None:
    del event


@dataclass(slots=True)
class _Known:
    """What all who share a registry see of it."""

    publish: Callable[[Event], None]
    begun: list[Job] = field(default_factory=list[Job])
    background: list[Job] = field(default_factory=list[Job])
    count: int = 0


class Jobs:
    """`publish` tells observers of those in the background; `news` is what the model hears at the next turn."""

    def __init__(
        self,
        publish: Callable[[Event], None] = _tell_nobody,
        news: Queue | None = None,
        *,
        known: _Known | None = None,
    ) -> None:
        self._known = known or _Known(publish)
        self._news = Queue("all") if news is None else news
        self._heir: Jobs | None = None

    @property
    def all(self) -> tuple[Job, ...]:
        """Those in the background, oldest first."""
        return tuple(self._known.background)

    @property
    def running(self) -> tuple[Job, ...]:
        return tuple(job for job in self._known.background if job.state == "running")

    def for_another(self, news: Queue) -> Jobs:
        """The same registry, for an agent that works for this one; `news` is where it hears of the jobs it begins."""
        return Jobs(news=news, known=self._known)

    def leave_to(self, heir: Jobs) -> tuple[Job, ...]:
        """Its agent is done: `heir` hears what it did not hear, and how its running jobs end; which those are."""
        self._heir = heir
        for message in self._news.clear():
            heir.tell(message)
        return tuple(job for job in self.running if job.owner is self)

    def tell(self, message: UserMessage) -> None:
        """Let the model hear this at the next turn, or the one whose model it is to hear now."""
        if self._heir is None:
            self._news.put(message)
        else:
            self._heir.tell(message)

    def warn(self, job: Job, text: str) -> None:
        """Tell all who may want to stop it what is odd about a job in the background."""
        self._known.publish(Notice(text=f"{job.id} ({job.errand.title}) {text}", level="warning"))
        job.owner.tell(_said(f"[Still running: {job.id} ({job.errand.title}) {text} job_kill stops it.]"))

    def count_from(self, number: int) -> None:
        """Give the next one a higher number than this."""
        self._known.count = max(self._known.count, number)

    def find(self, job_id: str) -> Job | None:
        """The job of that id; None where there is none, or it is over for long."""
        return next((job for job in self._known.background if job.id == job_id), None)

    def begin(self, errand: JobSpec) -> Job:
        """Start it, for the call that waits for it."""
        job = Job(errand, self, asyncio.create_task(errand.work()), asyncio.get_running_loop().create_future())
        self._known.begun.append(job)
        job.task.add_done_callback(partial(self._over, job))
        return job

    async def wait(self, job: Job, seconds: float | None) -> Wait:
        """Until it is over, in the background, or the time is up. Cancelled, it is killed, unless it was moved."""
        try:
            await asyncio.wait([job.task, job.moved], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if not job.moved.done():
                await cancel_tasks([job.task])
            raise
        return "over" if job.task.done() else "moved" if job.moved.done() else "late"

    async def wait_in_background(self, job: Job, seconds: float) -> None:
        """Until it is over or the time is up; who waits sees its end, and is not told of it again."""
        job.waiting += 1
        try:
            await asyncio.wait([job.task], timeout=seconds)
            # Its end is noted by a callback of the task.
            await asyncio.sleep(0)
        finally:
            job.waiting -= 1

    def to_background(self, job: Job) -> None:
        """Its call does not wait for it any more."""
        if job.moved.done():
            return
        job.moved.set_result(None)
        self._known.count += 1
        job.id = f"job-{self._known.count}"
        self._known.begun.remove(job)
        self._known.background.append(job)
        self._forget_old()
        self._known.publish(JobStarted(job_id=job.id, call_id=job.errand.call_id, title=job.errand.title))

    def move(self, call_id: str) -> bool:
        """Let the call go on without what it waits for; whether there is such a call. From any thread."""
        if len(self.running) >= MOST_RUNNING:
            return False
        waiting = [job for job in tuple(self._known.begun) if job.errand.call_id == call_id and _lives(job)]
        for job in waiting:
            call_in(job.task.get_loop(), partial(self._move, job))
        return bool(waiting)

    async def stop(self, job: Job, killer: Killer = "") -> None:
        """Kill it, with all that it started, and wait until that is done."""
        job.killer = job.killer or killer
        await cancel_tasks([job.task])
        await asyncio.sleep(0)

    def kill(self, job_id: str) -> bool:
        """The person does not want it any more; whether it ran. From any thread."""
        job = self.find(job_id)
        if job is None or job.state != "running":
            return False
        job.killer = job.killer or "person"
        call_in(job.task.get_loop(), job.task.cancel)
        return True

    async def close(self) -> tuple[Job, ...]:
        """Kill all that run; which they were. A job of an event loop that is closed went with it."""
        here = asyncio.get_running_loop()
        mine = [
            job
            for job in (*self._known.begun, *self._known.background)
            if job.task.get_loop() is here and not job.task.done()
        ]
        for job in mine:
            job.killer = "leaving"
        await cancel_tasks([job.task for job in mine])
        await asyncio.sleep(0)
        return tuple(mine)

    def _move(self, job: Job) -> None:
        if job in self._known.begun and _lives(job):
            self.to_background(job)

    def _over(self, job: Job, task: asyncio.Task[int]) -> None:
        job.ended = time.monotonic()
        if task.cancelled():
            job.state = "killed"
        elif error := task.exception():
            job.state, job.problem = "failed", str(error)
        else:
            job.state, job.exit_code = "ended", task.result()
        if job in self._known.begun:
            self._known.begun.remove(job)
            settle(job.moved)
            return
        self._known.publish(JobEnded(job_id=job.id, state=job.state, exit_code=job.exit_code, duration=job.seconds))
        if not job.waiting and job.killer in ("", "person"):
            job.owner.tell(_said(_word_of_end(job)))

    def _forget_old(self) -> None:
        over = [job for job in self._known.background if job.state != "running"]
        for job in over[: max(0, len(over) - MOST_KEPT)]:
            self._known.background.remove(job)


def _lives(job: Job) -> bool:
    """Whether it goes on: one that is being stopped is no job to keep."""
    return not job.task.done() and not job.task.cancelling()


def _said(text: str) -> UserMessage:
    return UserMessage((Text(text),), synthetic=True)


def _word_of_end(job: Job) -> str:
    by = " by the user" if job.killer == "person" else ""
    return f"[Background {job.id} ({job.errand.title}): {job.fate}{by}. job_output shows what it printed.]"


def lost_jobs(messages: Sequence[Message], jobs: Jobs) -> tuple[str, ...]:
    """Return the ids of jobs that a conversation left running in an earlier process; `jobs` does not reuse them."""
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
                for job_id, call_id in _left_by_subagent(left):
                    begun[job_id] = unfinished[job_id] = call_id
            case UserMessage(synthetic=True, text=text) if text.startswith("[Background "):
                unfinished.pop(text.split(maxsplit=2)[1], None)
            case _:
                pass
    jobs.count_from(max((_number_of(job_id) for job_id in begun), default=0))
    here = {(job.id, job.errand.call_id) for job in jobs.running}
    return tuple(job_id for job_id, call_id in unfinished.items() if (job_id, call_id) not in here)


def lost_jobs_notice(jobs: Sequence[str]) -> str:
    """Return the notice for the model about lost jobs."""
    return f"Not running any more, since the program that ran them has ended: {', '.join(jobs)}."


def _left_by_subagent(left: Sequence[JsonValue]) -> Iterator[tuple[str, str]]:
    for each in left:
        match each:
            case {"job_id": str(job_id), "call_id": str(call_id)}:
                yield job_id, call_id
            case _:
                pass


def _number_of(job_id: str) -> int:
    number = job_id.rpartition("-")[2]
    return int(number) if number.isdecimal() else 0
