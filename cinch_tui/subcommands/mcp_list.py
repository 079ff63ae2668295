"""`cinch mcp list`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

from cinch_tui.mcp_servers import ConfiguredServers
from cinch_tui.print_mode.output import Output
from cinch_tui.subcommands.mcp import McpParser, warn
from cinch_tui.subcommands.mcp_files import ServerFiles, server_files
from cinch_tui.trust.inventory import one_line_name
from harness.messages import JsonObject
from tools.mcp.import_files import target_of
from tools.mcp.server_config import McpServer

NOT_TRUSTED = "not trusted, without effect; to trust the folder: cinch config trust"


def run(action: str, argv: list[str], cwd: Path, out: Output) -> int:
    """List the servers and return the exit status: 1 if one that was checked is not connected.

    Raises:
        ConfigError: the arguments or the configuration are invalid.
    """
    parser = McpParser(action)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args(argv)
    files = server_files(cwd, out)
    found = files.configured
    for notice in found.notices:
        warn(notice)
    rows = [_row(each, found) for each in found.servers]
    are_usable = not arguments.check or _check(rows, found, files)
    rows += [{**_row(each.server, found), "state": f"invalid: {each.reason}"} for each in found.invalid]
    rows += [{**_row(each, found), "state": NOT_TRUSTED, "wins_over": []} for each in found.untrusted]
    _print(rows, out, as_json=arguments.json)
    return 0 if are_usable else 1


def _check(rows: list[JsonObject], found: ConfiguredServers, files: ServerFiles) -> bool:
    """Connect to the enabled servers, put their states into the rows, and return True if all are connected."""
    from cinch_tui.subcommands.mcp_check import check_all  # loads the SDK

    enabled = [each for each in found.servers if each.enabled]
    checked = asyncio.run(check_all(enabled, files.options))
    for row in rows:
        if result := checked.get(str(row["name"])):
            row["state"] = result.summary
    return all(each.is_connected for each in checked.values())


def _print(rows: Sequence[JsonObject], out: Output, *, as_json: bool) -> None:
    if as_json:
        for row in rows:
            out.write_json(row)
        return
    if not rows:
        out.write_text("no MCP servers; to add one: cinch mcp add NAME COMMAND or cinch mcp add NAME URL")
    width = max((len(str(row["name"])) for row in rows), default=0)
    for row in rows:
        out.write_text("\n".join(_lines(row, width)))


def _lines(row: JsonObject, width: int) -> Iterator[str]:
    yield f"{row['name']:<{width}}  {row['target']}"
    yield f"{'':<{width}}  {row['source']}"
    if row["wins_over"]:
        yield f"{'':<{width}}  wins over {', '.join(map(str, row['wins_over']))}"  # pyright: ignore[reportArgumentType] a list
    if row["state"] != "enabled":
        yield f"{'':<{width}}  {row['state']}"


def _row(server: McpServer, found: ConfiguredServers) -> JsonObject:
    return {
        "name": one_line_name(server.name),
        "transport": server.transport,
        "target": one_line_name(target_of(server)),
        "source": server.source,
        "state": "enabled" if server.enabled else "disabled",
        "wins_over": list(found.overridden.get(server.name, ())),
    }
