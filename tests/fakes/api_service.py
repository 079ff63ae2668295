"""FastAPI service of the tests: its own document drives the tools, and each answer repeats what arrived."""

from __future__ import annotations

import threading
import time
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

import uvicorn
from fastapi import Body, Cookie, Depends, FastAPI, File, Form, Header, Path, Query, Request, Security, UploadFile
from fastapi.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from fastapi.security import APIKeyCookie, APIKeyHeader, APIKeyQuery, HTTPBasic, HTTPBasicCredentials, HTTPBearer
from pydantic import BaseModel, Field

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"

BEARER, BASIC = HTTPBearer(), HTTPBasic()
KEYS = {
    "header": APIKeyHeader(name="X-Key", scheme_name="header"),
    "query": APIKeyQuery(name="key", scheme_name="query"),
    "cookie": APIKeyCookie(name="key", scheme_name="cookie"),
}


class Color(StrEnum):
    RED = "red"
    BLUE = "blue"


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    breed: str | None = None


class Item(BaseModel):
    id: int = Field(default=0, json_schema_extra={"readOnly": True})
    name: str
    color: Color = Color.RED
    parent: Item | None = None
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None


def _styled(name: str, place: str, style: str, explode: bool, **extra: Any) -> dict[str, Any]:
    schema = {"type": extra.pop("type", ["string", "array", "object"])}
    return {"name": name, "in": place, "style": style, "explode": explode, "schema": schema, "required": True} | extra


STYLED = {
    f"{style}_{'exploded' if explode else 'joined'}": _styled("value", place, style, explode)
    for place, styles in {
        "path": ("simple", "label", "matrix"),
        "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    }.items()
    for style in styles
    for explode in (False, True)
}


def create_app() -> FastAPI:
    app = FastAPI(title="Test service", version="1", separate_input_output_schemas=False)
    app.state.busy = 0
    _add_parameters(app)
    _add_bodies(app)
    _add_security(app)
    _add_answers(app)
    return app


def _add_parameters(app: FastAPI) -> None:
    @app.get("/items/{id}", operation_id="read_item", tags=["items"], summary="Read an item")
    async def read_item(
        id: Annotated[int, Path(description="Number of the item")],
        tag: Annotated[list[str], Query()] = [],  # noqa: B006
        x_trace: Annotated[str, Header()] = "",
        theme: Annotated[str, Cookie()] = "",
        limit: Annotated[int, Query(ge=1, le=100)] = 10,
    ) -> dict[str, Any]:
        return {"id": id, "tag": tag, "x_trace": x_trace, "theme": theme, "limit": limit}

    @app.get("/clash/{id}", operation_id="clash")
    async def clash(id: str, body: str = "", other: Annotated[str, Query(alias="id")] = "") -> dict[str, Any]:
        return {"path": id, "query": other, "body": body}

    async def raw(request: Request) -> dict[str, Any]:
        return {
            "path": request.scope["raw_path"].decode(),
            "query": request.scope["query_string"].decode(),
            "cookie": request.headers.get("cookie"),
            "list": request.headers.get("x-list"),
        }

    for name, parameter in STYLED.items():
        in_path = parameter["in"] == "path"
        path = f"/styles/{name}/{{value}}" if in_path else f"/styles/{name}"
        # The path of Starlette; the document describes its parameter with the style.
        app.get(path, operation_id=name, openapi_extra={"parameters": [parameter]})(raw)
    extra = {
        "parameters": [
            _styled("filter", "query", "form", True, content={"application/json": {"schema": {"type": "object"}}}),
            _styled("free", "query", "form", True, type="string", allowReserved=True),
            _styled("X-List", "header", "simple", False, type="array"),
            _styled("pages", "cookie", "form", False, type="array"),
        ]
    }
    app.get("/others", operation_id="others", openapi_extra=extra)(raw)


def _add_bodies(app: FastAPI) -> None:
    @app.post("/items", operation_id="create_item", tags=["items"], status_code=201)
    async def create_item(item: Item, response: Response) -> Item:
        response.headers["Location"] = "/items/7"
        return item.model_copy(update={"id": 7})

    @app.post("/form", operation_id="send_form")
    async def send_form(name: Annotated[str, Form()], tags: Annotated[list[str], Form()]) -> dict[str, Any]:
        return {"name": name, "tags": tags}

    @app.post("/upload", operation_id="upload")
    async def upload(
        one: Annotated[UploadFile, File()],
        note: Annotated[str, Form()],
        more: Annotated[list[UploadFile] | None, File()] = None,
    ) -> dict[str, Any]:
        files = [one, *(more or [])]
        return {
            "note": note,
            "files": [[each.filename, each.content_type, len(await each.read())] for each in files],
        }

    @app.post("/text", operation_id="send_text")
    async def send_text(text: Annotated[str, Body(media_type="text/plain")], request: Request) -> dict[str, Any]:
        return {"text": text, "type": request.headers["content-type"]}

    content = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}

    @app.put("/raw", operation_id="send_raw", openapi_extra={"requestBody": {"required": True, "content": content}})
    async def send_raw(request: Request) -> dict[str, Any]:
        return {"bytes": len(await request.body()), "type": request.headers["content-type"]}

    @app.delete("/items/{id}", operation_id="delete_item", tags=["items"], status_code=204)
    async def delete_item(id: int) -> None:
        del id


def _add_security(app: FastAPI) -> None:
    @app.get("/auth/bearer", operation_id="auth_bearer", dependencies=[Depends(BEARER)])
    async def with_bearer(request: Request) -> dict[str, Any]:
        # A service that repeats secrets.
        return {"headers": dict(request.headers)}

    @app.get("/auth/basic", operation_id="auth_basic")
    async def with_basic(given: Annotated[HTTPBasicCredentials, Depends(BASIC)]) -> dict[str, Any]:
        return {"user": given.username, "length": len(given.password)}

    async def with_key(request: Request) -> dict[str, Any]:
        return {"length": len(request.state.key), "url": str(request.url), "cookies": request.cookies}

    for place, scheme in KEYS.items():

        async def keep(request: Request, key: str = Security(scheme)) -> None:
            request.state.key = key

        app.get(f"/auth/{place}", operation_id=f"auth_{place}", dependencies=[Depends(keep)])(with_key)


def _add_answers(app: FastAPI) -> None:
    @app.get("/image", operation_id="image")
    async def image() -> Response:
        return Response(PNG, media_type="image/png")

    @app.get("/long", operation_id="long")
    async def long(count: int = 1000) -> PlainTextResponse:
        return PlainTextResponse("0123456789" * count)

    @app.get("/slow", operation_id="slow")
    def slow() -> None:
        time.sleep(1)

    @app.get("/busy", operation_id="busy")
    async def busy() -> Response:
        app.state.busy += 1
        if app.state.busy == 1:
            return JSONResponse({"error": "busy"}, 503, {"Retry-After": "0"})
        return JSONResponse({"attempts": app.state.busy})

    @app.get("/redirect", operation_id="redirect")
    async def redirect(to: str) -> Response:
        return RedirectResponse(to)


class ApiService:
    """Context manager that serves an app on a local port."""

    def __init__(self, app: FastAPI | None = None) -> None:
        config = uvicorn.Config(app or create_app(), port=0, log_level="error", lifespan="off", ws="none")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self.url = ""

    def __enter__(self) -> Self:
        self._thread.start()
        while not self._server.started:
            time.sleep(0.005)
        self.url = f"http://127.0.0.1:{self._server.servers[0].sockets[0].getsockname()[1]}"
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join()
