"""Google Cloud credentials of the user or the machine, as found by google-auth."""

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
LOGIN_HINT = "log in with: gcloud auth application-default login"


@dataclass(frozen=True, slots=True)
class Token:
    """Access token, valid for an hour."""

    value: str = field(repr=False)
    project: str
    """Project of the login; may be empty."""

    payer: str
    """Project to be billed; may be empty."""


def can_log_in() -> bool:
    """Return True if google-auth is installed, without importing it."""
    try:
        return importlib.util.find_spec("google.auth") is not None
    except ModuleNotFoundError:
        return False


class Login:
    """Supplies tokens, and requests a new one before the last expires."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._credentials: GoogleCredentials | None = None
        self._project = ""

    async def token(self) -> Token:
        """Return a token that is valid for some minutes at least.

        Raises:
            AuthenticationFailed: There are no credentials, or they have expired.
            NetworkError: Google could not be reached.
        """
        return await asyncio.to_thread(self._fresh)

    def _fresh(self) -> Token:
        # Optional, and slow to import.
        from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError, TransportError

        try:
            with self._lock:
                return self._renewed()
        except DefaultCredentialsError as error:
            raise AuthenticationFailed(
                f"no Google Cloud credentials found; {LOGIN_HINT}: {plain(str(error))}"
            ) from error
        except TransportError as error:
            raise NetworkError(f"could not request a token from Google: {plain(str(error))}") from error
        except GoogleAuthError as error:
            raise AuthenticationFailed(
                f"the Google Cloud credentials were rejected; {LOGIN_HINT}: {plain(str(error))}"
            ) from error

    def _renewed(self) -> Token:
        import google.auth
        from google.auth.transport.requests import Request

        credentials = self._credentials
        if credentials is None:
            found = google.auth.default(scopes=[SCOPE])  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            # google-auth has no types for these.
            credentials, project = cast("tuple[GoogleCredentials, str | None]", found)
            self._credentials, self._project = credentials, project or ""
        if not credentials.valid:
            credentials.refresh(Request())
        return Token(credentials.token or "", self._project, credentials.quota_project_id or "")
