"""Request signatures with the AWS credentials that botocore finds, as in Amazon's own programs."""

from __future__ import annotations

import asyncio
import importlib.util
import threading
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, cast

from harness.errors import AuthenticationFailed, NetworkError
from harness.lazy_dataclass import dataclass
from providers.net.http_errors import plain

if TYPE_CHECKING:
    from providers.bedrock.wire_types import Credentials, FrozenCredentials, Session, SignedRequest

SERVICE = "bedrock"
LOGIN_HINT = "log in with: aws sso login, or give a key: export AWS_BEARER_TOKEN_BEDROCK=…"


@dataclass(frozen=True, slots=True)
class UnsignedRequest:
    """Request as it will be sent."""

    method: str
    url: str
    content: bytes = b""


@dataclass(frozen=True, slots=True)
class Signed:
    """Headers of a signed request, and the public id of the credentials."""

    headers: Mapping[str, str]
    key_id: str


def can_sign() -> bool:
    """Return True if botocore is installed, without importing it."""
    return importlib.util.find_spec("botocore") is not None


class Signer:
    """Signs requests for one region; credentials are cached and renewed before they expire.

    Args:
        region: Region of the service.
        looks_again: Search again before each request if there were no credentials: the user may log in meanwhile.
    """

    def __init__(self, region: str, *, looks_again: bool) -> None:
        self._region = region
        self._looks_again = looks_again
        self._lock = threading.Lock()
        self._has_looked = False
        self._credentials: Credentials | None = None

    async def sign(self, asked: UnsignedRequest, headers: Mapping[str, str]) -> Signed | None:
        """Return the headers with a signature; None if there are no credentials.

        Raises:
            AuthenticationFailed: The credentials have expired, or a profile does not exist.
            NetworkError: New credentials could not be requested.
        """
        # Finding and renewing credentials may read files, run programs and send requests.
        return await asyncio.to_thread(self._signed, asked, headers)

    def _signed(self, asked: UnsignedRequest, headers: Mapping[str, str]) -> Signed | None:
        # Optional, and slow to import.
        exceptions = import_module("botocore.exceptions")
        try:
            with self._lock:
                frozen = self._frozen()
        except exceptions.HTTPClientError as error:
            raise NetworkError(f"could not request AWS credentials: {plain(str(error))}") from error
        except (exceptions.BotoCoreError, exceptions.ClientError) as error:
            raise AuthenticationFailed(f"the AWS credentials are invalid; {LOGIN_HINT}: {plain(str(error))}") from error
        return None if frozen is None else self._with(frozen, asked, headers)

    def _frozen(self) -> FrozenCredentials | None:
        if not self._has_looked:
            # botocore has no types.
            session = cast("Session", import_module("botocore.session").Session())
            self._credentials = session.get_credentials()
            self._has_looked = self._credentials is not None or not self._looks_again
        return self._credentials.get_frozen_credentials() if self._credentials else None

    def _with(self, frozen: FrozenCredentials, asked: UnsignedRequest, headers: Mapping[str, str]) -> Signed:
        request = import_module("botocore.awsrequest").AWSRequest(asked.method, asked.url, dict(headers), asked.content)
        import_module("botocore.auth").SigV4Auth(frozen, SERVICE, self._region).add_auth(request)
        # As above.
        signed = cast("SignedRequest", request)
        return Signed({name.lower(): value for name, value in signed.headers.items()}, frozen.access_key)
