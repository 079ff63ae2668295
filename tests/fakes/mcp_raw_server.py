"""MCP server that follows a script, in plain Python: it starts fast and may break every rule of the protocol.

The argument is JSON: `tools`, `capabilities`, `pages` (endless lists), `before` (output before the handshake) etc.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def expanded(value: Any) -> Any:
    """Return JSON with `{"repeat": x, "times": n}` replaced by a string or list that is too long for an argument."""
    if isinstance(value, list):
        return [expanded(each) for each in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"repeat", "times"}:
        return value["repeat"] * value["times"]
    return {key: expanded(each) for key, each in value.items()}


SCRIPT: dict[str, Any] = expanded(json.loads(sys.argv[1]))
LOCK = threading.Lock()


def send(message: dict[str, Any]) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def write(text: str) -> None:
    with LOCK:
        sys.stdout.write(text)
        sys.stdout.flush()


def notify(method: str, **params: Any) -> None:
    send({"method": method, "params": params})


def text_result(text: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], **more}


def note(text: str) -> None:
    """Append a line to the file that the test reads."""
    with Path(SCRIPT["notes"]).open("a", encoding="utf-8") as file:
        file.write(text + "\n")


Handler = Callable[[dict[str, Any], Any], dict[str, Any] | None]


def crash(arguments: dict[str, Any], token: Any) -> None:
    sys.stderr.write("about to crash\n")
    sys.stderr.flush()
    os._exit(3)


def line_without_end(arguments: dict[str, Any], token: Any) -> None:
    while True:
        write("x" * 1_000_000)


def garbage(arguments: dict[str, Any], token: Any) -> dict[str, Any]:
    write("this is not JSON\n" * 500)
    return text_result("garbage done")


def flood(arguments: dict[str, Any], token: Any) -> dict[str, Any]:
    for number in range(arguments["count"]):
        notify("notifications/message", level="info", data=f"message {number}")
        notify("notifications/tools/list_changed")
    return text_result("flood done")


def large_flood(arguments: dict[str, Any], token: Any) -> dict[str, Any]:
    for _ in range(arguments["count"]):
        notify("notifications/message", level="info", data=[{"number": 1}] * arguments["entries"])
    return text_result("large_flood done")


def ask(arguments: dict[str, Any], token: Any) -> None:
    for number in range(arguments["count"]):
        send({"id": f"ask-{number}", "method": arguments["method"], "params": arguments["params"]})
        if "cancelled" in arguments:
            notify("notifications/cancelled", requestId=arguments["cancelled"].format(number=number))
    # Without reading any answer.
    time.sleep(1000)


def slow(arguments: dict[str, Any], token: Any) -> dict[str, Any]:
    for number in range(arguments["steps"]):
        time.sleep(arguments["pause"])
        notify("notifications/progress", progressToken=token, progress=number + 1, total=arguments["steps"])
    return text_result("slow done")


def add_tool(arguments: dict[str, Any], token: Any) -> dict[str, Any]:
    SCRIPT["tools"].append({"name": "added", "inputSchema": {"type": "object"}})
    notify("notifications/tools/list_changed")
    return text_result("add_tool done")


def break_list(arguments: dict[str, Any], token: Any) -> dict[str, Any]:
    SCRIPT["list_error"] = "the database is locked"
    notify("notifications/tools/list_changed")
    return text_result("break_list done")


def child(arguments: dict[str, Any], token: Any) -> dict[str, Any]:
    pid = os.fork()
    if pid == 0:
        os.setsid()
        time.sleep(1000)
    return text_result(str(pid))


HANDLERS: dict[str, Handler] = {
    "crash": crash,
    "huge": lambda arguments, token: text_result("x" * arguments["size"]),
    "line": line_without_end,
    "garbage": garbage,
    "flood": flood,
    "large_flood": large_flood,
    "ask": ask,
    "slow": slow,
    "wait": lambda arguments, token: None,
    "add_tool": add_tool,
    "break_list": break_list,
    "environment": lambda arguments, token: text_result(json.dumps(dict(os.environ))),
    "child": child,
}


def call_tool(request: dict[str, Any]) -> dict[str, Any] | None:
    params = request["params"]
    name = params["name"]
    if "notes" in SCRIPT:
        note(f"call {name}")
    if name in SCRIPT.get("results", {}):
        return SCRIPT["results"][name]
    handler = HANDLERS.get(name, lambda arguments, token: text_result(f"{name} done"))
    return handler(params.get("arguments") or {}, params.get("_meta", {}).get("progressToken"))


def result_of(request: dict[str, Any]) -> dict[str, Any] | None:
    if request["method"] in SCRIPT.get("unanswered", []):
        return None
    match request["method"]:
        case "initialize":
            if "silent" in SCRIPT:
                return None
            return {
                "protocolVersion": "2025-06-18",
                "capabilities": SCRIPT.get("capabilities", {"tools": {"listChanged": True}}),
                "serverInfo": {"name": SCRIPT.get("title", "raw"), "version": "1"},
                "instructions": SCRIPT.get("instructions", ""),
            }
        case "tools/list" if "list_error" in SCRIPT:
            return {"code": -32603, "message": SCRIPT["list_error"]}
        case "tools/list":
            page = {"tools": SCRIPT.get("tools", [])}
            if "pages" in SCRIPT:
                page["nextCursor"] = SCRIPT["pages"] or str(time.monotonic_ns())
            return page
        case "tools/call":
            return call_tool(request)
        case _:
            return {}


def main() -> None:
    write(SCRIPT.get("before", ""))
    if "exits" in SCRIPT:
        sys.stderr.write("cannot start: no license\n")
        sys.exit(SCRIPT["exits"])
    for line in sys.stdin:
        request = json.loads(line)
        method = request.get("method", "")
        if method == "notifications/cancelled" and "notes" in SCRIPT:
            note("cancelled")
        if "id" not in request or not method:
            continue
        if method == "server/discover":
            send({"id": request["id"], "error": {"code": -32601, "message": "Method not found"}})
        elif (result := result_of(request)) is not None:
            send({"id": request["id"], "error" if "code" in result else "result": result})
    if "stubborn" in SCRIPT:
        time.sleep(1000)


if __name__ == "__main__":
    if "stubborn" in SCRIPT:
        import signal

        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    main()
