"""A login with Google: that of a person at this machine, or of the machine itself, as google-auth finds it."""

from __future__ import annotations

import asyncio
import importlib.util
import threading
from dataclasses import field
from typing import TYPE_CHECKING, cast

from harness.errors import AuthenticationFailed, NetworkError
from harness.lazy_dataclass import dataclass
from providers.net.http_errors import plain

if TYPE_CHECKING:
    from providers.gemini.wire_types import GoogleCredentials

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
HOW = "log in with: gcloud auth application-default login"


@dataclass(frozen=True, slots=True)
class Token:
    """A token for an hour. `project` is the one the login belongs to, `payer` the one to be charged; both may be ""."""

    value: str = field(repr=False)
    project: str
    payer: str


def can_log_in() -> bool:
    """Whether google-auth is there; it is not imported for that."""
    try:
        return importlib.util.find_spec("google.auth") is not None
    except ModuleNotFoundError:
        return False


class Login:
    """Hands out tokens, and gets a fresh one when the last is about to expire."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._credentials: GoogleCredentials | None = None
        self._project = ""

    async def token(self) -> Token:
        """A token that is good for some minutes at least.

        Raises:
            AuthenticationFailed: nobody is logged in, or the login has ended.
            NetworkError: Google could not be asked.
        """
        return await asyncio.to_thread(self._fresh)

    def _fresh(self) -> Token:
        # An extra, and slow to import.
        from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError, TransportError

        try:
            with self._lock:
                return self._renewed()
        except DefaultCredentialsError as error:
            raise AuthenticationFailed(f"no login with Google was found; {HOW}: {plain(str(error))}") from error
        except TransportError as error:
            raise NetworkError(f"Google could not be asked for a token: {plain(str(error))}") from error
        except GoogleAuthError as error:
            raise AuthenticationFailed(f"the login with Google was refused; {HOW}: {plain(str(error))}") from error

    def _renewed(self) -> Token:
        import google.auth
        from google.auth.transport.requests import Request

        credentials = self._credentials
        if credentials is None:
            found = google.auth.default(scopes=[SCOPE])  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            # google-auth leaves the types of these out.
            credentials, project = cast("tuple[GoogleCredentials, str | None]", found)
            self._credentials, self._project = credentials, project or ""
        if not credentials.valid:
            credentials.refresh(Request())
        return Token(credentials.token or "", self._project, credentials.quota_project_id or "")
