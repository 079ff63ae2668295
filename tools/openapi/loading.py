"""OpenAPI documents as tools: loading, naming, and what was left out."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from harness.errors import ConfigError
from harness.function_tools.names import legal_tool_name
from harness.ports.tool import Tool
from http_client.addresses import shown_address
from tools.openapi.client import Client
from tools.openapi.configuration import OpenApi
from tools.openapi.documents import load_documents
from tools.openapi.guard import AddressGuard
from tools.openapi.operations import Operation, Skipped, Unsupported, read_operations
from tools.openapi.security import Redactor, Security
from tools.openapi.servers import base_url, check_document_encryption
from tools.openapi.tool import OperationTool, Service

FEW = 5
"""Number of tools up to which an API's tools are declared to the model without a search."""


class LoadedApi(Struct, frozen=True):
    """Tools of one API."""

    api: OpenApi
    """Configuration."""
    tools: tuple[Tool, ...] = ()
    """One tool for each operation that is offered."""
    skipped: tuple[Skipped, ...] = ()
    """Operations that are not offered although they were selected, with the reasons."""
    problems: tuple[str, ...] = ()
    """Problems with the API, for the user."""
    title: str = ""
    """Title in the document."""


class OpenApiTools:
    """Tools for the operations of APIs.

    ```python
    apis = OpenApiTools(OpenApi("petstore", document="petstore.yaml"))
    agent = Agent(model, await apis.load())
    ```

    Args:
        apis: The APIs.
    """

    def __init__(self, *apis: OpenApi) -> None:
        self.loaded: tuple[LoadedApi, ...] = ()
        """The APIs that were loaded, in the order in which they were passed."""
        self._apis = apis
        self._clients: list[Client] = []

    async def load(self) -> tuple[Tool, ...]:
        """Load all documents and return the tools; `loaded` says what was left out.

        Raises:
            ConfigError: A document cannot be loaded.
        """
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._load(api)) for api in self._apis]
        except* ConfigError as errors:
            raise errors.exceptions[0] from None
        self.loaded = tuple(task.result() for task in tasks)
        return self.tools

    async def load_available(self) -> tuple[Tool, ...]:
        """Return the tools of the APIs that can be loaded; for others, `loaded` contains the problem."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._load_or_explain(api)) for api in self._apis]
        self.loaded = tuple(task.result() for task in tasks)
        return self.tools

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools of all APIs that were loaded."""
        return tuple(tool for each in self.loaded for tool in each.tools)

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """The operations that are not offered although they were selected, with the reasons."""
        return tuple(skipped for each in self.loaded for skipped in each.skipped)

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        for client in self._clients:
            await client.close()

    async def _load_or_explain(self, api: OpenApi) -> LoadedApi:
        try:
            return await self._load(api)
        except ConfigError as error:
            return LoadedApi(api, problems=(str(error),))
        except Exception as error:  # noqa: BLE001 # Other APIs, and the start, must not fail with this one.
            problem = Redactor(api).text(f"cannot be loaded: {type(error).__name__}: {error}")
            return LoadedApi(api, problems=(problem,))

    async def _load(self, api: OpenApi) -> LoadedApi:
        try:
            return await self._load_now(api)
        except ConfigError as error:
            problem = Redactor(api).text(str(error))
        # Outside the except clause, whose exception may contain a secret.
        raise ConfigError(problem)

    async def _load_now(self, api: OpenApi) -> LoadedApi:
        check_document_encryption(api)
        is_remote = not api.text and api.document.startswith(("http://", "https://"))
        client = Client(api.timeout_s or 600.0, AddressGuard(is_active=is_remote and not api.server))
        self._clients.append(client)
        documents = await load_documents(api.document, api.text, client.fetch)
        security = Security(documents, api.credentials)
        service = Service(api, documents, security, Redactor(api, security), client)
        return await asyncio.to_thread(_loaded, service)


def _loaded(service: Service) -> LoadedApi:
    api, documents = service.api, service.documents
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", api.name):
        raise ConfigError(f"invalid name {api.name!r} of an API: use letters, digits, _ and -")
    secrets = (
        *api.headers.values(),
        *api.credentials.schemes.values(),
        api.credentials.bearer,
        api.credentials.api_key,
    )
    if any(not each.strip().isprintable() for each in secrets):
        raise ConfigError(f"a header or secret of the API {api.name} contains a line break or control character")
    skipped: list[Skipped] = []
    offered: list[tuple[Operation, str]] = []
    for read in read_operations(documents, api.filter):
        if isinstance(read, Skipped):
            skipped.append(read)
            continue
        try:
            offered.append((read, base_url(api, read.servers, documents.uri, service.client.guard)))
        except Unsupported as error:
            skipped.append(Skipped(f"{read.method.upper()} {read.path}", service.redactor.text(str(error))))
    names = tool_names(api.name, [operation for operation, _ in offered])
    tools = [
        OperationTool(name, operation, base, service) for name, (operation, base) in zip(names, offered, strict=True)
    ]
    for index, tool in enumerate(tools):
        tool.deferred = len(tools) > FEW if api.deferred is None else api.deferred
        if index < FEW:
            # The next request needs these schemas; building them would delay it.
            _ = tool.parameters
    return LoadedApi(
        api, tuple(tools), tuple(skipped), tuple(_problems(service, tools)), documents.root.get("info").text("title")
    )


def tool_names(api: str, operations: Sequence[Operation]) -> list[str]:
    """Return legal names that are all different and do not depend on the other operations' order.

    Args:
        api: Name of the API.
        operations: Its operations.
    """
    plain = [re.sub(r"[^A-Za-z0-9-]+", "_", each.id or each.key).strip("_") for each in operations]
    counts = Counter(plain)
    return [
        legal_tool_name("openapi", api, name if counts[name] == 1 and name else f"{each.id} {each.key}")
        for name, each in zip(plain, operations, strict=True)
    ]


def _problems(service: Service, tools: Sequence[OperationTool]) -> list[str]:
    """Return what the user should know about an API that was loaded."""
    missing_documents = service.documents.missing.items()
    problems = [service.redactor.text(f"{shown_address(uri)} {why}") for uri, why in missing_documents]
    missing = Counter(name for tool in tools for name in service.security.missing(tool.operation.security))
    if missing:
        names = (f"{name} ({count} operation{'s' if count > 1 else ''})" for name, count in missing.most_common(3))
        problems.append(f"no credentials are configured for {', '.join(names)}")
    if not tools:
        problems.append("no operations are offered; check the document and the filters")
    return problems
