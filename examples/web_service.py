"""A web service (pip install starlette uvicorn): POST /chat streams events, POST /chat/SESSION controls the run.

curl -N localhost:8000/chat -d '{"prompt": "Note to buy tea."}'        stream events; disconnecting aborts the run
curl localhost:8000/chat/SESSION -d '{"call": "CALL", "allow": true}'  or {"steer": "And milk."}
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from weakref import WeakValueDictionary

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route
from which_model import which_model

from harness import Agent, AgentOptions, AllowOnce, Denied, NoPendingRequest, PendingRequests, RunStream
from harness.codec import encode
from providers.demo import Call, Reply
from tools import builtin_tools

SCRIPT = (Reply((Call("write_file", {"path": "note.md", "content": "Buy tea.\n"}),)), "Noted.")
MODEL = which_model(*SCRIPT * 100)  # shared by all visitors, since it holds the connections
running: WeakValueDictionary[str, RunStream] = WeakValueDictionary()


async def events(prompt: str) -> AsyncIterator[str]:
    agent = Agent(MODEL, builtin_tools(), "You keep notes.", AgentOptions(user=PendingRequests(timeout=300)))
    async with agent.stream(prompt) as run:
        running[agent.session_id] = run
        async for event in run:
            yield f"data: {json.dumps(encode(event))}\n\n"


async def chat(request: Request) -> StreamingResponse:
    return StreamingResponse(events((await request.json())["prompt"]), media_type="text/event-stream")


async def reply(request: Request) -> JSONResponse:
    run = running.get(request.path_params["session"])
    try:
        match await request.json():
            case {"call": str(call_id), "allow": bool(allowed)} if run:
                run.respond(call_id, AllowOnce() if allowed else Denied("The visitor denied it."))
            case {"steer": str(text)} if run:
                run.inject(text)
            case _:
                return JSONResponse("no such run, or invalid request", 400)
    except NoPendingRequest as error:
        return JSONResponse(str(error), 409)
    return JSONResponse("ok")


if __name__ == "__main__":
    app = Starlette(routes=[Route("/chat", chat, methods=["POST"]), Route("/chat/{session}", reply, methods=["POST"])])
    uvicorn.run(app, port=int(os.environ.get("PORT", "8000")))
