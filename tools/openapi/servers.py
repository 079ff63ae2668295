"""Base URLs of operations: servers of the document with variables, or the one that is configured."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urljoin, urlsplit

from harness.errors import ConfigError
from http_client.addresses import is_loopback, shown_address
from tools.openapi.configuration import OpenApi
from tools.openapi.documents import Node, origin_of
from tools.openapi.guard import AddressGuard
from tools.openapi.operations import Unsupported
from tools.openapi.security import secrets_in_url
from tools.web.addresses import BlockedAddress

_VARIABLE = re.compile(r"\{([^{}]+)\}")
_ADVICE = "set `server` in the configuration of the API"
_ENCRYPTION_ADVICE = "use https, or set `allow_http = true` for the API"


def base_url(api: OpenApi, servers: Node, document: str, guard: AddressGuard) -> str:
    """Return the URL that the path of an operation is appended to, without a slash at its end.

    Args:
        api: Configuration.
        servers: Servers of the operation, of its path or of the document.
        document: URI of the document, which relative URLs are resolved with.
        guard: Check of servers in private networks.

    Raises:
        Unsupported: There is no such URL, a variable has no value, it would receive secrets unencrypted, or
            the document must not choose the server: it is in a private network or would receive secrets.
    """
    if api.server:
        url = _checked(_expanded(api.server, Node(None, document), api))
        check_encryption(api, url)
        return url
    server = next((each for each in servers.items() if each.text("url")), None)
    # By the standard, a document without servers describes the one it comes from.
    url = _expanded(server.text("url"), server.get("variables"), api) if server else "/"
    if url.startswith("//"):
        url = f"https:{url}"
    if not _split(url).scheme:
        if not document.startswith(("http://", "https://")):
            raise Unsupported(f"its server {url} is relative, and the document is a file; {_ADVICE}")
        url = _joined(document, url)
    url = _checked(url)
    _check_network(url, guard)
    _check_recipient(api, url, document)
    check_encryption(api, url)
    return url


def check_encryption(api: OpenApi, url: str) -> None:
    """Refuse a server that would receive secrets over plain HTTP, unless it is this machine or the user allows it.

    Raises:
        Unsupported: The text says what to change.
    """
    if api.has_secrets and not (api.allow_http or _is_protected(url)):
        raise Unsupported(f"its server {url} would receive the secrets unencrypted; {_ENCRYPTION_ADVICE}")


def check_document_encryption(api: OpenApi) -> None:
    """Refuse a URL of a document that would send the secrets in it over plain HTTP, with the same exceptions.

    Raises:
        ConfigError: The text says what to change.
    """
    url = api.document
    if api.text or not url.startswith("http://") or api.allow_http or not any(secrets_in_url(url)):
        return
    if not _is_protected(url):
        raise ConfigError(f"{shown_address(url)}: its URL would send a secret unencrypted; {_ENCRYPTION_ADVICE}")


def _is_protected(url: str) -> bool:
    """Return True if no other machine can read what is sent to a URL."""
    parts = urlsplit(url)
    return parts.scheme == "https" or is_loopback(parts.hostname or "")


def _expanded(url: str, variables: Node, api: OpenApi) -> str:
    def value_of(found: re.Match[str]) -> str:
        declared = variables.get(found[1])
        value = api.variables.get(found[1]) or str(declared.mapping.get("default") or "")
        allowed = [str(each.value) for each in declared.get("enum").items()]
        if not value:
            raise Unsupported(f"the variable {found[1]!r} of its server has no value; set it in `variables`")
        if allowed and value not in allowed:
            raise Unsupported(f"the variable {found[1]!r} of its server must be one of {', '.join(allowed)}")
        return value

    return _VARIABLE.sub(value_of, url)


def _checked(url: str) -> str:
    parts = _split(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Unsupported(f"its server {url!r} is not an http or https URL; {_ADVICE}")
    if parts.username or parts.password:
        raise Unsupported(f"the URL of its server contains a user name; {_ADVICE} and use `credentials`")
    return f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/")


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise Unsupported(f"its server {url!r} is not a valid URL: {error}; {_ADVICE}") from error
    return parts


def _joined(document: str, url: str) -> str:
    try:
        return urljoin(document, url)
    except ValueError as error:
        raise Unsupported(f"its server {url!r} is not a valid URL: {error}; {_ADVICE}") from error


def _check_recipient(api: OpenApi, url: str, document: str) -> None:
    """Refuse a server that only the document names, if secrets would be sent there.

    A document as text is part of the program.
    """
    if not document or not api.has_secrets or (_is_protected(url) and origin_of(url) == origin_of(document)):
        return
    raise Unsupported(f"its server {url} would receive the secrets and is named by the document only; {_ADVICE}")


def _check_network(url: str, guard: AddressGuard) -> None:
    """Refuse a server in a private network that a document of the internet names: it could be anything there."""
    try:
        guard.check_name(url)
    except BlockedAddress as error:
        host = urlsplit(url).hostname
        raise Unsupported(
            f"its server {host} is not valid or in a private network, and the document is not; {_ADVICE}"
        ) from error
