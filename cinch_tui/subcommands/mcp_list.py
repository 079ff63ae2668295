"""`cinch mcp list`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cinch_tui.mcp_servers import ConfiguredServers
from cinch_tui.print_mode.output import Output
from cinch_tui.subcommands.mcp import McpParser, warn
from cinch_tui.subcommands.mcp_files import ServerFiles, server_files
from cinch_tui.trust.inventory import one_line_name
from harness.messages import JsonObject
from tools.mcp.import_files import command_line
from tools.mcp.server_config import McpServer

NOT_TRUSTED = "not trusted, without effect; to trust the folder: cinch config trust"


def run(action: str, argv: list[str], cwd: Path, out: Output) -> int:
    """Run one action and return the exit status.

    Raises:
        ConfigError: the arguments or the configuration are invalid.
    """
    parser = McpParser(action)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args(argv)
    _list(server_files(cwd, out), as_json=arguments.json)
    return 0


def _list(files: ServerFiles, *, as_json: bool) -> None:
    found = files.configured
    for notice in found.notices:
        warn(notice)
    rows = [_row(each, found) for each in found.servers]
    rows += [{**_row(each.server, found), "state": f"invalid: {each.reason}"} for each in found.invalid]
    rows += [{**_row(each, found), "state": NOT_TRUSTED, "wins_over": []} for each in found.untrusted]
    if as_json:
        for row in rows:
            files.out.write_json(row)
        return
    if not rows:
        files.out.write_text("no MCP servers; to add one: cinch mcp add NAME COMMAND or cinch mcp add NAME URL")
    width = max((len(str(row["name"])) for row in rows), default=0)
    for row in rows:
        files.out.write_text("\n".join(_lines(row, width)))


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
        "target": one_line_name(server.url or command_line(server)),
        "source": server.source,
        "state": "enabled" if server.enabled else "disabled",
        "wins_over": list(found.overridden.get(server.name, ())),
    }
