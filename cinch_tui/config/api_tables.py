"""Tables `[openapi.apis.NAME]`: APIs whose operations are offered as tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from cinch_tui.config.named_tables import NamedTable, TableKind
from cinch_tui.config.setting import Setting, Value
from extensions.variables import expand_variables
from http_client.addresses import is_loopback

if TYPE_CHECKING:
    from tools.openapi.configuration import OpenApi

APIS = "openapi.apis."
"""Prefix of the dotted names."""
MAPPINGS = ("variables", "headers", "credentials")
"""Tables of an API with free keys."""

_DEFINING = ("server", "variables", "headers", "allow_http")
"""Keys that only the table with the document may set: others could send its credentials elsewhere, or unencrypted."""
_SECRETS = ("bearer", "password", "api_key")
_held = partial(Setting, guard="held")


class _ApiSettings(Struct, frozen=True):
    document: Annotated[
        str, _held("path or URL of the OpenAPI document (3.0 or 3.1, JSON or YAML); a path is relative to the project")
    ] = ""
    server: Annotated[str, _held("base URL of the API; empty: the first server in the document")] = ""
    enabled: Annotated[bool, _held("false: keep the API configured without offering its tools")] = True
    tags: Annotated[tuple[str, ...], _held("tags of the operations to offer, as names or globs; empty: all")] = ()
    operations: Annotated[
        tuple[str, ...],
        _held('ids of the operations to offer, or "get /path" for one without an id; globs; empty: all'),
    ] = ()
    excluded_operations: Annotated[tuple[str, ...], _held("ids of operations not to offer, as names or globs")] = ()
    methods: Annotated[tuple[str, ...], _held('HTTP methods to offer, such as ["get", "head"]; empty: all')] = ()
    paths: Annotated[tuple[str, ...], _held("prefixes of the paths to offer; empty: all")] = ()
    bearer: Annotated[str, _held("token for HTTP bearer, OAuth 2 and OpenID Connect")] = ""
    username: Annotated[str, _held("user name for HTTP basic")] = ""
    password: Annotated[str, _held("password for HTTP basic")] = ""
    api_key: Annotated[str, _held("API key; the document says where it is sent")] = ""
    timeout_s: Annotated[float, _held("time limit of a call, in seconds; 0: unlimited", 0)] = 60.0
    max_bytes: Annotated[int, _held("bytes of a response that are read", 1)] = 10_000_000
    allow_http: Annotated[bool, _held("true: send secrets unencrypted over http, also to other machines")] = False


API_TABLE = TableKind(APIS, _ApiSettings, MAPPINGS)


class ApiTable(NamedTable, frozen=True):
    """A table `[openapi.apis.NAME]` of one file."""

    @property
    def is_definition(self) -> bool:
        """True if the table defines an API; otherwise it changes one of the same name in another file."""
        return "document" in self.values

    @property
    def folder(self) -> Path:
        """Folder that the path of a document is relative to: the project, or the folder of the user's file."""
        path = Path(self.source)
        return path.parent.parent if self.layer in ("project", "local") else path.parent


def read_apis(tables: Iterable[ApiTable], environ: Mapping[str, str]) -> tuple[list[OpenApi], list[str]]:
    """Return the APIs that are configured, trusted and enabled, and problems with others.

    Args:
        tables: Tables of all files, weakest first; one with a document replaces weaker ones of the same name.
        environ: Variables that values may name.
    """
    merged: dict[str, ApiTable] = {}
    problems: list[str] = []
    for table in tables:
        below = merged.get(table.name)
        if not table.is_trusted:
            continue
        if table.is_definition:
            merged[table.name] = table
        elif below is None:
            problems.append(f"{table.place}: the API {table.name} has no document")
        elif redirecting := [key for key in table.values if key.partition(".")[0] in _DEFINING]:
            problems.append(f"{table.place}: {redirecting[0]} can only be set next to the document of {table.name}")
        else:
            merged[table.name] = replace(below, values=below.values | table.values)
    apis: list[OpenApi] = []
    for table in merged.values():
        try:
            apis += [_api(table, environ)] if table.values.get("enabled", True) else []
        except ValueError as error:
            problems.append(f"{table.place}: the API {table.name} {error}")
    return apis, problems


def _is_authentic(document: str) -> bool:
    """Return True if only the owner of a document's origin can change it."""
    if document.startswith("http://"):
        with suppress(ValueError):
            return is_loopback(urlsplit(document).hostname or "")
    return document.startswith("https://")


def _api(table: ApiTable, environ: Mapping[str, str]) -> OpenApi:
    """Return the API that a table describes.

    Raises:
        ValueError: an environment variable is not set, or the document in a file decides who receives secrets.
    """
    from tools.openapi.configuration import Credentials, OpenApi, OperationFilter

    plain: dict[str, Value] = {}
    inner: dict[str, dict[str, str]] = {name: {} for name in MAPPINGS}
    for name, written in table.values.items():
        value = expand_variables(list(written) if isinstance(written, tuple) else written, environ)
        mapping, _, key = name.partition(".")
        if key:
            inner[mapping][key] = str(value)
        else:
            plain[name] = API_TABLE.checked(f"{APIS}{table.name}.{name}", value)

    def text(name: str) -> str:
        return str(plain.get(name, ""))

    def texts(name: str) -> tuple[str, ...]:
        found = plain.get(name, ())
        return found if isinstance(found, tuple) else ()

    document = text("document")
    has_secrets = bool(inner["credentials"] or inner["headers"] or any(map(text, _SECRETS)))
    # With https the operations are checked when they are loaded: secrets are sent to the origin of the document only.
    if has_secrets and not text("server") and not _is_authentic(document):
        raise ValueError("needs `server`: whoever changes its document could have the credentials sent elsewhere")
    if not document.startswith(("http://", "https://")):
        document = str(table.folder / Path(document).expanduser())
    others = {name: plain[name] for name in ("timeout_s", "max_bytes", "allow_http") if name in plain}
    api = OpenApi(
        table.name,
        document,
        server=text("server"),
        variables=inner["variables"],
        credentials=Credentials(
            text("bearer"), text("username"), text("password"), text("api_key"), inner["credentials"]
        ),
        headers=inner["headers"],
        filter=OperationFilter(
            texts("tags"), texts("operations"), texts("excluded_operations"), texts("methods"), texts("paths")
        ),
    )
    return replace(api, **others)
