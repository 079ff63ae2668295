"""Every error we raise; its class says what happened.

CinchError
├── ConfigError
├── AgentError
│   ├── AlreadyRunning
│   ├── NoMessages
│   ├── InvalidContinue
│   ├── Aborted
│   ├── LimitExceeded
│   ├── NotAsked
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
│   ├── UnusableReply
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
└── SessionError
    ├── SessionMissing
    ├── SessionLocked
    └── SessionTooNew
"""

from __future__ import annotations


class CinchError(Exception):
    """The root of all our errors; its text is fit to be shown to a person."""


class ConfigError(CinchError):
    """A setting, flag, file or argument of ours cannot be used; the text says which and what to do."""


class AgentError(CinchError):
    """The agent was asked for what it cannot do now, or a run ended in a way that is no model's fault."""


class AlreadyRunning(AgentError):
    """A run is on: steer it, queue a follow-up, or abort it."""


class NoMessages(AgentError):
    """There is no conversation to continue."""


class InvalidContinue(AgentError):
    """The last message is the assistant's and nothing is queued: prompt instead."""


class Aborted(AgentError):
    """The run was stopped. Only `AgentResult.raise_for_failure` raises it."""


class LimitExceeded(AgentError):
    """Turns, tokens, seconds or dollars are used up. Only `AgentResult.raise_for_failure` raises it."""


class NoPendingRequest(AgentError):
    """Nobody waits for that answer: the call was answered before, or is over."""


class Rejected(AgentError):
    """What was said is kept back by a filter or a hook. `AgentResult.raise_for_failure` and `Agent.aside` raise it."""


class StructuredOutputFailed(AgentError):
    """`attempts` answers were looked at; `last_error` is what was wrong with the last."""

    def __init__(self, attempts: int, last_error: str) -> None:
        super().__init__(f"the model gave no valid answer in {attempts} attempts: {last_error}")
        self.attempts = attempts
        self.last_error = last_error


class ProviderError(CinchError):
    """A model did not answer as it should.

    `retryable`: the same request may succeed later. `retry_after`: seconds the service asked us to wait.
    `status`: the HTTP status, where there was one.
    """

    retryable = False

    def __init__(self, message: str, *, retry_after: float | None = None, status: int | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.status = status


class AuthenticationFailed(ProviderError):
    """The service does not accept the key, or the key may not do this: HTTP 401, 403."""


class ModelNotFound(ProviderError):
    """The service does not know the model, or no longer serves it."""


class ContextWindowOverflow(ProviderError):
    """The request is longer than the model's window, also after it was shortened once."""


class RequestRejected(ProviderError):
    """HTTP 400 and other refusals that a retry cannot mend."""


class QuotaExhausted(ProviderError):
    """No money or monthly quota is left: waiting a minute does not help."""


class ModelThrottled(ProviderError):
    """Too many requests: HTTP 429. Retryable."""

    retryable = True


class ModelOverloaded(ProviderError):
    """The service has too much to do: HTTP 503, 529 and their like. Retryable."""

    retryable = True


class InvalidReply(ProviderError):
    """The model wrote what cannot be read, such as half a tool call. Retryable: it hardly writes the same again."""

    retryable = True


class NetworkError(ProviderError):
    """There was no connection, or it was cut. Retryable."""

    retryable = True


class StreamError(ProviderError):
    """The stream broke its own format, or what made it failed in a way of its own."""


class InvalidArguments(CinchError):
    """A tool call breaks the tool's schema; the text is written for the model, to correct itself from."""


class WorkspaceError(CinchError):
    """A file cannot be read or changed; the text is written for the model."""


class OutsideWorkspace(WorkspaceError):
    """The path leaves the folders the agent may touch."""


class FileMissing(WorkspaceError):
    """There is nothing at that path."""


class NotAFile(WorkspaceError):
    """A folder, a device, a pipe."""


class FileNotRead(WorkspaceError):
    """The file must be read before it is changed."""


class FileChanged(WorkspaceError):
    """The file changed on disk since it was read."""


class FileNotText(WorkspaceError):
    """The file is binary, or in an encoding that cannot be kept."""


class FileTooLarge(WorkspaceError):
    """The file is more than can be shown or edited."""


class SessionError(CinchError):
    """A session file cannot be used; the text says why."""


class SessionMissing(SessionError):
    """There is no such session."""


class SessionLocked(SessionError):
    """Another process writes to the session."""


class NoSessionYet(SessionMissing):
    """The folder has no session to continue."""


class SessionTooNew(SessionError):
    """The session was written by a later version of the format."""
