"""Authentication of requests by the security requirements of an operation, and redaction of the secrets."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Literal, TypeAlias
from urllib.parse import quote, quote_plus, unquote, unquote_plus, urlsplit

from harness.structs import Redacted
from tools.openapi.configuration import Credentials, OpenApi
from tools.openapi.documents import Documents, Node, Unresolved

Carrier: TypeAlias = Literal["header", "query", "cookie"]
REDACTED = "[redacted]"
_SECRET_NAME = re.compile(r"auth|key|token|secret|cookie|pass|pwd|session|credential|signature|^sig$", re.IGNORECASE)
_LEAST_SECRET = 4
"""Shorter texts are not redacted: they would be found everywhere."""


class Proof(Redacted, frozen=True):
    """A secret in a request."""

    _hidden = ("value",)

    carrier: Carrier
    """Part of the request."""
    name: str
    """Name of the header, query parameter or cookie."""
    value: str
    """The secret, as it is sent."""


class Security:
    """Security schemes of a document with the credentials of the user."""

    def __init__(self, documents: Documents, credentials: Credentials) -> None:
        self._documents = documents
        self._credentials = credentials
        self._schemes = dict(documents.root.get("components", "securitySchemes").each())

    @property
    def headers(self) -> frozenset[str]:
        """Names of the headers that carry API keys, in lower case."""
        schemes = (each.mapping for each in self._schemes.values())
        return frozenset(str(each.get("name")).lower() for each in schemes if each.get("in") == "header")

    def proofs(self, requirements: Node) -> tuple[Proof, ...]:
        """Return the secrets for the first alternative that the credentials satisfy; none if there is no such one.

        Args:
            requirements: List of alternatives; None as its value if the document has no such list.
        """
        if requirements.value is None:
            # The document does not say how to authenticate, and the user configured it anyway.
            return tuple(_usual(self._credentials)) if not self._schemes else ()
        for alternative in requirements.items():
            proofs = [self._proof(name) for name, _ in alternative.each()]
            if proofs and None not in proofs:
                return tuple(proof for proof in proofs if proof is not None)
        return ()

    def missing(self, requirements: Node) -> tuple[str, ...]:
        """Return the names of the schemes of which one is needed; empty if a request can be authenticated."""
        alternatives = [[name for name, _ in each.each()] for each in requirements.items()]
        if not alternatives or [] in alternatives or self.proofs(requirements):
            return ()
        return tuple(dict.fromkeys(" and ".join(names) for names in alternatives))

    def _proof(self, name: str) -> Proof | None:
        try:
            scheme = self._documents.follow(self._schemes[name])
        except (KeyError, Unresolved):
            return None
        own = self._credentials.schemes.get(name, "").strip()
        match scheme.text("type"), scheme.text("scheme").lower():
            case ("http", "bearer") | ("oauth2" | "openIdConnect", _):
                return _bearer(own or self._credentials.bearer)
            case "http", "basic":
                return _basic(own or _pair(self._credentials))
            case "apiKey", _:
                carrier, value = scheme.text("in"), own or self._credentials.api_key.strip()
                if carrier in ("header", "query", "cookie") and value and scheme.text("name"):
                    return Proof(carrier, scheme.text("name"), value)
            case _:
                pass
        return None


def _usual(credentials: Credentials) -> Iterator[Proof]:
    for proof in (_bearer(credentials.bearer), _basic(_pair(credentials))):
        if proof is not None:
            yield proof
            return


def _bearer(token: str) -> Proof | None:
    return Proof("header", "Authorization", f"Bearer {token.strip()}") if token else None


def _basic(pair: str) -> Proof | None:
    coded = base64.b64encode(pair.encode()).decode("ascii")
    return Proof("header", "Authorization", f"Basic {coded}") if pair else None


def _pair(credentials: Credentials) -> str:
    return f"{credentials.username}:{credentials.password}" if credentials.username or credentials.password else ""


class Redactor:
    """Replaces the secrets of an API wherever they appear: in URLs, responses and errors.

    Args:
        api: The API.
        security: Security schemes of its document, which may name further headers with secrets.
    """

    def __init__(self, api: OpenApi, security: Security | None = None) -> None:
        headers = security.headers if security else frozenset[str]()
        secrets = {secret.strip() for secret in _secrets(api, headers)}
        forms = {form for secret in secrets for form in _forms(secret) if len(secret) >= _LEAST_SECRET}
        # The longest first, since one may contain another.
        self._forms: Sequence[str] = sorted(forms, key=len, reverse=True)

    def __repr__(self) -> str:
        return "Redactor()"

    def text(self, text: str) -> str:
        """Return the text without secrets."""
        for form in self._forms:
            text = text.replace(form, REDACTED)
        return text

    def data(self, data: bytes, *, is_truncated: bool) -> bytes:
        """Return the bytes without secrets; a part of one at a truncated end is removed with it."""
        for form in self._forms:
            data = data.replace(form.encode(), REDACTED.encode())
        return data[: -len(self._forms[0].encode())] if is_truncated and self._forms else data


def _secrets(api: OpenApi, headers: frozenset[str]) -> Iterable[str]:
    credentials = api.credentials
    yield from (credentials.bearer, credentials.password, credentials.api_key)
    for secret in credentials.schemes.values():
        yield secret
        yield secret.partition(":")[2]
    for name, value in api.headers.items():
        if _SECRET_NAME.search(name) or name.lower() in headers:
            yield value
            # `Bearer …`, and cookies.
            yield value.partition(" ")[2]
            yield from (part.partition("=")[2] for part in value.split(";"))
    for url in (api.document, api.server):
        yield from secrets_in_url(url)
    for pair in (_pair(credentials), *credentials.schemes.values()):
        yield base64.b64encode(pair.encode()).decode("ascii") if ":" in pair else ""


def _forms(secret: str) -> Iterator[str]:
    """Yield the ways in which a secret may be written in a URL or in JSON."""
    encoded = (quote(secret, safe=""), quote_plus(secret), quote(secret))
    yield from (secret, *encoded, *(_lower_case_escapes(each) for each in encoded))
    for written in (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]):
        yield from (written, written.replace("/", "\\/"))
    yield from (escape(secret), escape(secret, quote=False))


def _lower_case_escapes(text: str) -> str:
    return re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), text)


def secrets_in_url(url: str) -> Iterator[str]:
    """Yield what is secret in a URL: the password, or a user name without one, and parameters named as secrets."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    user, mark, password = parts.netloc.rpartition("@")[0].partition(":")
    yield from (password, unquote(password)) if mark else (user, unquote(user))
    if mark:
        yield base64.b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode("ascii")
    for pair in parts.query.split("&"):
        name, _, value = pair.partition("=")
        if _SECRET_NAME.search(name):
            yield from (value, unquote_plus(value))
