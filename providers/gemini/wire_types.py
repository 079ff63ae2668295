"""Streamed responses of the Gemini API, and the parts of google-auth that are used; more fields may come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypedDict


class FunctionCall(TypedDict, total=False):
    id: str | None
    name: str | None
    args: dict[str, Any] | None


class Part(TypedDict, total=False):
    """One kind of content; other kinds come from the service's own tools."""

    text: str | None
    thought: bool | None
    thoughtSignature: str | None
    functionCall: FunctionCall | None


class Content(TypedDict, total=False):
    parts: list[Part] | None


class Candidate(TypedDict, total=False):
    content: Content | None
    finishReason: str | None
    finishMessage: str | None
    groundingMetadata: dict[str, Any] | None
    citationMetadata: dict[str, Any] | None


class PromptFeedback(TypedDict, total=False):
    blockReason: str | None
    blockReasonMessage: str | None


class UsageMetadata(TypedDict, total=False):
    promptTokenCount: int | None
    toolUsePromptTokenCount: int | None
    cachedContentTokenCount: int | None
    candidatesTokenCount: int | None
    thoughtsTokenCount: int | None


class ErrorBody(TypedDict, total=False):
    code: int | None
    message: str | None
    status: str | None


class StreamEvent(TypedDict, total=False):
    candidates: list[Candidate] | None
    promptFeedback: PromptFeedback | None
    usageMetadata: UsageMetadata | None
    responseId: str | None
    error: ErrorBody | str


class GoogleCredentials(Protocol):
    """Credentials of google-auth, which has no types."""

    token: str | None
    valid: bool
    quota_project_id: str | None
    refresh: Callable[[object], None]
