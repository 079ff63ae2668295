"""Exceptions. The class identifies the kind of error.

CinchError
├── ConfigError
├── AgentError
│   ├── AlreadyRunning
│   ├── NoMessages
│   ├── InvalidContinue
│   ├── Aborted
│   ├── LimitExceeded
│   ├── NoPendingRequest
│   ├── SummaryFailed
│   ├── Rejected
│   └── StructuredOutputFailed
├── ProviderError
│   ├── AuthenticationFailed
│   ├── ModelNotFound
│   ├── ContextWindowOverflow
│   ├── RequestRejected
│   ├── QuotaExhausted
│   ├── ModelThrottled
│   ├── ModelOverloaded
│   ├── InvalidReply
│   ├── NetworkError
│   └── StreamError
├── InvalidArguments
├── WorkspaceError
│   ├── OutsideWorkspace
│   ├── FileMissing
│   ├── NotAFile
│   ├── FileNotRead
│   ├── FileChanged
│   ├── FileNotText
│   └── FileTooLarge
├── LanguageServerError
└── SessionError
    ├── SessionMissing
    ├── SessionLocked
    └── SessionTooNew
"""

from __future__ import annotations


class CinchError(Exception):
    """Base class of all errors; its text is suitable for users."""


class ConfigError(CinchError):
    """A setting, flag, file or argument cannot be used; the text names it and a remedy."""


class AgentError(CinchError):
    """The agent cannot perform the request now, or a run ended for a reason other than a model error."""


class AlreadyRunning(AgentError):
    """A run is active: steer it, queue a follow-up, or abort it."""


class NoMessages(AgentError):
    """There is no conversation to continue."""


class InvalidContinue(AgentError):
    """The last message is a reply and nothing is queued: send a prompt instead."""


class Aborted(AgentError):
    """The run was aborted. Raised only by `AgentResult.raise_for_failure`."""


class LimitExceeded(AgentError):
    """The limit of turns, tokens, seconds or dollars is reached. Raised only by `AgentResult.raise_for_failure`."""


class NoPendingRequest(AgentError):
    """No request with this id is pending: the call was answered before, or has ended."""


class SummaryFailed(AgentError):
    """The model that summarizes the conversation gave no usable text; nothing was changed."""


class Rejected(AgentError):
    """A guardrail or a hook blocked the message.

    Raised by `AgentResult.raise_for_failure` and `Agent.ask_side_question`.
    """


class StructuredOutputFailed(AgentError):
    """The model gave no valid structured output in `attempts` attempts; `last_error` is the latest validation error."""

    def __init__(self, attempts: int, last_error: str) -> None:
        super().__init__(f"no valid structured output after {attempts} attempts: {last_error}")
        self.attempts = attempts
        self.last_error = last_error


class ProviderError(CinchError):
    """A model call failed.

    Attributes:
        retryable: True if the same request may succeed later.
        retry_after: Seconds the service asked to wait; None if it did not.
        status: HTTP status; None if there was no response.
    """

    retryable = False

    def __init__(self, message: str, *, retry_after: float | None = None, status: int | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.status = status


class AuthenticationFailed(ProviderError):
    """The service rejected the API key, or the key lacks a permission: HTTP 401, 403."""


class ModelNotFound(ProviderError):
    """The service does not offer the model."""


class ContextWindowOverflow(ProviderError):
    """The request exceeds the context window, even after it was shortened once."""


class RequestRejected(ProviderError):
    """The service rejected the request: HTTP 400 and other refusals that a retry cannot fix."""


class QuotaExhausted(ProviderError):
    """The credit or the monthly quota is exhausted; retrying soon does not help."""


class ModelThrottled(ProviderError):
    """Too many requests: HTTP 429. Retryable."""

    retryable = True


class ModelOverloaded(ProviderError):
    """The service is overloaded: HTTP 503, 529 and similar. Retryable."""

    retryable = True


class InvalidReply(ProviderError):
    """The reply cannot be parsed, such as a truncated tool call. Retryable: the model rarely repeats it."""

    retryable = True


class NetworkError(ProviderError):
    """The connection failed or was interrupted. Retryable."""

    retryable = True


class StreamError(ProviderError):
    """The stream violates its format, or the provider failed unexpectedly."""


class InvalidArguments(CinchError):
    """The arguments of a tool call do not fit the schema; the text lets the model correct the call."""


class WorkspaceError(CinchError):
    """A file cannot be read or changed; the text is written for the model."""


class OutsideWorkspace(WorkspaceError):
    """The path is outside the folders the agent may access."""


class FileMissing(WorkspaceError):
    """The path does not exist."""


class NotAFile(WorkspaceError):
    """The path is a folder, a device or a pipe."""


class FileNotRead(WorkspaceError):
    """The file must be read before it is changed."""


class FileChanged(WorkspaceError):
    """The file changed on disk since it was read."""


class FileNotText(WorkspaceError):
    """The file is binary, or its encoding cannot be preserved."""


class FileTooLarge(WorkspaceError):
    """The file is too large to be shown or edited."""


class LanguageServerError(CinchError):
    """A language server cannot be started, failed or did not answer."""


class SessionError(CinchError):
    """A session file cannot be used."""


class SessionMissing(SessionError):
    """The session does not exist."""


class SessionLocked(SessionError):
    """Another process is writing to the session."""


class NoSessionYet(SessionMissing):
    """The folder has no session to continue."""


class SessionTooNew(SessionError):
    """The session uses a later version of the format."""
