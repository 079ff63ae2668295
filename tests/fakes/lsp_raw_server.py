"""Language server in plain Python that starts fast and may break every rule of the protocol.

The argument is JSON: `mode` says what it does after (or instead of) the handshake, `pid` is a file for its process id.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

SCRIPT: dict[str, Any] = json.loads(sys.argv[1])
MODE = SCRIPT.get("mode", "")
CAPABILITIES = {
    "hoverProvider": True,
    "definitionProvider": True,
    "renameProvider": True,
    "workspaceSymbolProvider": True,
    **SCRIPT.get("capabilities", {}),
}


def write(data: bytes) -> None:
    os.write(1, data) if len(data) < 65536 else sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def send(message: Any) -> None:
    body = json.dumps(message).encode()
    write(b"Content-Length: %d\r\n\r\n" % len(body) + body)


def receive() -> dict[str, Any]:
    size = 0
    while (line := sys.stdin.buffer.readline()) not in (b"\r\n", b""):
        if line.lower().startswith(b"content-length:"):
            size = int(line.split(b":")[1])
    if not size:
        sys.exit(0)
    return json.loads(sys.stdin.buffer.read(size))


def answer(number: Any, result: Any) -> None:
    send({"jsonrpc": "2.0", "id": number, "result": result})


def before_handshake() -> None:
    outputs = {
        "garbage": b"Welcome to the server!\r\n\r\nHave fun.",
        "huge": b"Content-Length: 99999999999\r\n\r\n{",
        "not json": b"Content-Length: 3\r\n\r\n{{{",
        "deep": b"Content-Length: 200000\r\n\r\n" + b"[" * 200_000,
    }
    if MODE == "die":
        sys.exit("no license found\x1b[31m")
    while MODE == "no end":
        write(b"x" * 65000)
    if MODE in outputs:
        write(outputs[MODE])
    if MODE == "hang" or MODE in outputs:
        time.sleep(600)


def after_handshake() -> None:
    match MODE:
        case "exit":
            # These would make an implementation that serves both sides end itself.
            send({"jsonrpc": "2.0", "method": "exit"})
            send({"jsonrpc": "2.0", "id": 1, "method": "shutdown"})
        case "flood":
            uri = Path(__file__).as_uri()
            send_many(
                {
                    "jsonrpc": "2.0",
                    "method": "textDocument/publishDiagnostics",
                    "params": {"uri": uri, "diagnostics": []},
                }
            )
        case "ask":
            send(
                {
                    "jsonrpc": "2.0",
                    "id": "cinch-1",
                    "method": "workspace/configuration",
                    "params": {"items": [{"section": "a.b"}, {}]},
                }
            )
            send({"jsonrpc": "2.0", "id": 7, "method": "made/up", "params": {}})
            edit = {"changes": {(Path.cwd() / "a.txt").as_uri(): []}}
            send({"jsonrpc": "2.0", "id": 8, "method": "workspace/applyEdit", "params": {"edit": edit}})
        case _:
            pass


def send_many(message: Any) -> None:
    body = json.dumps(message).encode()
    one = b"Content-Length: %d\r\n\r\n" % len(body) + body
    for _ in range(SCRIPT.get("count", 3000)):
        write(one)


def on_hover(number: Any, position: Any) -> None:
    match MODE:
        case "slow":
            time.sleep(600)
        case "crash":
            sys.exit(3)
        case "crash once" if not Path(SCRIPT["marker"]).exists():
            Path(SCRIPT["marker"]).touch()
            sys.exit(3)
        case "invalid":
            answer(number, {"contents": [{"no": 1}]})
        case "busy" if not SCRIPT.pop("was busy", False):
            SCRIPT["was busy"] = True
            send({"jsonrpc": "2.0", "id": number, "error": {"code": -32801, "message": "content modified"}})
        case "error":
            send({"jsonrpc": "2.0", "id": number, "error": {"code": -32603, "message": "no\x1b[31m idea"}})
        case _:
            answer(number, {"contents": f"at {json.dumps(position)}"})


def on_request(number: Any, method: str, params: Any) -> None:
    if method == "shutdown" and MODE == "stubborn":
        time.sleep(600)
    if method == "textDocument/hover":
        on_hover(number, params["position"])
    else:
        answer(number, SCRIPT.get("answers", {}).get(method))


def lint(uri: str, version: int, text: str) -> None:
    """Publish an error for each line that contains "bad", and a warning for each that contains "odd".

    "lint changes" publishes no versions, and nothing if nothing has changed. "lint in steps" first publishes that there
    are none, as pyright does.
    """
    diagnostics: list[Any] = []
    for number, line in enumerate(text.split("\n")):
        for severity, word in ((1, "bad"), (2, "odd")):
            if word in line:
                span = {"start": {"line": number, "character": 0}, "end": {"line": number, "character": 1}}
                diagnostics.append({"range": span, "severity": severity, "message": f"{line} is {word}"})
    publish = {"jsonrpc": "2.0", "method": "textDocument/publishDiagnostics"}
    if MODE == "lint changes":
        if SCRIPT.get(uri) != diagnostics:
            SCRIPT[uri] = diagnostics
            send({**publish, "params": {"uri": uri, "diagnostics": diagnostics}})
        return
    # The diagnostics of an earlier version may arrive late.
    send({**publish, "params": {"uri": uri, "version": version - 1, "diagnostics": []}})
    if MODE == "lint in steps":
        send({**publish, "params": {"uri": uri, "version": version, "diagnostics": []}})
        send({"jsonrpc": "2.0", "method": "pyright/beginProgress"})
        time.sleep(0.5)
    send({**publish, "params": {"uri": uri, "version": version, "diagnostics": diagnostics}})
    if MODE == "lint in steps":
        send({"jsonrpc": "2.0", "method": "pyright/endProgress"})


def on_notification(method: str, params: Any) -> None:
    if method == "exit":
        sys.exit(0)
    if method == "initialized" and "watchers" in SCRIPT:
        watch = {"id": "w", "method": "workspace/didChangeWatchedFiles"}
        registration = {**watch, "registerOptions": {"watchers": SCRIPT["watchers"]}}
        params = {"registrations": [registration]}
        send({"jsonrpc": "2.0", "id": 1, "method": "client/registerCapability", "params": params})
    if MODE.startswith("lint") and method in ("textDocument/didOpen", "textDocument/didChange"):
        document = params["textDocument"]
        lint(document["uri"], document["version"], document.get("text") or params["contentChanges"][0]["text"])


def main() -> None:
    if "pid" in SCRIPT:
        with Path(SCRIPT["pid"]).open("a") as file:
            file.write(f"{os.getpid()}\n")
    before_handshake()
    while True:
        message = receive()
        if "log" in SCRIPT:
            with Path(SCRIPT["log"]).open("a") as file:
                file.write(json.dumps(message) + "\n")
        if message.get("method") == "initialize":
            answer(message["id"], {"capabilities": CAPABILITIES})
            after_handshake()
        elif "id" not in message:
            on_notification(message["method"], message.get("params"))
        elif "method" in message:
            on_request(message["id"], message["method"], message.get("params"))


main()
