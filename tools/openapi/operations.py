"""Operations of an OpenAPI document: parameters, body, servers and security, with references resolved."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Literal, TypeAlias, cast

from msgspec import Struct

from tools.openapi.configuration import OperationFilter
from tools.openapi.documents import Documents, Node, Unresolved
from tools.openapi.styles import STYLES, Serialization

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
READING = frozenset({"get", "head"})
"""Methods that change nothing."""
Place: TypeAlias = Literal["path", "query", "header", "cookie"]
BodyKind: TypeAlias = Literal["json", "form", "multipart", "text", "file"]
# Set by other means; the standard has the first three ignored, and the others decide how the request is read.
_IGNORED_HEADERS = frozenset(
    (
        *("accept", "content-type", "authorization"),
        *("host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect"),
    )
)
MAX_ARGUMENT_CHARS = 64
"""Maximum length of the name of an argument; the limit of Anthropic and Bedrock."""
_TEMPLATE = re.compile(r"\{([^{}]+)\}")


class Unsupported(Exception):
    """An operation cannot be offered; the text says why."""


class Parameter(Struct, frozen=True):
    """Parameter of an operation."""

    name: str
    """Name in the request."""
    argument: str
    """Name among the arguments of the tool."""
    place: Place
    """Part of the request."""
    schema: Node
    """Schema."""
    how: Serialization
    """Style."""
    is_required: bool = False
    """True if the request needs it."""
    description: str = ""
    """Description in the document."""
    media_type: str = ""
    """Media type of the value if it is written as such, like JSON."""


class Body(Struct, frozen=True):
    """Body of a request."""

    kind: BodyKind
    """Way to write it."""
    media_type: str
    """Media type."""
    argument: str
    """Name among the arguments of the tool."""
    schema: Node
    """Schema."""
    encoding: Node
    """Media types and styles of the fields of a form."""
    is_required: bool = False
    """True if the request needs it."""
    description: str = ""
    """Description in the document."""


class Operation(Struct, frozen=True):
    """An operation that can be called."""

    method: str
    """Method in lower case."""
    path: str
    """Template of the path."""
    id: str
    """Id in the document; empty if it has none."""
    tags: tuple[str, ...]
    """Tags."""
    summary: str
    """Summary, on one line."""
    description: str
    """Description."""
    parameters: tuple[Parameter, ...]
    """Parameters."""
    body: Body | None
    """Body; None if the request has none."""
    servers: Node
    """List of servers."""
    security: Node
    """List of alternative security requirements; None as its value if the document has no such list."""
    is_deprecated: bool = False
    """True if it should no longer be used."""

    @property
    def key(self) -> str:
        """Method and path, which identify an operation."""
        return f"{self.method} {self.path}"


class Skipped(Struct, frozen=True):
    """Operation that is not offered, with the reason."""

    operation: str
    """Method and path, with the id if there is one."""
    reason: str
    """Reason, as a part of a sentence."""

    def __str__(self) -> str:
        return f"{self.operation}: {self.reason}"


def read_operations(documents: Documents, chosen: OperationFilter) -> Iterator[Operation | Skipped]:
    """Yield the selected operations of a document; those that cannot be called as `Skipped`."""
    for path, written in documents.root.get("paths").each():
        try:
            item = documents.follow(written)
        except Unresolved as error:
            yield Skipped(path, str(error))
            continue
        for method in METHODS:
            if isinstance(item.get(method).value, dict):
                yield from _selected(_Reader(documents, item, method, path), chosen)


def _selected(reader: _Reader, chosen: OperationFilter) -> Iterator[Operation | Skipped]:
    if not chosen.selects(reader.method, reader.path, reader.id, reader.tags):
        return
    try:
        yield reader.read()
    except (Unsupported, Unresolved) as error:
        yield Skipped(f"{reader.method.upper()} {reader.path}{f' ({reader.id})' if reader.id else ''}", str(error))


class _Reader:
    """Reader of one operation."""

    def __init__(self, documents: Documents, item: Node, method: str, path: str) -> None:
        self.method = method
        self.path = path
        self._documents = documents
        self._item = item
        self._node = item.get(method)
        self.id = self._node.text("operationId")
        self.tags = tuple(str(each.value) for each in self._node.get("tags").items())

    def read(self) -> Operation:
        if self.method == "trace":
            raise Unsupported("TRACE is not supported: its response repeats the credentials of the request")
        parameters = self._parameters()
        return Operation(
            self.method,
            self.path,
            self.id,
            self.tags,
            " ".join(self._node.text("summary").split()),
            self._node.text("description") or self._item.text("description"),
            parameters,
            self._body({each.argument for each in parameters}),
            self._nearest("servers"),
            self._security(),
            self._node.get("deprecated").value is True,
        )

    def _nearest(self, name: str) -> Node:
        nodes = (self._node.get(name), self._item.get(name), self._documents.root.get(name))
        return next((each for each in nodes if each.value), self._documents.root.get(name))

    def _security(self) -> Node:
        own = self._node.get("security")
        return own if own.value is not None else self._documents.root.get("security")

    def _parameters(self) -> tuple[Parameter, ...]:
        found: dict[tuple[str, str], Node] = {}
        for source in (self._item, self._node):
            for written in source.get("parameters").items():
                node = self._documents.follow(written)
                if not node.text("name") and node.get("required").value is not True:
                    # A mistake in several public documents, without which the operation can be called.
                    continue
                place, name = node.text("in"), node.text("name")
                # The names of headers have no case.
                found[place, name.lower() if place == "header" else name] = node
        in_template = set(_TEMPLATE.findall(self.path))
        for name in in_template - {name for place, name in found if place == "path"}:
            found["path", name] = Node({"name": name, "in": "path", "schema": {"type": "string"}}, self._item.base)
        used = [
            (key, node)
            for key, node in found.items()
            if (key[0] != "path" or key[1] in in_template) and (key[0] != "header" or key[1] not in _IGNORED_HEADERS)
        ]
        # Parameters of the path keep their names; others with the same name are told apart by their place.
        used.sort(key=lambda each: each[0][0] != "path")
        arguments: set[str] = set()
        return tuple(self._parameter(node, arguments) for _, node in used)

    def _parameter(self, node: Node, arguments: set[str]) -> Parameter:
        name, place = node.text("name"), node.text("in")
        if place not in STYLES or not name:
            raise Unsupported(f"a parameter has {'no name' if not name else f'the unknown place {place!r}'}")
        argument = _free(_legal_argument(name), arguments, place)
        arguments.add(argument)
        schema = node.get("schema")
        media_type = next(iter(node.get("content").mapping), "")
        if media_type:
            schema = self._documents.follow(node.get("content", media_type)).get("schema")
        return Parameter(
            name,
            argument,
            cast(Place, place),
            schema,
            _serialization(node, place),
            is_required=place == "path" or node.get("required").value is True,
            description=node.text("description"),
            media_type=media_type,
        )

    def _body(self, arguments: set[str]) -> Body | None:
        node = self._documents.follow(self._node.get("requestBody"))
        media_types: list[tuple[str, BodyKind | None]] = [
            (each, kind_of(each)) for each, _ in node.get("content").each()
        ]
        if not media_types:
            return None
        usable: list[tuple[str, BodyKind]] = [(each, kind) for each, kind in media_types if kind is not None]
        if not usable:
            names = ", ".join(name for name, _ in media_types)
            raise Unsupported(f"the media type of its body is not supported: {names}")
        name, kind = min(usable, key=lambda each: (_PREFERRED.index(each[1]), each[0] != "application/json"))
        content = self._documents.follow(node.get("content", name))
        return Body(
            kind,
            _sent_type(name, kind),
            _free("body", arguments, "request"),
            content.get("schema"),
            content.get("encoding"),
            is_required=node.get("required").value is True,
            description=node.text("description"),
        )


_PREFERRED: tuple[BodyKind, ...] = ("json", "form", "multipart", "text", "file")


def kind_of(media_type: str) -> BodyKind | None:
    """Return the way to write a body of a media type; None if it is not supported."""
    name = media_type.partition(";")[0].strip().lower()
    if name in ("application/json", "*/*", "application/*") or name.endswith("+json"):
        return "json"
    if name == "application/x-www-form-urlencoded":
        return "form"
    if name.startswith("multipart/"):
        return "multipart" if name == "multipart/form-data" else None
    is_text = name.startswith("text/") or name.endswith(("+xml", "/xml", "/yaml", "/x-yaml", "/graphql", "ndjson"))
    return "text" if is_text else "file"


def _sent_type(media_type: str, kind: BodyKind) -> str:
    if "*" not in media_type:
        return media_type
    return {"json": "application/json", "text": "text/plain"}.get(kind, "application/octet-stream")


def _legal_argument(name: str) -> str:
    """Return a name that model services accept for a property: at most 64 characters of `[A-Za-z0-9_.-]`.

    One that is too long ends with a hash, so that names with the same beginning stay different.
    """
    legal = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_") or "parameter"
    if len(legal) <= MAX_ARGUMENT_CHARS:
        return legal
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{legal[: MAX_ARGUMENT_CHARS - 9]}_{digest}"


def _free(name: str, arguments: set[str], suffix: str) -> str:
    candidate, number = name, 1
    while candidate in arguments:
        end = f"_{suffix}" if number == 1 else f"_{suffix}_{number}"
        candidate = name[: MAX_ARGUMENT_CHARS - len(end)] + end
        number += 1
    return candidate


def _serialization(node: Node, place: str) -> Serialization:
    style = node.text("style") or STYLES[place][0]
    if style not in STYLES[place]:
        raise Unsupported(f"the parameter {node.text('name')!r} has the style {style!r}, which is not for {place}")
    explode, reserved = node.get("explode").value, node.get("allowReserved").value
    # Elsewhere it could change the path, which the user approves as it is written.
    allow_reserved = reserved is True and place == "query"
    return Serialization(style, explode if isinstance(explode, bool) else style == "form", allow_reserved)
