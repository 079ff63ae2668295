"""Tools of an agent as an MCP server, for other programs.

Calls go through a `ToolSession`, so that permission rules, approval modes, the workspace and all limits apply. A call
that needs approval is put to the client's user by elicitation: as a request of its own, or, from protocol version
2026-07-28 on, as an intermediate result that the client answers by sending the call again.
"""

from __future__ import annotations

import asyncio
import difflib
import hashlib
import logging
import secrets
import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from msgspec import Struct

from harness.agent.tool_session import ToolSession
from harness.approval.modes import ApprovalMode
from harness.concurrency import cancel_tasks
from harness.events import Event, ToolExecutionUpdate
from harness.messages import Text, ToolCall, ToolResult, UserContent, new_id
from harness.permissions import describe
from harness.ports.interaction import NonInteractive
from harness.ports.tool import Tool
from harness.terminal_text import escape_controls, strip_escapes
from harness.user_requests import AllowForSession, AllowOnce, Approval, ApprovalRequest, Denied
from harness.views import DiffView, TerminalView, TextView, View

logger = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]
APPROVAL = "approval"
"""Key of the request for approval in an intermediate result."""
ONCE, SESSION, DENY = "allow once", "allow for this session", "deny"
INSTRUCTIONS = "Files and commands of the folder {root}. Paths are relative to it."
HEARTBEAT_S = 10.0
"""Time without output of a running call after which its client is notified that it is still running."""
SHOWN_PROGRESS = 200


class _Request(Struct):
    """A call of a client."""

    context: Context
    """The request."""
    answers: types.InputResponses
    """The client's answers to requests of an earlier attempt."""
    state: str
    """State of the earlier attempt."""
    asked: types.InputRequiredResult | None = None
    """Request for approval that the client has to answer first."""
    shown: str = ""
    """Latest line of output."""


class ClientApproval(NonInteractive):
    """Approval by the user of the client that sent the call."""

    def __init__(self) -> None:
        self.requests: dict[str, _Request] = {}
        """Requests that are being processed, by id of the call."""
        self.mode_allowing: Callable[[ToolCall], ApprovalMode | None] = lambda _: None
        """Returns the approval mode that would allow a call."""

    async def approve(self, request: ApprovalRequest) -> Approval:
        calling = self.requests.get(request.call.id)
        if calling is None or not _can_elicit(calling.context):
            return Denied(self._remedy(request), non_interactive=True)
        message = _question(request)
        if calling.context.session.can_send_request:
            return await self._elicited(calling.context, message, request)
        state = hashlib.sha256(f"{request.call.name}\0{request.call.arguments}\0{message}".encode()).hexdigest()
        answer = calling.answers.get(APPROVAL)
        # The user must have seen exactly what runs now.
        if isinstance(answer, types.ElicitResult) and calling.state == state:
            return _approval(answer)
        parameters = types.ElicitRequestFormParams(message=message, requested_schema=_schema(request))
        calling.asked = types.InputRequiredResult(
            input_requests={APPROVAL: types.ElicitRequest(params=parameters)}, request_state=state
        )
        return Denied("the client has to ask its user first", non_interactive=True)

    async def _elicited(self, context: Context, message: str, request: ApprovalRequest) -> Approval:
        try:
            answer = await context.session.elicit_form(message, _schema(request), related_request_id=context.request_id)
        except MCPError as error:
            return Denied(f"the client did not ask its user: {error}. {self._remedy(request)}", non_interactive=True)
        return _approval(answer)

    def _remedy(self, request: ApprovalRequest) -> str:
        return _remedy(request, self.mode_allowing(request.call))


class ToolServer:
    """MCP server with the tools of an agent.

    Args:
        session: Session of the agent, which has begun.
        tools: Tools to offer.
        approval: The agent's interface to users.
        version: Version of the program.
        root: Folder of the agent, for the instructions.
    """

    def __init__(
        self, session: ToolSession, tools: Sequence[Tool], approval: ClientApproval, version: str, root: str
    ) -> None:
        self._session = session
        self._tools = {tool.name: tool for tool in tools}
        self._approval = approval
        approval.mode_allowing = session.mode_allowing
        self._changed: dict[str, asyncio.Event] = {}
        self.server: Server[Any] = Server(
            "cinch",
            version=version,
            title="cinch",
            instructions=INSTRUCTIONS.format(root=root),
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )

    def on_event(self, event: Event) -> None:
        """Receive events of the agent: the progress of calls."""
        if isinstance(event, ToolExecutionUpdate) and event.call_id in self._changed:
            self._approval.requests[event.call_id].shown = _last_line(event.view)
            self._changed[event.call_id].set()

    async def _list_tools(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        del context, params
        return types.ListToolsResult(tools=[_described(tool) for tool in self._tools.values()])

    async def _call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        if params.name not in self._tools:
            names = ", ".join(self._tools)
            raise MCPError(types.INVALID_PARAMS, f"there is no tool named {params.name!r}; tools: {names}")
        call = ToolCall(new_id(), params.name, dict(params.arguments or {}))
        request = _Request(context, params.input_responses or {}, params.request_state or "")
        self._approval.requests[call.id] = request
        self._changed[call.id] = asyncio.Event()
        reporting = asyncio.create_task(self._report(call.id, request))
        try:
            result = await self._session.execute(call)
        finally:
            await cancel_tasks([reporting])
            del self._approval.requests[call.id], self._changed[call.id]
        return request.asked or _result(result)

    async def _report(self, call_id: str, request: _Request) -> None:
        """Report progress to a client that has requested it."""
        changed, count, seconds = self._changed[call_id], 0, 0.0
        while True:
            try:
                async with asyncio.timeout(HEARTBEAT_S):
                    await changed.wait()
                message = request.shown
            except TimeoutError:
                seconds += HEARTBEAT_S
                message = f"running for more than {seconds:g} s"
            changed.clear()
            count += 1
            # The client may have gone.
            with suppress(Exception):
                await request.context.session.report_progress(count, message=message)
            await asyncio.sleep(0.1)


def _described(tool: Tool) -> types.Tool:
    reads = tool.mutates is False
    return types.Tool(
        name=tool.name,
        title=tool.label,
        description=tool.description,
        input_schema=tool.parameters,
        annotations=types.ToolAnnotations(
            title=tool.label,
            read_only_hint=reads,
            destructive_hint=not reads,
            idempotent_hint=reads,
            open_world_hint=tool.mutates == "by_call" or tool.name.startswith("web_"),
        ),
    )


def _result(result: ToolResult) -> types.CallToolResult:
    return types.CallToolResult(content=[_content(each) for each in result.content], is_error=result.is_error)


def _content(content: UserContent) -> types.ContentBlock:
    if isinstance(content, Text):
        return types.TextContent(text=content.text)
    return types.ImageContent(data=content.data, mime_type=content.media_type)


def _can_elicit(context: Context) -> bool:
    capabilities = context.session.client_capabilities
    kinds = capabilities.elicitation if capabilities else None
    # A client that names no kind supports forms.
    return kinds is not None and (kinds.form is not None or kinds.url is None)


def _approval(answer: types.ElicitResult) -> Approval:
    match answer.action, (answer.content or {}).get("decision"):
        case "accept", choice if choice == ONCE:
            return AllowOnce()
        case "accept", choice if choice == SESSION:
            return AllowForSession()
        case "cancel", _:
            return Denied("they dismissed the question")
        case _:
            return Denied()


def _schema(request: ApprovalRequest) -> types.ElicitRequestedSchema:
    covered = ", ".join(map(describe, request.session))
    choices = [ONCE, SESSION, DENY] if covered else [ONCE, DENY]
    explained = f"{SESSION}: {covered}" if covered else "the call needs approval each time"
    decision = {"type": "string", "title": "Decision", "description": explained, "enum": choices}
    return {"type": "object", "properties": {"decision": decision}, "required": ["decision"]}


def _question(request: ApprovalRequest) -> str:
    preview = _preview(request.view)
    text = f"{request.label}: {request.summary}\n{request.decision.why}\nFolder: {request.cwd}"
    return escape_controls(strip_escapes(f"{text}\n\n{preview}" if preview else text))


def _preview(view: View | None) -> str:
    match view:
        case DiffView():
            old, new = (view.old or "").splitlines(), (view.new or "").splitlines()
            text = "\n".join(difflib.unified_diff(old, new, "before", "after", lineterm="", n=2))
        case TerminalView(command=text) | TextView(text):
            pass
        case _:
            return ""
    # In full: the user must not allow what was not shown.
    return text


def _remedy(request: ApprovalRequest, mode: ApprovalMode | None) -> str:
    """Return what allows such calls, for a client that cannot ask its user."""
    exact = request.decision.exact_offer
    rules = request.decision.offers or ((exact,) if exact else ())
    options = [" ".join(f"--allow {shlex.quote(str(rule))}" for rule in rules)] if rules else []
    options += [f"--approval {mode}"] if mode else []
    start = f"; to allow such calls, start the server with: cinch mcp serve {' or '.join(options)}" if options else ""
    return f"{request.decision.why}. The client cannot ask its user{start}"


def _last_line(view: View) -> str:
    match view:
        case TerminalView(output=text) | TextView(text):
            lines = strip_escapes(text[-SHOWN_PROGRESS * 10 :]).split("\n")
            return next((line.strip()[:SHOWN_PROGRESS] for line in reversed(lines) if line.strip()), "")
        case _:
            return ""


async def serve_stdio(server: Server[Any]) -> None:
    """Serve one client over stdin and stdout until it closes stdin. Other output of this process goes to stderr."""
    from mcp.server.stdio import stdio_server

    try:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
    except* (BrokenPipeError, ConnectionResetError):
        logger.info("the client closed the pipe for responses")


async def serve_http(server: Server[Any], port: int, token: str) -> None:
    """Serve clients of this machine over HTTP, at the path `/mcp`, until the process is signalled.

    The SDK rejects requests for other hosts and from web pages of other origins, and this function those without the
    token: other users of the machine can reach the port.
    """
    import uvicorn
    from starlette.responses import PlainTextResponse
    from starlette.types import ASGIApp, Receive, Scope, Send

    app: ASGIApp = server.streamable_http_app(host="127.0.0.1")
    expected = f"Bearer {token}".encode()

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = dict[bytes, bytes](scope["headers"]).get(b"authorization", b"")
            if not secrets.compare_digest(given, expected):
                await PlainTextResponse("the token is missing or wrong", 401)(scope, receive, send)
                return
        await app(scope, receive, send)

    config = uvicorn.Config(
        guarded, host="127.0.0.1", port=port, log_level="warning", access_log=False, timeout_graceful_shutdown=2
    )
    await uvicorn.Server(config).serve()
