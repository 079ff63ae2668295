"""`cinch mcp`: configure MCP servers, and offer cinch's tools as one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from cinch_tui.fuzzy_match import did_you_mean
from cinch_tui.print_mode.output import Output
from cinch_tui.subcommands.action_parser import ActionParser
from harness.errors import ConfigError

HELP = """\
cinch mcp add NAME COMMAND [ARGUMENTS]   add a server that is a program
cinch mcp add NAME URL                   add a remote server
  --scope SCOPE         user: your configuration file (default); project: .cinch/config.toml,
                        shared with the project; local: .cinch/config.local.toml, for you only
  -e, --env K=V         environment variable of the program; repeatable. K alone takes the
                        value from the environment at each start
  -H, --header "K: V"   header for a remote server; repeatable
  -t, --transport T     stdio, http or sse; default: stdio for a command, http for a URL
  --timeout SECONDS     seconds without progress after which a call fails
  --client-id ID        OAuth client registered by hand
  --force               replace a server of the same name
  Options of cinch come before COMMAND; everything after it belongs to the program.
cinch mcp add-json NAME JSON             add a server in the JSON of Claude Code or VS Code
cinch mcp list          list the servers and the files they come from
  --check               connect to each and show its state
  --json                print one JSON object per line
cinch mcp test NAME     connect to a server and show its tools, resources and prompts
cinch mcp remove NAME   remove a server from its file
  --scope SCOPE         the file, if several have the server
cinch mcp enable NAME, cinch mcp disable NAME
                        start a server or not; one of a project: in your local file
cinch mcp import [FILE] add the servers of another program: claude-desktop, claude-code,
                        vscode, or a JSON file; shows them and asks
  --scope SCOPE, --yes  where to add them; do not ask
cinch mcp login NAME    log in to a remote server
cinch mcp logout NAME   forget the login
cinch mcp serve         offer the tools of cinch to another program, over stdio
  --http PORT           over HTTP, to this machine only; prints the token that clients send
  --tools GLOBS         tools to offer, as names or globs separated by commas
  --approval MODE       on, smart, edits or off; default: as configured
  --allow RULE, --ask RULE, --deny RULE, --add-dir DIR, --trust, --config FILE
                        as for cinch
Values may contain ${VAR} and ${VAR:-default}; quote them for your shell.
"""

Action = Callable[[list[str], Path, Output], int]
_MODULES = {
    "add": "mcp_edits",
    "add-json": "mcp_edits",
    "remove": "mcp_edits",
    "enable": "mcp_edits",
    "disable": "mcp_edits",
    "import": "mcp_import",
    "list": "mcp_list",
    "test": "mcp_check",
    "login": "mcp_login",
    "logout": "mcp_login",
    "serve": "mcp_serve",
}
"""Modules of the actions; each has a function `run(action, arguments, cwd, output)`."""
_OTHER_NAMES = {"rm": "remove", "ls": "list", "get": "test"}


def run(argv: Sequence[str], cwd: Path, out: Output) -> int:
    """Run one action and return the exit status.

    Raises:
        ConfigError: the arguments or the configuration are invalid.
    """
    if not argv or argv[0] in ("--help", "-h", "help") or list(argv[1:]) in (["--help"], ["-h"]):
        out.write_text(HELP)
        return 0
    action = _OTHER_NAMES.get(argv[0], argv[0])
    if action not in _MODULES:
        raise ConfigError(f"cinch mcp: unknown command {argv[0]!r}{did_you_mean(argv[0], _MODULES)}")
    module = import_module(f"cinch_tui.subcommands.{_MODULES[action]}")
    status: int = module.run(action, list(argv[1:]), cwd, out)
    return status


class McpParser(ActionParser):
    """Parser of one action."""

    def __init__(self, action: str) -> None:
        super().__init__("mcp", action)


def warn(text: str) -> None:
    """Print a warning on stderr."""
    from harness.terminal_text import strip_escapes

    sys.stderr.write(f"cinch mcp: {strip_escapes(text)}\n")
