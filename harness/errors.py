"""Every error we raise.

CinchError
├── ConfigError                 a setting, flag or file of ours cannot be used
├── AgentError                  the agent was asked for what it cannot do now
│   ├── AlreadyRunning          a run is on
│   ├── NoMessages              there is nothing to continue from
│   ├── InvalidContinue         the last message is the assistant's
│   ├── Aborted                 the person stopped it
│   ├── LimitExceeded           turns, tokens, seconds or dollars are used up
│   ├── NotAsked                nobody waits for that answer
│   ├── Rejected                an input filter or a hook did not let the run begin
│   └── StructuredOutputFailed  the model did not answer in the form that was asked for
├── ProviderError               a model did not answer as it should
│   ├── AuthenticationFailed    401, 403
│   ├── ModelNotFound           the service does not know or no longer serves the model
│   ├── ContextWindowOverflow   the request is longer than the model's window
│   ├── RequestRejected         400 and other refusals that a retry cannot mend
│   ├── QuotaExhausted          no money or monthly quota left: waiting a minute does not help
│   ├── ModelThrottled          429; retryable
│   ├── ModelOverloaded         529, 503 and their like; retryable
│   ├── NetworkError            no connection, or it was cut; retryable
│   └── StreamError             the stream broke its own format
├── InvalidArguments            a tool call breaks the tool's schema; the text is written for the model
├── WorkspaceError              a file cannot be read or changed; the text is written for the model
│   ├── OutsideWorkspace        the path leaves the folders the agent may touch
│   ├── FileMissing             there is nothing at that path
│   ├── NotAFile                a folder, a device, a pipe
│   ├── FileNotRead             it must be read before it is changed
│   ├── FileChanged             it changed on disk since it was read
│   ├── FileNotText             binary, or in an encoding that cannot be kept
│   └── FileTooLarge            more than can be shown or edited
└── SessionError                a session file cannot be used
    ├── SessionMissing          no such session
    ├── SessionLocked           another process writes to it
    └── SessionTooNew           written by a later version of the format
"""

from __future__ import annotations


class CinchError(Exception):
    """The root of all our errors; its text is fit to be shown to a person."""


class ConfigError(CinchError):
    pass


class AgentError(CinchError):
    pass


class AlreadyRunning(AgentError):
    pass


class NoMessages(AgentError):
    pass


class InvalidContinue(AgentError):
    pass


class Aborted(AgentError):
    pass


class LimitExceeded(AgentError):
    pass


class NotAsked(AgentError):
    pass


class Rejected(AgentError):
    pass


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
    pass


class ModelNotFound(ProviderError):
    pass


class ContextWindowOverflow(ProviderError):
    pass


class RequestRejected(ProviderError):
    pass


class QuotaExhausted(ProviderError):
    pass


class ModelThrottled(ProviderError):
    retryable = True


class ModelOverloaded(ProviderError):
    retryable = True


class NetworkError(ProviderError):
    retryable = True


class StreamError(ProviderError):
    pass


class InvalidArguments(CinchError):
    pass


class WorkspaceError(CinchError):
    pass


class OutsideWorkspace(WorkspaceError):
    pass


class FileMissing(WorkspaceError):
    pass


class NotAFile(WorkspaceError):
    pass


class FileNotRead(WorkspaceError):
    pass


class FileChanged(WorkspaceError):
    pass


class FileNotText(WorkspaceError):
    pass


class FileTooLarge(WorkspaceError):
    pass


class SessionError(CinchError):
    pass


class SessionMissing(SessionError):
    pass


class SessionLocked(SessionError):
    pass


class SessionTooNew(SessionError):
    pass
