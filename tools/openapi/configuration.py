"""Configuration of one API: its document, server, credentials and the operations to offer."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct, field

from harness.structs import Redacted
from http_client.addresses import shown_address


class Credentials(Redacted, frozen=True):
    """Secrets of one API. The security requirements of an operation decide which of them are sent."""

    _hidden = ("bearer", "password", "api_key", "schemes")

    bearer: str = ""
    """Token for HTTP bearer, OAuth 2 and OpenID Connect."""
    username: str = ""
    """User name for HTTP basic."""
    password: str = ""
    """Password for HTTP basic."""
    api_key: str = ""
    """API key; the document says in which header, query parameter or cookie it is sent."""
    schemes: dict[str, str] = field(default_factory=dict[str, str])
    """Secrets by the name of a security scheme in the document, if an API has several of one kind; `user:password`
    for HTTP basic."""


class OperationFilter(Struct, frozen=True):
    """Operations to offer. Each field that is not empty must match."""

    tags: tuple[str, ...] = ()
    """Tags, of which an operation needs one; globs."""
    operations: tuple[str, ...] = ()
    """Operation ids; globs. An operation without an id is named `method /path`."""
    excluded: tuple[str, ...] = ()
    """Operation ids that are not offered; globs."""
    methods: tuple[str, ...] = ()
    """HTTP methods, in any case."""
    paths: tuple[str, ...] = ()
    """Prefixes of paths."""

    def selects(self, method: str, path: str, operation_id: str, tags: tuple[str, ...]) -> bool:
        """Return True if an operation is to be offered."""
        names = (operation_id or f"{method} {path}", f"{method} {path}")
        return (
            (not self.methods or method in {each.lower() for each in self.methods})
            and (not self.paths or path.startswith(self.paths))
            and (not self.tags or _matches(self.tags, tags))
            and (not self.operations or _matches(self.operations, names))
            and not _matches(self.excluded, names)
        )


def _matches(globs: tuple[str, ...], names: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs for name in names)


class OpenApi(Redacted, frozen=True):
    """An API whose operations become tools."""

    _hidden = ("headers",)

    name: str
    """Name in tool names and permission rules: letters, digits, `-` and `_`."""
    document: str = ""
    """Path or URL of the OpenAPI document, as JSON or YAML."""
    text: str = ""
    """The document itself, instead of its address."""
    server: str = ""
    """Base URL of the API; empty: the first server in the document."""
    variables: dict[str, str] = field(default_factory=dict[str, str])
    """Values of variables in the URLs of servers."""
    credentials: Credentials = Credentials()
    """Secrets that requests are authenticated with."""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    """Further headers of each request; they may contain secrets."""
    filter: OperationFilter = OperationFilter()
    """Operations to offer."""
    timeout_s: float = 60.0
    """Time limit of a call, in seconds."""
    max_bytes: int = 10_000_000
    """Bytes of a response that are read; the rest is discarded."""
    allow_http: bool = False
    """True to send secrets unencrypted to a server that is not this machine."""
    deferred: bool | None = None
    """True if the model has to search for the tools; None: if there are more than a few."""

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Return the fields to show, without what URLs may contain as a secret."""
        shown = dict(super().__rich_repr__())
        return [*(shown | {name: shown_address(shown[name]) for name in ("document", "server")}).items()]

    @property
    def has_secrets(self) -> bool:
        """True if requests contain credentials or configured headers."""
        own = self.credentials
        return any((own.bearer, own.username, own.password, own.api_key, own.schemes, self.headers))
