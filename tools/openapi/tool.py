"""Tool for one operation of an API."""

from __future__ import annotations

import asyncio
import json
from functools import cached_property
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from msgspec import Struct

from harness.errors import InvalidArguments, ProviderError
from harness.function_tools.schema import Checker, validation_message
from harness.function_tools.typed_arguments import unwrap_strings
from harness.messages import JsonObject, JsonValue
from harness.ports.tool import Tool, ToolContext, ToolOutput
from harness.risk import PathAccess, Risk
from harness.terminal_text import escape_controls
from harness.views import TextView, View
from tools.openapi.client import Client, Message
from tools.openapi.configuration import OpenApi
from tools.openapi.documents import Documents
from tools.openapi.operations import READING, Body, Operation, Parameter
from tools.openapi.request import Outgoing, add_body, outgoing, upload_fields, uploads_in, with_query
from tools.openapi.result import output_of
from tools.openapi.schemas import FILE_HINT, SchemaWriter, has_binary, properties_of
from tools.openapi.security import Proof, Redactor, Security
from tools.openapi.styles import encoded

MAX_DESCRIPTION_CHARS = 1_000
MAX_LABEL_CHARS = 80
_ACCEPT = "application/json, text/*;q=0.8, */*;q=0.5"


class Service(Struct, frozen=True):
    """Parts that the operations of an API share."""

    api: OpenApi
    """Configuration."""
    documents: Documents
    """Its documents."""
    security: Security
    """Authentication."""
    redactor: Redactor
    """Removal of secrets from results."""
    client: Client
    """HTTP."""


class OperationTool:
    """Call of one operation. Its schema is built when it is first needed."""

    def __init__(self, name: str, operation: Operation, base: str, service: Service) -> None:
        self.name = name
        self.label = _label(operation, service.api)
        self.mutates: bool | Literal["by_call"] = operation.method not in READING
        self.deferred = False
        """True if the model has to search for the tool."""
        self.operation = operation
        self._base = base
        self._service = service

    @property
    def description(self) -> str:
        return self._description

    @cached_property
    def _description(self) -> str:
        operation = self.operation
        texts = [operation.summary, " ".join(operation.description.split())]
        texts = [text for text in dict.fromkeys(texts) if text]
        deprecated = "Deprecated. " if operation.is_deprecated else ""
        text = f"{deprecated}{'. '.join(text.rstrip('.') for text in texts)}".strip()
        text = text if len(text) <= MAX_DESCRIPTION_CHARS else text[: MAX_DESCRIPTION_CHARS - 1] + "…"
        request = f"{operation.method.upper()} {operation.path}"
        return escape_controls(
            f"{text}. [{request}]" if text and text[-1] not in ".…" else f"{text} [{request}]".strip()
        )

    @property
    def parameters(self) -> JsonObject:
        return self._schema

    @cached_property
    def _schema(self) -> JsonObject:
        operation, documents = self.operation, self._service.documents
        writer = SchemaWriter(documents, is_legacy=documents.root.text("openapi").startswith("3.0"))
        properties: JsonObject = {each.argument: _parameter_schema(each, writer) for each in operation.parameters}
        required = [
            each.argument
            for each in operation.parameters
            if each.is_required and "default" not in _properties(properties[each.argument])
        ]
        if body := operation.body:
            properties[body.argument] = _body_schema(body, writer, documents)
            required += [body.argument] if body.is_required else []
        schema: JsonObject = {"type": "object", "properties": properties, "additionalProperties": False}
        if required:
            schema["required"] = [*required]
        return writer.complete(schema)

    def validate(self, arguments: JsonObject) -> JsonObject:
        # Models send null for what they leave out.
        required = self.parameters.get("required")
        needed = required if isinstance(required, list) else []
        given = {name: value for name, value in arguments.items() if value is not None or name in needed}
        given = unwrap_strings(self.parameters, given)
        if problems := self._checker.problems(given):
            raise InvalidArguments(validation_message(self.name, problems))
        valid = self._with_defaults(given)
        try:
            outgoing(self.operation, self._base, valid)
        except InvalidArguments as error:
            raise InvalidArguments(validation_message(self.name, [str(error)])) from error
        return valid

    @cached_property
    def _checker(self) -> Checker:
        return Checker(self.name, self.parameters)

    def _with_defaults(self, arguments: JsonObject) -> JsonObject:
        """Add the defaults of required parameters; those of optional ones are the service's to apply."""
        properties = _properties(self.parameters.get("properties"))
        needed = [each.argument for each in self.operation.parameters if each.is_required]
        defaults = {name: _properties(properties.get(name)).get("default") for name in needed if name not in arguments}
        return arguments | {name: value for name, value in defaults.items() if value is not None}

    def summary(self, arguments: JsonObject) -> str:
        """Return method and path, with the values of path parameters that are known."""
        path = self.operation.path
        for parameter in self.operation.parameters:
            value = arguments.get(parameter.argument)
            if parameter.place == "path" and isinstance(value, str | int | float):
                path = path.replace(f"{{{parameter.name}}}", encoded(str(value)))
        return f"{self.operation.method.upper()} {path}"

    def risk(self, arguments: JsonObject) -> Risk:
        subject = self.summary(arguments)
        files = tuple(
            PathAccess(path, "read") for path in uploads_in(self.operation, arguments, self._service.documents)
        )
        host = urlsplit(self._base).hostname
        reason = (
            f"it reads from {host}" if not self.mutates else f"it sends a {self.operation.method.upper()} to {host}"
        )
        return Risk(
            "execute" if self.mutates else "read", reason=reason, subject=subject, access="shared", accesses=files
        )

    async def preview(self, arguments: JsonObject, context: ToolContext) -> View | ToolOutput | None:
        request = outgoing(self.operation, self._base, arguments)
        shown = [f"{request.method} {request.full_url}"]
        shown += [f"{name}: {value}" for name, value in request.headers.items()]
        body = self.operation.body
        if body is not None and body.argument in arguments:
            shown += ["", json.dumps(arguments[body.argument], ensure_ascii=False, indent=2)]
        return TextView(escape_controls(self._service.redactor.text("\n".join(shown))), "http")

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        service = self._service
        try:
            request = outgoing(self.operation, self._base, arguments)
            await add_body(request, self.operation, arguments, context.workspace, service.documents)
        except InvalidArguments as error:
            return ToolOutput.failure(validation_message(self.name, [str(error)]))
        call = f"{request.method} {request.full_url}"
        try:
            async with asyncio.timeout(service.api.timeout_s or None):
                reply = await service.client.send(self._message(request), service.api.max_bytes)
        except TimeoutError:
            return self._failure(call, f"no response within {service.api.timeout_s:g} s")
        except ProviderError as error:
            return self._failure(call, str(error))
        missing = service.security.missing(self.operation.security) if reply.status in (401, 403) else ()
        note = f"No credentials are configured for {' or '.join(missing)}." if missing else ""
        return await output_of(call, reply, context, service.redactor, note)

    def _failure(self, call: str, why: str) -> ToolOutput:
        return ToolOutput.failure(self._service.redactor.text(f"{call}\n{why}"))

    def _message(self, request: Outgoing) -> Message:
        """Return the request with the user's headers and secrets."""
        headers = {"accept": _ACCEPT} | request.headers
        query, cookies = list(request.query), list(request.cookies)
        for proof in self._service.security.proofs(self.operation.security):
            _add_proof(proof, headers, query, cookies)
        headers |= {name.lower(): value for name, value in self._service.api.headers.items()}
        if cookies:
            written = [headers[name] for name in ("cookie",) if name in headers]
            headers["cookie"] = "; ".join((*written, *(f"{name}={value}" for name, value in cookies)))
        if request.parts:
            # httpx adds the one with the boundary.
            headers.pop("content-type", None)
        url = with_query(request.url, query)
        return Message(request.method, url, headers, request.content, tuple(request.parts))


def _add_proof(
    proof: Proof, headers: dict[str, str], query: list[tuple[str, str]], cookies: list[tuple[str, str]]
) -> None:
    match proof.carrier:
        case "header":
            headers[proof.name.lower()] = proof.value
        case "query":
            query.append((encoded(proof.name), encoded(proof.value)))
        case "cookie":
            cookies.append((encoded(proof.name), encoded(proof.value)))


def _label(operation: Operation, api: OpenApi) -> str:
    text = " ".join(escape_controls(f"{api.name}: {operation.summary or operation.id or operation.key}").split())
    return text if len(text) <= MAX_LABEL_CHARS else text[: MAX_LABEL_CHARS - 1] + "…"


def _properties(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _parameter_schema(parameter: Parameter, writer: SchemaWriter) -> JsonObject:
    schema = writer.convert(parameter.schema)
    description = " ".join(parameter.description.split())[:300]
    return {**schema, "description": description} if description else schema


def _body_schema(body: Body, writer: SchemaWriter, documents: Documents) -> JsonObject:
    """Return the schema of the `body` argument.

    The body is one argument, in place of its properties: it may be a list or one of several forms, its names cannot
    clash with those of parameters, and models know its shape from the documentation of public APIs.
    """
    if body.kind in ("file", "text"):
        hint = FILE_HINT if body.kind == "file" else f"Text of type {body.media_type}."
        return {"type": "string", "description": f"{hint} {' '.join(body.description.split())[:300]}".strip()}
    if body.kind != "multipart":
        schema = writer.convert(body.schema)
        if body.kind == "form" and not schema:
            schema["type"] = "object"
        description = " ".join(body.description.split())[:300]
        return {**schema, "description": description} if description and "description" not in schema else schema
    schema = writer.convert(body.schema, with_files=True)
    properties, declared = {**_properties(schema.get("properties"))}, properties_of(documents, body.schema)
    for name in upload_fields(body, documents) & properties.keys():
        if not has_binary(documents, declared[name]):
            # Only the encoding of the field says that it is a file.
            properties[name] = {"type": "string", "description": FILE_HINT}
    if properties:
        schema["properties"] = properties
    return schema


if TYPE_CHECKING:
    _: type[Tool] = OperationTool
