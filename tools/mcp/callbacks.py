"""Requests of a server to the client: questions to the user, model calls, folders; and its log messages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import mcp_types as types
from mcp.client.session import ClientRequestContext
from pydantic import FileUrl

from harness.errors import CinchError
from harness.messages import AssistantMessage, Image, Text, UserContent, UserMessage
from harness.user_requests import Answer, Choice, Question
from tools.mcp.elicitation import Action, Form, url_question
from tools.mcp.host import McpHost, SamplingRequest
from tools.mcp.server_config import McpServer
from tools.mcp.state import LogRing, clean_line, clean_text

MAX_QUESTIONS = 3
"""Questions of one server that may wait for the user at the same time."""
MAX_SAMPLING_CHARS = 200_000
MAX_SAMPLING_IMAGES = 5
_EXCERPT_CHARS = 1_500
_ONCE, _SESSION, _DENY = "Allow once", "Allow for this session", "Deny"


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
        self._questions = 0
        self._asking = asyncio.Lock()
        self._may_sample = False

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
        with self._waiting_for_user() as may_ask:
            if not may_ask:
                return _error("too many questions are waiting for the user")
            async with self._asking:
                if isinstance(params, types.ElicitRequestURLParams):
                    answer = await self._ask(url_question(self._server.name, params.message, params.url))
                    return types.ElicitResult(action=_action(answer))
                form = Form(self._server.name, params.message, params.requested_schema)
                found = await form.ask(self._ask)
                return types.ElicitResult(action=found.action, content=found.content)

    async def sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        """Let the agent's model reply, if the user allows it."""
        del context
        if self._host.sample is None:
            return _error("sampling is not available")
        try:
            request = _sampling_request(self._server.name, params)
        except ValueError as error:
            return _error(str(error))
        with self._waiting_for_user() as may_ask:
            if not may_ask:
                return _error("too many questions are waiting for the user")
            async with self._asking:
                if not await self._allows(request):
                    return _error("the user denied the request")
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
        text = "\n\n".join(each.text for each in request.messages)
        prompt = (
            f"The MCP server {self._server.name} wants {self._host.model_name()} to reply to this text "
            f"({len(text):,} characters, at your cost). Allow it?\n\n{clean_text(text, _EXCERPT_CHARS)}"
        )
        choices = (Choice(_ONCE), Choice(_SESSION), Choice(_DENY))
        answer = await self._ask(Question(prompt, choices, header=self._header, free_text=False))
        self._may_sample = answer.status == "selected" and answer.index == 1
        return answer.status == "selected" and answer.index in (0, 1)

    @property
    def _header(self) -> str:
        return clean_line(self._server.name, 30)

    async def _ask(self, question: Question) -> Answer:
        return Answer("skipped") if self._host.ask is None else await self._host.ask(question)

    @contextmanager
    def _waiting_for_user(self) -> Generator[bool]:
        """Pause the clocks of all calls; yield False if too many questions are waiting."""
        clocks = tuple(self._clocks)
        self._questions += 1
        for each in clocks:
            each.pause()
        try:
            yield self._questions <= MAX_QUESTIONS
        finally:
            self._questions -= 1
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


def _sampling_request(server: str, params: types.CreateMessageRequestParams) -> SamplingRequest:
    """Return the request in our types.

    Raises:
        ValueError: It contains something that is not supported.
    """
    if params.tools:
        raise ValueError("sampling with tools is not supported")
    messages = tuple(_message(each) for each in params.messages)
    system = clean_text(params.system_prompt or "", MAX_SAMPLING_CHARS)
    if sum(len(each.text) for each in messages) + len(system) > MAX_SAMPLING_CHARS:
        raise ValueError(f"the conversation is longer than {MAX_SAMPLING_CHARS:,} characters")
    images = sum(isinstance(block, Image) for each in messages for block in each.content)
    if images > MAX_SAMPLING_IMAGES:
        raise ValueError(f"more than {MAX_SAMPLING_IMAGES} images")
    if not messages or not isinstance(messages[-1], UserMessage):
        raise ValueError("the last message has to be one of the user")
    return SamplingRequest(server, messages, system, max(0, params.max_tokens), params.temperature)


def _message(message: types.SamplingMessage) -> UserMessage | AssistantMessage:
    blocks = [_content(each) for each in message.content_as_list]
    if message.role == "user":
        return UserMessage(tuple(blocks))
    return AssistantMessage(tuple(each for each in blocks if isinstance(each, Text)))


def _content(block: types.SamplingMessageContentBlock) -> UserContent:
    match block:
        case types.TextContent():
            return Text(block.text)
        case types.ImageContent():
            return Image(block.mime_type, block.data)
        case _:
            raise ValueError(f"content of type {block.type} is not supported")
