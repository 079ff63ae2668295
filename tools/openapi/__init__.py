"""OpenAPI documents as tools: each operation of an API becomes one."""

from __future__ import annotations

from tools.openapi.configuration import Credentials, OpenApi, OperationFilter
from tools.openapi.loading import LoadedApi, OpenApiTools
from tools.openapi.operations import Skipped

__all__ = ["Credentials", "LoadedApi", "OpenApi", "OpenApiTools", "OperationFilter", "Skipped"]
