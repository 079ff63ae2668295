"""OpenAPI documents, with the further documents that they refer to.

References are resolved here and not by the `referencing` library, which resolves within JSON Schemas only: path items,
parameters and bodies are references too. Files are read below the folder of the document, URLs from its origin, and
nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import cast
from urllib.parse import unquote, urldefrag, urljoin, urlsplit
from urllib.request import url2pathname

import msgspec
from msgspec import Struct

from harness.errors import ConfigError
from harness.messages import JsonObject, JsonValue
from http_client.addresses import shown_address
from tools.yaml_reader import YamlError, parse_yaml

MAX_BYTES = 64 * 1024 * 1024
"""Maximum size of a document with all that it refers to, in bytes."""
PART_BYTES = 64 * 1024
"""Size of JSON that is decoded at once, in bytes."""
MAX_DOCUMENTS = 200
REFERENCES_TIMEOUT_S = 60.0
"""Time for all documents that a document refers to, in seconds."""
MAX_HOPS = 20
"""Maximum length of a chain of references."""

Fetch = Callable[[str, int], Awaitable[bytes]]
"""Returns the content at a URL; the number is the maximum size in bytes."""


class Unresolved(Exception):
    """A reference leads nowhere; the text says why."""


class Node(Struct, frozen=True):
    """A value in a document."""

    value: JsonValue
    """The value."""
    base: str
    """URI of its document."""
    key: str = ""
    """URI with the pointer that a reference used; empty if it was not referred to."""

    def get(self, *path: str) -> Node:
        """Return a value inside this one; None as its value if there is none."""
        value = self.value
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return Node(value, self.base)

    @property
    def mapping(self) -> JsonObject:
        """The value, if it is an object, else an empty one."""
        return self.value if isinstance(self.value, dict) else {}

    def text(self, name: str) -> str:
        """Return a text in this object; empty if there is none."""
        value = self.mapping.get(name)
        return value if isinstance(value, str) else ""

    def each(self) -> Iterator[tuple[str, Node]]:
        """Yield the names and values of an object."""
        for name, value in self.mapping.items():
            yield name, Node(value, self.base)

    def items(self) -> Iterator[Node]:
        """Yield the items of a list."""
        for value in self.value if isinstance(self.value, list) else ():
            yield Node(value, self.base)


class Documents:
    """Parsed documents by URI, and the reasons why others are missing."""

    def __init__(self, uri: str, root: JsonValue) -> None:
        self.uri = uri
        self.missing: dict[str, str] = {}
        """Reasons why documents that are referred to were not loaded, by URI."""
        self._values: dict[str, JsonValue] = {uri: root}

    @property
    def root(self) -> Node:
        """The document itself."""
        return Node(self._values[self.uri], self.uri)

    def add(self, uri: str, value: JsonValue) -> None:
        self._values[uri] = value

    def follow(self, node: Node) -> Node:
        """Return the value that a reference leads to, or the value itself if it is none.

        Raises:
            Unresolved: The reference leads nowhere, or in a circle.
        """
        start = node.text("$ref")
        for _ in range(MAX_HOPS):
            reference = node.text("$ref")
            if not reference:
                return node
            node = self.target(reference, node.base)
        raise Unresolved(f"the reference {start} leads in a circle")

    def target(self, reference: str, base: str) -> Node:
        """Return the value that a reference names.

        Raises:
            Unresolved: There is no such value.
        """
        uri, pointer = _split_reference(base, reference)
        if uri not in self._values:
            raise Unresolved(f"{reference} {self.missing.get(uri, 'is not loaded')}")
        if pointer and not pointer.startswith("/"):
            raise Unresolved(f"{reference} is an anchor, which is not supported")
        value = self._values[uri]
        for part in unquote(pointer).split("/")[1:]:
            value = _child(value, part.replace("~1", "/").replace("~0", "~"), reference)
        return Node(value, uri, f"{uri}#{pointer}")


def _split_reference(base: str, reference: str) -> tuple[str, str]:
    """Return the URI of a document and the pointer into it.

    Raises:
        Unresolved: The reference is not a valid URI.
    """
    try:
        uri, pointer = urldefrag(urljoin(base, reference))
    except ValueError as error:
        raise Unresolved(f"{reference} is not a valid reference: {error}") from error
    return uri, pointer


def _child(value: JsonValue, name: str, reference: str) -> JsonValue:
    if isinstance(value, dict) and name in value:
        return value[name]
    # Python refuses to convert numbers of thousands of digits.
    if isinstance(value, list) and name.isdecimal() and len(name) < 10 and int(name) < len(value):
        return value[int(name)]
    raise Unresolved(f"{reference} names something that does not exist")


async def load_documents(address: str, text: str, fetch: Fetch) -> Documents:
    """Load a document and all that it refers to.

    Args:
        address: Path or URL of the document; empty if `text` is given.
        text: The document itself.
        fetch: Fetches a URL.

    Raises:
        ConfigError: The document cannot be read or is not an OpenAPI document of version 3.0 or 3.1.
    """
    reader = _Reader(fetch)
    uri = _uri_of(address) if not text else ""
    shown = shown_address(address) or "the document"
    data = text.encode("utf-8", "surrogatepass") if text else await reader.read(uri, shown)
    value = await asyncio.to_thread(parse_document, data, shown)
    check_version(value, shown)
    documents = Documents(uri, value)
    await _add_references(documents, reader)
    return documents


async def _add_references(documents: Documents, reader: _Reader) -> None:
    """Load the documents that a document refers to, in `REFERENCES_TIMEOUT_S` together."""
    pending = await asyncio.to_thread(_external_references, documents.root.value, documents.uri)
    end = asyncio.get_running_loop().time() + REFERENCES_TIMEOUT_S
    while pending:
        other = pending.pop()
        if other in documents.missing or documents.uri == other or reader.has_read(other):
            continue
        try:
            async with asyncio.timeout_at(end):
                found = await reader.read_other(other, documents.uri)
                parsed = await asyncio.to_thread(parse_document, found, shown_address(other))
        except ConfigError as error:
            documents.missing[other] = f"is not loaded: {error}"
            continue
        except TimeoutError:
            limit = f"all references together have {REFERENCES_TIMEOUT_S:g} s"
            documents.missing[other] = f"is not loaded: its server did not send it in time; {limit}"
            continue
        documents.add(other, parsed)
        pending |= await asyncio.to_thread(_external_references, parsed, other)


class _Reader:
    """Reader of files and URLs, limited in number and total size."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._room = MAX_BYTES
        self._read: set[str] = set()

    def has_read(self, uri: str) -> bool:
        return uri in self._read

    async def read(self, uri: str, shown: str) -> bytes:
        self._read.add(uri)
        if uri.startswith("file:"):
            data = await asyncio.to_thread(_file_content, path_of(uri), self._room, shown)
        else:
            data = await self._fetch(uri, self._room + 1)
        self._room -= len(data)
        if self._room < 0:
            raise ConfigError(
                f"{shown}: larger than {MAX_BYTES // 2**20} MB; download it and remove what is not needed"
            )
        return data

    async def read_other(self, uri: str, root: str) -> bytes:
        """Return a document that another one refers to."""
        if len(self._read) >= MAX_DOCUMENTS:
            raise ConfigError(f"more than {MAX_DOCUMENTS} documents")
        if why := refusal(uri, root):
            raise ConfigError(why)
        return await self.read(uri, shown_address(uri))


def refusal(uri: str, root: str) -> str:
    """Return the reason why a document may not be loaded by a reference; empty if it may.

    Args:
        uri: URI of the document.
        root: URI of the document that was configured.
    """
    if uri.startswith("file:") and root.startswith("file:"):
        folder = path_of(root).resolve().parent
        try:
            is_inside = path_of(uri).resolve().is_relative_to(folder)
        except (ValueError, OSError, RuntimeError) as error:
            return f"its path is not valid: {error}"
        return "" if is_inside else f"it is outside the folder of the document, {folder}"
    if uri.startswith(("http://", "https://")) and origin_of(uri) == origin_of(root):
        return ""
    if not root:
        return "a document given as text has no address that references could be relative to"
    return "it has another origin than the document"


def origin_of(url: str) -> tuple[str, str, int]:
    """Return scheme, host and port of a URL."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = -1
    return parts.scheme, (parts.hostname or "").lower(), port or {"http": 80, "https": 443}.get(parts.scheme, 0)


def path_of(uri: str) -> Path:
    """Return the path that a file URI names; a host name in it is ignored."""
    return Path(url2pathname(urlsplit(uri).path))


def _uri_of(address: str) -> str:
    if address.startswith(("http://", "https://")):
        try:
            return urldefrag(address).url
        except ValueError as error:
            # Without the URL, which cannot be parsed to remove secrets from it.
            raise ConfigError(f"the URL of the document is not valid: {error}") from error
    path = address.removeprefix("file://")
    if not path:
        raise ConfigError("no document: set its path or URL")
    return Path(path).expanduser().absolute().as_uri()


def _file_content(path: Path, room: int, shown: str) -> bytes:
    try:
        if not path.is_file():
            raise ConfigError(f"{shown}: there is no such file")
        with path.open("rb") as file:
            return file.read(room + 1)
    except OSError as error:
        raise ConfigError(f"{shown}: {(error.strerror or str(error)).lower()}") from error


def parse_document(data: bytes, shown: str) -> JsonValue:
    """Parse JSON or YAML.

    Raises:
        ConfigError: The data is neither; the text names the place.
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    problem = ""
    if data.lstrip()[:1] in (b"{", b"["):
        try:
            return _decoded(data, 4)
        except RecursionError as error:
            raise ConfigError(f"{shown}: nested too deeply") from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            problem = str(error)
    try:
        return parse_yaml(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{shown}: is not UTF-8 text (byte {error.start})") from error
    except YamlError as error:
        kind, why = ("JSON", problem) if problem else ("YAML", str(error))
        raise ConfigError(f"{shown}: is not valid {kind}: {why}") from error


def _decoded(data: bytes, levels: int) -> JsonValue:
    """Decode JSON; large objects part by part, since decoding holds the interpreter lock and blocks other threads."""
    if len(data) > PART_BYTES and levels:
        try:
            parts = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        except msgspec.ValidationError:
            pass
        else:
            return {name: _decoded(bytes(part), levels - 1) for name, part in parts.items()}
    return cast(JsonValue, msgspec.json.decode(data))


def check_version(value: JsonValue, shown: str) -> None:
    """Check that a value is an OpenAPI document of a supported version.

    Raises:
        ConfigError: It is not.
    """
    root = value if isinstance(value, dict) else {}
    if "swagger" in root:
        raise ConfigError(
            f"{shown}: Swagger {root['swagger']} is not supported; convert it to OpenAPI 3 with "
            "`npx swagger2openapi` or https://converter.swagger.io"
        )
    version = str(root.get("openapi", ""))
    if not version.startswith(("3.0", "3.1")):
        named = f"OpenAPI {version} is not supported" if version else "this is not an OpenAPI document"
        raise ConfigError(f"{shown}: {named}; versions 3.0 and 3.1 are")


def _external_references(value: JsonValue, base: str) -> set[str]:
    """Return the URIs of other documents that a value refers to."""
    found: set[str] = set()
    pending: list[JsonValue] = [value]
    seen: set[int] = set()
    while pending:
        match pending.pop():
            case dict() as node if id(node) not in seen:
                seen.add(id(node))
                reference = node.get("$ref")
                if isinstance(reference, str) and not reference.startswith("#"):
                    # One that is not valid is explained where it is followed.
                    with suppress(Unresolved):
                        found.add(_split_reference(base, reference)[0])
                pending += (each for each in node.values() if isinstance(each, dict | list))
            case list() as node if id(node) not in seen:
                seen.add(id(node))
                pending += (each for each in node if isinstance(each, dict | list))
            case _:
                pass
    return found - {base}
