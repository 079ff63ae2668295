"""Background jobs: commands that continue after their call, started in the background or moved there.

An agent and its subagents share one registry, and each is notified of the jobs that it started. The output of a job is
kept by the tool that started it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Literal, TypeAlias

from msgspec import Struct, field

from harness.concurrency import call_in, cancel_tasks, settle
from harness.events import Event, JobEnded, JobInputRequested, JobStarted, Notice
from harness.inbox import Queue
from harness.job_spec import JobSpec
from harness.messages import UserMessage, synthetic
from harness.tool_mentions import NameOf, mention, own_name

MAX_RUNNING = 20
"""Maximum number of background jobs running at once."""
MAX_ENDED = 20
"""Number of ended jobs to keep."""
RUN_WAIT_SECONDS = 600.0
"""Longest wait of a run for the end of a job, where no later run could report it."""
POLL_SECONDS = 0.05
"""Interval in which a terminal is checked."""

_NOTIFIED = "You will be notified when it ends; "
_AWAITED = "You will be notified when it ends: this run waits for that, so stop servers before you finish; "
_STOPPED = "It is stopped when you end this run, so wait for its end with {job_output} if you need its result; "
_HINT = "{job_output} shows its output, {job_kill} stops it."

JOB_ENDED = "[Background "
_STILL_RUNNING = "[Still running: "
"""Beginnings of the messages to the model about a job."""

_LAST_CHARS = 500
_LAST_LINES = 5
"""Amount of output in the notice about the end of a job."""

JobState: TypeAlias = Literal["running", "ended", "killed", "failed"]
Wait: TypeAlias = Literal["over", "late", "moved"]
Killer: TypeAlias = Literal["", "model", "user", "leaving"]


class Job(Struct, eq=False):
    """A command that is running or has ended; it has an `id` once it is in the background."""

    spec: JobSpec
    """Command, title and output."""
    owner: Jobs
    """Registry of the agent that started it."""
    task: asyncio.Task[int]
    """Runs the command and returns its exit code."""
    moved: asyncio.Future[None]
    """Done once the job is in the background."""
    id: str = ""
    """Identifier in the background, such as `job-1`; empty in the foreground."""
    state: JobState = "running"
    """Running, or how it ended."""
    exit_code: int | None = None
    """Exit code; None while it runs or if it was killed."""
    problem: str = ""
    """Error of a job that failed to run."""
    killer: Killer = ""
    """Killed by the model, the user or at exit; empty if it was not killed."""
    notice_id: str = ""
    """Id of the message to the model about the end of the job; empty if there is none."""
    waiting: int = 0
    """Number of tool calls that wait for its end."""
    started: float = field(default_factory=time.monotonic)
    """Start on the monotonic clock, in seconds."""
    ended: float = 0.0
    """End on the monotonic clock, in seconds; 0 while it runs."""

    @property
    def seconds(self) -> float:
        return (self.ended or time.monotonic()) - self.started

    @property
    def last_lines(self) -> str:
        """End of its output: a few lines."""
        return "\n".join(self.spec.output.latest(_LAST_CHARS).rstrip().splitlines()[-_LAST_LINES:])

    @property
    def status_text(self) -> str:
        """Description of the state."""
        match self.state:
            case "running":
                return f"running for {self.seconds:.0f} s"
            case "ended":
                return f"ended with exit code {self.exit_code} after {self.seconds:.0f} s"
            case "killed":
                return f"killed after {self.seconds:.0f} s"
            case "failed":
                return f"failed: {self.problem}"


class _SharedState(Struct):
    """State shared by all who use a registry."""

    publish: Callable[[Event], None]
    foreground: list[Job] = []
    background: list[Job] = []
    count: int = 0
    ending: str = _NOTIFIED
    """Explanation for the model of when it is notified of the end of a job."""


class Jobs:
    """Registry of background jobs.

    Args:
        publish: Publishes events of background jobs.
        news: Queue for messages to the model at its next turn.
        known: State of a registry to share.
    """

    def __init__(
        self,
        publish: Callable[[Event], None] = lambda _: None,
        news: Queue | None = None,
        *,
        known: _SharedState | None = None,
    ) -> None:
        self._known = known or _SharedState(publish)
        self._news = Queue("all") if news is None else news
        self._successor: Jobs | None = None
        self.name_of: NameOf = own_name
        """Returns the name by which the model knows a tool."""
        self._awaited_s = 0.0
        self.has_reader = True
        """False while no model reads the messages about ended jobs."""

    @property
    def hint(self) -> str:
        """Instructions for the model about a background job, as sentences."""
        return mention(f"{self._known.ending if self.has_reader else ''}{_HINT}", self.name_of)

    def stop_with_run(self, wait_s: float = 0) -> None:
        """Let the model know that jobs do not outlast the run; `close` stops them.

        Args:
            wait_s: Longest wait of a run for the end of a job before it ends, in seconds; 0 to end at once.
        """
        self._known.ending = _AWAITED if wait_s else _STOPPED
        self._awaited_s = wait_s

    async def wait_for_news(self) -> None:
        """Wait until a job ends, as `stop_with_run` says, except for programs that wait for input."""
        awaited = [job for job in self.running if job.spec.input is None] if self._awaited_s else []
        if not awaited:
            return
        names = ", ".join(f"{job.id} ({job.spec.title})" for job in awaited)
        self._known.publish(Notice(text=f"Waiting for {names} to end.", level="info"))
        with suppress(TimeoutError):
            async with asyncio.timeout(self._awaited_s):
                while not self._news and any(job.state == "running" for job in awaited):
                    pending = [job.task for job in awaited if job.state == "running"]
                    await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                    # A callback of the task records its end.
                    await asyncio.sleep(0)

    @property
    def all(self) -> tuple[Job, ...]:
        """Background jobs, oldest first."""
        return tuple(self._known.background)

    @property
    def running(self) -> tuple[Job, ...]:
        return tuple(job for job in self._known.background if job.state == "running")

    def for_child(self, news: Queue) -> Jobs:
        """Return a view of the registry for a subagent; `news` receives the messages about the jobs it starts."""
        return Jobs(news=news, known=self._known)

    def transfer_to(self, successor: Jobs) -> tuple[Job, ...]:
        """Transfer pending messages and running jobs to another agent's view, and return these jobs."""
        self._successor = successor
        for message in self._news.clear():
            successor.notify_model(message)
        return tuple(job for job in self.running if job.owner is self)

    def notify_model(self, message: UserMessage) -> None:
        """Queue a message for the model, or for the agent that took over."""
        if self._successor is None:
            self._news.put(message)
        else:
            self._successor.notify_model(message)

    def withdraw_notice(self, job: Job) -> None:
        """Remove the queued message about the end of a job, of which the model learns in another way."""
        self._news.remove(job.notice_id)

    def warn(self, job: Job, text: str) -> None:
        """Warn the user and the model about a running background job."""
        self._known.publish(Notice(text=f"{job.id} ({job.spec.title}) {text}", level="warning"))
        how = mention(" {job_kill} stops it.", job.owner.name_of)
        job.owner.notify_model(synthetic(f"{_STILL_RUNNING}{job.id} ({job.spec.title}) {text}{how}]"))

    def ask_for_input(self, job: Job, prompt: str) -> None:
        """Inform the user that a job waits for input that only the user may type.

        Args:
            job: The job; nothing happens until it is in the background.
            prompt: Text that asks for the input.
        """
        if job.id:
            self._known.publish(JobInputRequested(job_id=job.id, title=job.spec.title, prompt=prompt))

    def count_from(self, number: int) -> None:
        """Give the next job a number higher than this."""
        self._known.count = max(self._known.count, number)

    def find(self, job_id: str) -> Job | None:
        """Return the job with this id, or None if it does not exist or ended long ago."""
        return next((job for job in self._known.background if job.id == job_id), None)

    def start(self, spec: JobSpec) -> Job:
        """Start a command for a call that waits for it."""
        job = Job(spec, self, asyncio.create_task(spec.work()), asyncio.get_running_loop().create_future())
        self._known.foreground.append(job)
        job.task.add_done_callback(partial(self._over, job))
        return job

    async def wait(self, job: Job, seconds: float | None) -> Wait:
        """Wait until the job ends, moves to the background, or `seconds` pass. Cancelling the wait kills the job."""
        try:
            await asyncio.wait([job.task, job.moved], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if not job.moved.done():
                await cancel_tasks([job.task])
            raise
        return "over" if job.task.done() else "moved" if job.moved.done() else "late"

    async def wait_in_background(self, job: Job, seconds: float) -> None:
        """Wait until a background job ends or `seconds` pass; its end is then not announced again."""
        job.waiting += 1
        try:
            await asyncio.wait([job.task], timeout=seconds)
            # A callback of the task records its end.
            await asyncio.sleep(0)
        finally:
            job.waiting -= 1

    async def wait_until_settled(self, job: Job, seconds: float) -> None:
        """Wait until a job in a terminal seems to wait for input, ends, or `seconds` pass."""
        job.waiting += 1
        try:
            async with asyncio.timeout(seconds):
                while not (job.task.done() or (job.spec.input and job.spec.input.is_settled)):
                    await asyncio.wait([job.task], timeout=POLL_SECONDS)
        except TimeoutError:
            pass
        finally:
            # A callback of the task records its end.
            await asyncio.sleep(0)
            job.waiting -= 1

    def to_background(self, job: Job) -> None:
        """Move a job to the background."""
        if job.moved.done():
            return
        job.moved.set_result(None)
        self._known.count += 1
        job.id = f"job-{self._known.count}"
        self._known.foreground.remove(job)
        self._known.background.append(job)
        over = [each for each in self.all if each.state != "running"]
        for each in over[: max(0, len(over) - MAX_ENDED)]:
            self._known.background.remove(each)
        self._known.publish(JobStarted(job_id=job.id, call_id=job.spec.call_id, title=job.spec.title))

    def move(self, call_id: str) -> bool:
        """Move the command of a call to the background. Return False if the call has no command. Thread-safe."""
        if len(self.running) >= MAX_RUNNING:
            return False
        waiting = [job for job in tuple(self._known.foreground) if job.spec.call_id == call_id and _is_active(job)]
        for job in waiting:
            call_in(job.task.get_loop(), partial(self._move, job))
        return bool(waiting)

    async def stop(self, job: Job, killer: Killer = "") -> None:
        """Kill a job with all its processes, and wait for its end. `killer` is reported as the one who ended it."""
        job.killer = job.killer or killer
        await cancel_tasks([job.task])
        await asyncio.sleep(0)

    def kill(self, job_id: str) -> bool:
        """Kill a job on behalf of the user. Return False if it was not running. Thread-safe."""
        job = self.find(job_id)
        if job is None or job.state != "running":
            return False
        job.killer = job.killer or "user"
        call_in(job.task.get_loop(), job.task.cancel)
        return True

    async def close(self) -> tuple[Job, ...]:
        """Kill all running jobs and return them. Jobs of a closed event loop ended with it."""
        here = asyncio.get_running_loop()
        mine = [
            job
            for job in (*self._known.foreground, *self._known.background)
            if job.task.get_loop() is here and not job.task.done()
        ]
        for job in mine:
            job.killer = "leaving"
        await cancel_tasks([job.task for job in mine])
        await asyncio.sleep(0)
        return tuple(mine)

    def _move(self, job: Job) -> None:
        if job in self._known.foreground and _is_active(job):
            self.to_background(job)

    def _over(self, job: Job, task: asyncio.Task[int]) -> None:
        job.ended = time.monotonic()
        if task.cancelled():
            job.state = "killed"
        elif error := task.exception():
            job.state, job.problem = "failed", str(error)
        else:
            job.state, job.exit_code = "ended", task.result()
        if job in self._known.foreground:
            self._known.foreground.remove(job)
            settle(job.moved, None)
            return
        if not job.waiting and job.killer in ("", "user"):
            message = synthetic(_end_notice(job))
            job.notice_id = message.id
            job.owner.notify_model(message)
        # Last: a subscriber may start a run, which delivers the message.
        self._known.publish(JobEnded(job_id=job.id, state=job.state, exit_code=job.exit_code, duration=job.seconds))


def is_job_notice(message: UserMessage) -> bool:
    """Return True for a message to the model about a job, which an event announces to the user."""
    return message.synthetic and message.text.startswith((JOB_ENDED, _STILL_RUNNING))


def _end_notice(job: Job) -> str:
    by = " by the user" if job.killer == "user" else ""
    last = job.last_lines
    lines = f" Its last lines:\n{last}\n" if last else " "
    how = mention("{job_output} shows its output.", job.owner.name_of)
    return f"{JOB_ENDED}{job.id} ({job.spec.title}): {job.status_text}{by}.{lines}{how}]"


def _is_active(job: Job) -> bool:
    """Return True if the job is running and not about to stop."""
    return not job.task.done() and not job.task.cancelling()
