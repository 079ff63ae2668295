"""Sampling: a request of a server for a reply of the model, as the user sees all of it and the model receives it."""

from __future__ import annotations

import mcp_types as types

from harness.messages import AssistantMessage, Image, Text, UserContent, UserMessage
from harness.truncation import truncate
from harness.user_requests import Choice, Question
from tools.mcp.host import SamplingRequest
from tools.mcp.state import clean_line, clean_text
from tools.untrusted_text import cleaned_text

MAX_CHARS = 200_000
MAX_IMAGES = 5
EXCERPT_CHARS = 1_500
ALLOWED = ("Allow once", "Allow for this session")
SHOW_ALL = "Show the whole text"


def sampling_request(server: str, params: types.CreateMessageRequestParams) -> SamplingRequest:
    """Return a request in our types, without characters that the user would not see.

    Raises:
        ValueError: It contains something that is not supported.
    """
    if params.tools:
        raise ValueError("sampling with tools is not supported")
    blocks = [block for each in params.messages for block in each.content_as_list]
    texts = [block.text for block in blocks if isinstance(block, types.TextContent)]
    if sum(map(len, texts)) + len(params.system_prompt or "") > MAX_CHARS:
        raise ValueError(f"the conversation is longer than {MAX_CHARS:,} characters")
    messages = tuple(_message(each) for each in params.messages)
    if _count_images(messages) > MAX_IMAGES:
        raise ValueError(f"more than {MAX_IMAGES} images")
    if not messages or not isinstance(messages[-1], UserMessage):
        raise ValueError("the last message has to be one of the user")
    return SamplingRequest(
        server, messages, cleaned_text(params.system_prompt or ""), max(0, params.max_tokens), params.temperature
    )


def sampling_question(request: SamplingRequest, model: str, *, is_complete: bool) -> Question:
    """Return the question whether the model may reply.

    Args:
        request: The request.
        model: Name of the model.
        is_complete: True to show a long text as a whole; otherwise the last choice is `SHOW_ALL`.
    """
    text = _conversation(request)
    excerpt = truncate(text, EXCERPT_CHARS, lambda gone: f"[… {gone:,} characters left out …]")
    images = _count_images(request.messages)
    size = f"{len(text):,} characters{f', {images} images' if images else ''}"
    prompt = (
        f"The MCP server {clean_line(request.server, 60)} wants {model} to reply to this conversation ({size}, at your "
        f"cost). Allow it?\n\n{text if is_complete else excerpt}"
    )
    labels = (*ALLOWED, "Deny", *(() if is_complete or excerpt == text else (SHOW_ALL,)))
    return Question(prompt, tuple(map(Choice, labels)), header=clean_line(request.server, 30), free_text=False)


def _conversation(request: SamplingRequest) -> str:
    """Return all that the model receives, as text."""
    parts = [f"[System prompt]\n{request.system_prompt}"] if request.system_prompt else []
    for each in request.messages:
        role = "User" if isinstance(each, UserMessage) else "Model"
        images = sum(isinstance(block, Image) for block in each.content)
        parts.append(f"[{role}{f', with {images} images' if images else ''}]\n{each.text}")
    text = "\n\n".join(parts)
    return clean_text(text, len(text) * 10)


def _count_images(messages: tuple[UserMessage | AssistantMessage, ...]) -> int:
    return sum(isinstance(block, Image) for each in messages for block in each.content)


def _message(message: types.SamplingMessage) -> UserMessage | AssistantMessage:
    blocks = [_content(each) for each in message.content_as_list]
    if message.role == "user":
        return UserMessage(tuple(blocks))
    return AssistantMessage(tuple(each for each in blocks if isinstance(each, Text)))


def _content(block: types.SamplingMessageContentBlock) -> UserContent:
    match block:
        case types.TextContent():
            return Text(cleaned_text(block.text))
        case types.ImageContent():
            return Image(block.mime_type, block.data)
        case _:
            raise ValueError(f"content of type {block.type} is not supported")
