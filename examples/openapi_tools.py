"""An HTTP API as tools: each operation of its OpenAPI document becomes one."""

from __future__ import annotations

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from which_model import which_model

from harness import Agent
from providers.demo import Call, Reply
from tools.openapi import Credentials, OpenApi, OpenApiTools, OperationFilter

DOCUMENT = """
openapi: 3.1.0
info: {title: Shop}
components: {securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}}
security: [key: []]
paths:
  /articles/{name}:
    parameters: [{name: name, in: path, required: true, schema: {type: string}}]
    get: {operationId: stock, summary: Return the stock of an article}
    delete: {operationId: remove, summary: Remove an article}
"""
READING = OperationFilter(methods=("get",))


class Shop(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.headers["X-Key"] == "s3cret" else 401)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps({"article": self.path.rpartition("/")[2], "stock": 12}).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


async def main() -> None:
    server = HTTPServer(("127.0.0.1", 0), Shop)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"

    # Or document="https://api.example.com/openapi.json"; the server is then the one that the document names.
    api = OpenApi("shop", text=DOCUMENT, server=url, credentials=Credentials(api_key="s3cret"), filter=READING)
    apis = OpenApiTools(api)
    model = which_model(Reply((Call("openapi__shop__stock", {"name": "tea"}),)), "There are 12 boxes of tea.")
    agent = Agent(model, await apis.load(), "You work in a shop.")
    print([tool.name for tool in apis.tools])
    print((await agent.prompt("Is there tea?")).text)
    await apis.close()
    server.shutdown()
    server.server_close()


if __name__ == "__main__":
    asyncio.run(main())
