"""Signatures of requests to Amazon, with the credentials that its own programs use."""

from __future__ import annotations

import asyncio
import importlib.util
import threading
from collections.abc import Mapping
from importlib import import_module
from typing import Protocol

from harness.errors import AuthenticationFailed, NetworkError
from providers.net.http_errors import plain

SERVICE = "bedrock"
LOGIN_HINT = "log in with: aws sso login, or give a key: export AWS_BEARER_TOKEN_BEDROCK=…"


class FrozenCredentials(Protocol):
    access_key: str
    secret_key: str
    token: str | None


class AwsCredentials(Protocol):
    def get_frozen_credentials(self) -> FrozenCredentials: ...


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
        self._credentials: AwsCredentials | None = None

    async def sign(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes
    ) -> tuple[Mapping[str, str], str] | None:
        """Return the headers with a signature, and the id of the credentials; None if there are none.

        Raises:
            AuthenticationFailed: The credentials have expired, or a profile does not exist.
            NetworkError: New credentials could not be requested.
        """
        # Finding and renewing credentials may read files, run programs and send requests.
        frozen = await asyncio.to_thread(self._frozen)
        if frozen is None:
            return None
        request = import_module("botocore.awsrequest").AWSRequest(method, url, dict(headers), content)
        import_module("botocore.auth").SigV4Auth(frozen, SERVICE, self._region).add_auth(request)
        return {name.lower(): value for name, value in request.headers.items()}, frozen.access_key

    def _frozen(self) -> FrozenCredentials | None:
        # Optional, and slow to import.
        exceptions = import_module("botocore.exceptions")
        try:
            with self._lock:
                return self._found()
        except exceptions.HTTPClientError as error:
            raise NetworkError(f"could not request AWS credentials: {plain(str(error))}") from error
        except (exceptions.BotoCoreError, exceptions.ClientError) as error:
            raise AuthenticationFailed(f"the AWS credentials are invalid; {LOGIN_HINT}: {plain(str(error))}") from error

    def _found(self) -> FrozenCredentials | None:
        if not self._has_looked:
            self._credentials = import_module("botocore.session").Session().get_credentials()
            self._has_looked = self._credentials is not None or not self._looks_again
        return self._credentials.get_frozen_credentials() if self._credentials else None
