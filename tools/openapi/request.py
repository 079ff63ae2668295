"""Requests: the arguments of a call as URL, headers and body."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote

from msgspec import Struct

from harness.errors import FileTooLarge, InvalidArguments
from harness.messages import JsonObject, JsonValue
from tools.openapi.documents import Documents, Node
from tools.openapi.operations import Body, Operation, Parameter, kind_of
from tools.openapi.schemas import has_binary, properties_of
from tools.openapi.styles import Pair, Serialization, header_text, path_text, query_pairs, text_of

if TYPE_CHECKING:
    from harness.workspace.workspace import Workspace

MAX_FILE_BYTES = 100 * 1024 * 1024
"""Maximum size of an uploaded file, in bytes."""
Part: TypeAlias = "tuple[str, tuple[str | None, bytes, str]]"
"""Name of a field of a multipart body, with file name, content and media type."""

_TEMPLATE = re.compile(r"\{([^{}]+)\}")
_UNSENDABLE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]|[^\x00-\xff]")


class Outgoing(Struct):
    """A request before authentication."""

    method: str
    """Method in capital letters."""
    url: str
    """URL without query."""
    query: list[Pair] = []
    """Parameters of the query, percent-encoded."""
    headers: dict[str, str] = {}
    """Headers, with names in lower case."""
    cookies: list[Pair] = []
    """Cookies, percent-encoded."""
    content: bytes = b""
    """Body."""
    parts: list[Part] = []
    """Fields of a multipart body, in place of `content`."""

    @property
    def full_url(self) -> str:
        """URL with query."""
        return with_query(self.url, self.query)


def with_query(url: str, pairs: list[Pair]) -> str:
    """Return a URL with a query of pairs that are percent-encoded."""
    separator = "&" if "?" in url else "?"
    return f"{url}{separator}{'&'.join(f'{name}={value}' for name, value in pairs)}" if pairs else url


def outgoing(operation: Operation, base: str, arguments: Mapping[str, JsonValue]) -> Outgoing:
    """Return the request of a call without its body.

    Args:
        operation: The operation.
        base: URL that its path is appended to.
        arguments: Validated arguments.

    Raises:
        InvalidArguments: A value cannot be sent; the text lets the model correct the call.
    """
    request = Outgoing(operation.method.upper(), base + _path(operation, arguments))
    for parameter in operation.parameters:
        value = arguments.get(parameter.argument)
        if parameter.place == "path" or value is None:
            continue
        value = _as_content(parameter, value)
        match parameter.place:
            case "query":
                request.query += query_pairs(parameter.name, value, parameter.how)
            case "header":
                request.headers[parameter.name.lower()] = _sendable(parameter, header_text(value, parameter.how))
            case "cookie":
                request.cookies += query_pairs(parameter.name, value, parameter.how)
    return request


def _path(operation: Operation, arguments: Mapping[str, JsonValue]) -> str:
    parameters = {each.name: each for each in operation.parameters if each.place == "path"}

    def value_of(found: re.Match[str]) -> str:
        parameter = parameters[found[1]]
        value = _as_content(parameter, arguments.get(parameter.argument))
        if value in (None, "", [], {}):
            raise InvalidArguments(f"{parameter.argument}: must not be empty, since it is part of the path")
        return path_text(parameter.name, value, parameter.how)

    # Documents of AWS tell operations apart by a fragment, which is not sent.
    path = _TEMPLATE.sub(value_of, operation.path.partition("#")[0])
    # Servers and proxies resolve these segments, which would lead to another operation.
    if any(unquote(segment) in (".", "..") for segment in path.split("/")):
        raise InvalidArguments("a part of the path must not be `.` or `..`")
    return path


def _as_content(parameter: Parameter, value: JsonValue) -> JsonValue:
    """Return the value of a parameter with a media type as text, others unchanged."""
    if not parameter.media_type or isinstance(value, str) or value is None:
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _sendable(parameter: Parameter, text: str) -> str:
    if _UNSENDABLE.search(text):
        raise InvalidArguments(f"{parameter.argument}: a header must be on one line, in characters of Latin-1")
    return text.strip()


async def add_body(
    request: Outgoing, operation: Operation, arguments: Mapping[str, JsonValue], files: Workspace, documents: Documents
) -> None:
    """Add the body of a call to its request.

    Raises:
        InvalidArguments: The body does not have the expected form.
        WorkspaceError: A file cannot be read.
    """
    body = operation.body
    if body is None or body.argument not in arguments:
        return
    value = arguments[body.argument]
    match body.kind:
        case "json":
            request.content = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
        case "text":
            request.content = text_of(value).encode(errors="replace")
        case "file":
            request.content = await _file_content(files, text_of(value))
        case "form":
            request.content = _form(body, _fields(body, value)).encode("ascii")
        case "multipart":
            request.parts = [part async for part in _multipart(body, _fields(body, value), files, documents)]
    if not request.parts:
        request.headers["content-type"] = body.media_type


async def _multipart(body: Body, fields: JsonObject, files: Workspace, documents: Documents) -> AsyncIterator[Part]:
    uploads = upload_fields(body, documents)
    for name, item in fields.items():
        async for part in _parts(body, name, item, files if name in uploads else None):
            yield part


def _fields(body: Body, value: JsonValue) -> JsonObject:
    if not isinstance(value, dict):
        raise InvalidArguments(f"{body.argument}: must be an object with the fields of the form")
    return {name: item for name, item in value.items() if item is not None}


def _form(body: Body, fields: JsonObject) -> str:
    pairs: list[Pair] = []
    for name, item in fields.items():
        encoding = body.encoding.get(name)
        is_styled = bool(encoding.mapping.keys() & {"style", "explode", "allowReserved"})
        if isinstance(item, dict) and not is_styled:
            # The default media type of an object.
            item = text_of(item)
        pairs += query_pairs(name, item, _style_of(encoding))
    return with_query("", pairs)[1:]


def _style_of(encoding: Node) -> Serialization:
    style, explode = encoding.text("style") or "form", encoding.get("explode").value
    known = style if style in ("form", "spaceDelimited", "pipeDelimited", "deepObject") else "form"
    return Serialization(known, explode if isinstance(explode, bool) else known == "form")


async def _parts(body: Body, name: str, value: JsonValue, files: Workspace | None) -> AsyncIterator[Part]:
    """Yield the parts of one field; the items of a list are parts of their own."""
    media_types = body.encoding.get(name).text("contentType")
    for item in value if isinstance(value, list) else [value]:
        if files is not None:
            path = text_of(item)
            yield name, (PurePath(path).name, await _file_content(files, path), _media_type_of(path, media_types))
        else:
            usual = "application/json" if isinstance(item, dict | list) else "text/plain"
            media_type = media_types.partition(",")[0].strip() or usual
            written = json.dumps(item) if kind_of(media_type) == "json" else text_of(item)
            yield name, (None, written.encode(errors="replace"), media_type)


async def _file_content(files: Workspace, path: str) -> bytes:
    content = await files.read_bytes(path, limit=MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise FileTooLarge(f"{path} is over {MAX_FILE_BYTES // 2**20} MB; it is not sent.")
    return content


def _media_type_of(path: str, wanted: str) -> str:
    """Return the media type of a file: the only one that the document names, or that of its suffix."""
    import mimetypes

    wanted = wanted.strip()
    if wanted and not set(wanted) & set(",*"):
        return wanted
    return mimetypes.guess_type(path)[0] or "application/octet-stream"


def upload_fields(body: Body, documents: Documents) -> frozenset[str]:
    """Return the fields of a multipart body whose values are paths of files."""
    properties = properties_of(documents, body.schema)
    return frozenset(name for name, each in properties.items() if is_upload(body, name, each, documents))


def is_upload(body: Body, name: str, schema: Node, documents: Documents) -> bool:
    """Return True if a field of a multipart body is a file, by its schema or its media type."""
    media_type = body.encoding.get(name).text("contentType").partition(",")[0]
    return has_binary(documents, schema) or (bool(media_type) and kind_of(media_type) == "file")


def uploads_in(operation: Operation, arguments: Mapping[str, JsonValue], documents: Documents) -> Iterator[str]:
    """Yield the paths of the files that a call sends."""
    body = operation.body
    value = arguments.get(body.argument) if body else None
    if body is None or value is None:
        return
    if body.kind == "file" and isinstance(value, str):
        yield value
    if body.kind == "multipart" and isinstance(value, dict):
        for name in upload_fields(body, documents):
            items = value.get(name)
            yield from (each for each in (items if isinstance(items, list) else [items]) if isinstance(each, str))
