"""Requests signed with the credentials of AWS that botocore finds, as Amazon's own programs do."""

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
HOW = "log in with: aws sso login, or give a key: export AWS_BEARER_TOKEN_BEDROCK=…"


@dataclass(frozen=True, slots=True)
class UnsignedRequest:
    """A request as it will be sent."""

    method: str
    url: str
    content: bytes = b""


@dataclass(frozen=True, slots=True)
class Signed:
    """The headers to send it with, and the public name of the credentials."""

    headers: Mapping[str, str]
    key_id: str


def can_sign() -> bool:
    """Whether botocore is there; it is not imported for that."""
    return importlib.util.find_spec("botocore") is not None


class Signer:
    """Signs for one region; credentials are kept once found, and renewed before they expire.

    `looks_again`: where there were none, somebody may log in before the next request.
    """

    def __init__(self, region: str, *, looks_again: bool) -> None:
        self._region = region
        self._looks_again = looks_again
        self._lock = threading.Lock()
        self._has_looked = False
        self._credentials: Credentials | None = None

    async def sign(self, asked: UnsignedRequest, headers: Mapping[str, str]) -> Signed | None:
        """The headers, and those that prove who sends them; None where there are no credentials.

        Raises:
            AuthenticationFailed: the credentials are no longer good, or a profile is not there.
            NetworkError: nobody could be asked for fresh ones.
        """
        # Finding and renewing credentials may read files, run programs and ask servers.
        return await asyncio.to_thread(self._signed, asked, headers)

    def _signed(self, asked: UnsignedRequest, headers: Mapping[str, str]) -> Signed | None:
        # An extra, and slow to import.
        exceptions = import_module("botocore.exceptions")
        try:
            with self._lock:
                frozen = self._frozen()
        except exceptions.HTTPClientError as error:
            raise NetworkError(f"AWS could not be asked for credentials: {plain(str(error))}") from error
        except (exceptions.BotoCoreError, exceptions.ClientError) as error:
            raise AuthenticationFailed(f"the credentials for AWS are no good; {HOW}: {plain(str(error))}") from error
        return None if frozen is None else self._with(frozen, asked, headers)

    def _frozen(self) -> FrozenCredentials | None:
        if not self._has_looked:
            # botocore leaves its types out.
            session = cast("Session", import_module("botocore.session").Session())
            self._credentials = session.get_credentials()
            self._has_looked = self._credentials is not None or not self._looks_again
        return self._credentials.get_frozen_credentials() if self._credentials else None

    def _with(self, frozen: FrozenCredentials, asked: UnsignedRequest, headers: Mapping[str, str]) -> Signed:
        request = import_module("botocore.awsrequest").AWSRequest(asked.method, asked.url, dict(headers), asked.content)
        import_module("botocore.auth").SigV4Auth(frozen, SERVICE, self._region).add_auth(request)
        # As above.
        signed = cast("SignedRequest", request)
        return Signed({name.lower(): told for name, told in signed.headers.items()}, frozen.access_key)
