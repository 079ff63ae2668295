"""Requests of a server to the client: questions to the user, model calls, folders; and its log messages."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import mcp_types as types
from mcp.client.session import ClientRequestContext
from msgspec.structs import replace
from pydantic import FileUrl

from harness.errors import CinchError
from harness.user_requests import Answer, Choice, Question
from tools.mcp.elicitation import Action, Form, FormAnswer, url_question
from tools.mcp.host import McpHost, SamplingRequest
from tools.mcp.sampling import ALLOWED, SHOW_ALL, sampling_question, sampling_request
from tools.mcp.server_config import McpServer
from tools.mcp.state import LogRing

MAX_QUESTIONS = 3
"""Questions of one server that may wait for the user at the same time."""
MAX_REQUESTS = 20
"""Requests of one server to the user or the model within `REQUESTS_S`; further ones are rejected."""
REQUESTS_S = 600.0
DENY_ALL = "Deny all requests of this server"
_TOO_MANY = "too many requests; try again later"
_DENIED_ALL = "the user denies all requests of this server"


class CallClock:
    """Time limit of a call, which restarts with each report of progress and pauses while the user is asked."""

    def __init__(self, seconds: float, timeout: asyncio.Timeout) -> None:
        self._seconds = seconds
        self._timeout = timeout
        self._pauses = 0

    def restart(self) -> None:
        if self._seconds and not self._pauses and not self._timeout.expired():
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._seconds)

    def pause(self) -> None:
        self._pauses += 1
        if not self._timeout.expired():
            self._timeout.reschedule(None)

    def resume(self) -> None:
        self._pauses -= 1
        self.restart()


class Callbacks:
    """Answers the requests of one server."""

    def __init__(self, server: McpServer, host: McpHost, log: LogRing) -> None:
        self._server = server
        self._host = host
        self._log = log
        self._clocks: set[CallClock] = set()
        self._waiting = 0
        self._asking = asyncio.Lock()
        self._may_sample = False
        self._times: deque[float] = deque(maxlen=MAX_REQUESTS)
        """Times of the latest requests, on the monotonic clock."""
        self._was_denied = False
        self._denies_all = False

    def forget_decisions(self) -> None:
        """Let the server ask the user again, whatever was decided before."""
        self._may_sample = self._was_denied = self._denies_all = False
        self._times.clear()

    @asynccontextmanager
    async def clock(self) -> AsyncGenerator[CallClock]:
        """Limit the time of a block by that of the server.

        Raises:
            TimeoutError: The time is over.
        """
        seconds = self._server.timeout
        async with asyncio.timeout(seconds or None) as timeout:
            clock = CallClock(seconds, timeout)
            self._clocks.add(clock)
            try:
                yield clock
            finally:
                self._clocks.discard(clock)

    async def elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        """Ask the user for what the server needs."""
        del context
        async with self._turn() as problem:
            if self._denies_all:
                return types.ElicitResult(action="decline")
            if problem:
                return _error(problem)
            if isinstance(params, types.ElicitRequestURLParams):
                found = FormAnswer(
                    _action(await self._ask(url_question(self._server.name, params.message, params.url)))
                )
            else:
                found = await Form(self._server.name, params.message, params.requested_schema).ask(self._ask)
            self._was_denied = self._was_denied or found.action != "accept"
            return types.ElicitResult(action=found.action, content=found.content)

    async def sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        """Let the agent's model reply, if the user allows it."""
        del context
        if self._host.sample is None:
            return _error("sampling is not available")
        try:
            request = sampling_request(self._server.name, params)
        except ValueError as error:
            return _error(str(error))
        async with self._turn() as problem:
            if problem:
                return _error(problem)
            if not await self._allows(request):
                self._was_denied = True
                return _error("the user denied the request")
        with self._paused_clocks():
            try:
                reply = await self._host.sample(request)
            except CinchError as error:
                return _error(str(error))
        content = types.TextContent(type="text", text=reply.text)
        reason = "maxTokens" if reply.is_truncated else "endTurn"
        return types.CreateMessageResult(role="assistant", content=content, model=reply.model, stop_reason=reason)

    async def roots(self, context: ClientRequestContext) -> types.ListRootsResult:
        """Return the folders of the workspace."""
        del context
        return types.ListRootsResult(roots=[_root(each) for each in self._host.roots()])

    async def log_message(self, params: types.LoggingMessageNotificationParams) -> None:
        """Keep a log message."""
        data = params.data if isinstance(params.data, str) else json.dumps(params.data, ensure_ascii=False)[:10_000]
        self._log.add(f"{params.level}: {data}")

    async def _allows(self, request: SamplingRequest) -> bool:
        if self._may_sample:
            return True
        model = self._host.model_name()
        answer = await self._ask(sampling_question(request, model, is_complete=False))
        if answer.text == SHOW_ALL:
            answer = await self._ask(sampling_question(request, model, is_complete=True))
        is_allowed = answer.status == "selected" and answer.text in ALLOWED
        self._may_sample = is_allowed and answer.text == ALLOWED[1]
        return is_allowed

    async def _ask(self, question: Question) -> Answer:
        """Ask a question; of a server that was denied something, all further requests can be denied."""
        if self._host.ask is None:
            return Answer("skipped")
        last = len(question.choices)
        if self._was_denied:
            question = replace(question, choices=(*question.choices, Choice(DENY_ALL)))
        answer = await self._host.ask(question)
        if answer.status == "selected" and last in (answer.index, *answer.indexes):
            self._denies_all = True
            return Answer("skipped")
        return answer

    @asynccontextmanager
    async def _turn(self) -> AsyncGenerator[str]:
        """Wait until no other request of the server is before the user; yield why this one is rejected, or nothing."""
        with self._paused_clocks():
            self._waiting += 1
            try:
                if self._waiting > MAX_QUESTIONS:
                    yield "too many questions are waiting for the user"
                    return
                async with self._asking:
                    yield self._rejection()
            finally:
                self._waiting -= 1

    def _rejection(self) -> str:
        if self._denies_all:
            return _DENIED_ALL
        now = time.monotonic()
        if len(self._times) == MAX_REQUESTS and now - self._times[0] < REQUESTS_S:
            self._log.add(
                f"a request to the user was rejected: more than {MAX_REQUESTS} in {REQUESTS_S / 60:g} minutes"
            )
            return _TOO_MANY
        self._times.append(now)
        return ""

    @contextmanager
    def _paused_clocks(self) -> Generator[None]:
        """Pause the clocks of all calls."""
        clocks = tuple(self._clocks)
        for each in clocks:
            each.pause()
        try:
            yield
        finally:
            for each in clocks:
                each.resume()


def _action(answer: Answer) -> Action:
    if answer.status != "selected":
        return "cancel"
    return "accept" if answer.index == 0 else "decline"


def _error(text: str) -> types.ErrorData:
    return types.ErrorData(code=types.INVALID_REQUEST, message=text)


def _root(folder: Path) -> types.Root:
    return types.Root(uri=FileUrl(folder.resolve().as_uri()), name=folder.name)
