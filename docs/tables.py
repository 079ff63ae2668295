"""Generator of the reference tables in the documentation: commands, keys and settings.

A page marks the place of a table with `<!-- table: NAME -->` and `<!-- end -->`; the text between them is replaced.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from cinch_tui.commands.builtin import builtin_commands  # noqa: E402  the path comes first
from cinch_tui.commands.packages import package_commands  # noqa: E402
from cinch_tui.commands.registry import Command  # noqa: E402
from cinch_tui.config.api_tables import API_TABLE  # noqa: E402
from cinch_tui.config.lsp_tables import LSP_TABLE  # noqa: E402
from cinch_tui.config.names import SettingKey, keys, open_tables  # noqa: E402
from cinch_tui.config.server_keys import server_keys  # noqa: E402
from cinch_tui.config.store import shown_value  # noqa: E402
from cinch_tui.keybindings.table import KEYS, PLACES  # noqa: E402
from cinch_tui.keybindings.user_keys import rows_of  # noqa: E402

PAGES = tuple(ROOT / "docs" / name for name in ("commands-and-keys.md", "configuration.md", "keys.md"))
MARKED = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
UNTRUSTED = {"open": "yes", "held": "no", "tighten": "stricter only"}


def with_tables(page: str) -> str:
    """Return the page with every marked table generated anew."""
    return MARKED.sub(lambda found: "\n".join((found[1], *TABLES[found[2]](), found[3])), page)


def _commands() -> Iterator[str]:
    installed = {group.title for group in package_commands().usable()}
    for group in builtin_commands().groups:
        if group.title not in installed:
            yield f"### {group.title}\n"
            yield from _table(("Command", "Action"), (_command_row(command) for command in group.commands))


def _command_row(command: Command) -> tuple[str, str]:
    also = f" (also {', '.join(f'`{name}`' for name in command.aliases)})" if command.aliases else ""
    return f"`{command.usage}`", f"{command.summary}{also}"


def _keys() -> Iterator[str]:
    for owner, title in PLACES.items():
        rows = rows_of((key for key in KEYS if key.owner == owner), {})
        if rows:
            yield f"## {title}\n"
            yield from _table(("Key", "Action", "Id"), ((row.label, row.description, f"`{row.id}`") for row in rows))


def _settings() -> Iterator[str]:
    for table, settings in groupby(keys().values(), key=lambda key: key.name.partition(".")[0]):
        yield f"### `[{table}]`\n"
        header = ("Key", "Default", "Meaning", "Untrusted project may set it")
        yield from _table(header, (_setting_row(setting) for setting in settings))
    for table, (meaning, example) in open_tables().items():
        yield f"### `[{table}]`\n\n{meaning[:1].upper()}{meaning[1:]}. An untrusted project cannot set them.\n"
        yield f"```toml\n[{table}]\n{example}\n```\n"
    yield "### `[mcp.servers.NAME]`\n"
    rows = ((f"`{name}`", f"`{shown_value(key.default)}`", key.doc) for name, key in server_keys().items())
    mappings = (
        ("`env`", "`{}`", "environment variables of the program, in addition to a few harmless ones"),
        ("`headers`", "`{}`", "headers of every request to a remote server"),
    )
    yield from _table(("Key", "Default", "Meaning"), (*rows, *mappings))
    yield "An untrusted project cannot set them.\n"
    yield "### `[openapi.apis.NAME]`\n"
    rows = ((f"`{name}`", f"`{shown_value(key.default)}`", key.doc) for name, key in API_TABLE.keys.items())
    mappings = (
        ("`variables`", "`{}`", "values of variables in the URL of the server"),
        ("`headers`", "`{}`", "further headers of each request"),
        ("`credentials`", "`{}`", "secrets by the name of a security scheme, if the API has several of one kind"),
    )
    yield from _table(("Key", "Default", "Meaning"), (*rows, *mappings))
    yield "An untrusted project cannot set them. See [APIs](openapi.md).\n"
    yield "### `[lsp.servers.NAME]`\n"
    rows = ((f"`{name}`", f"`{shown_value(key.default)}`", key.doc) for name, key in LSP_TABLE.keys.items())
    mappings = (("`files`", "`{}`", "patterns of file names, with the language id of each"),)
    yield from _table(("Key", "Default", "Meaning"), (*rows, *mappings))
    yield "An untrusted project cannot set them. See [Language servers](tools.md#language-servers).\n"


def _setting_row(setting: SettingKey) -> tuple[str, ...]:
    default = f"`{shown_value(setting.default)}`"
    return f"`{setting.name.partition('.')[2]}`", default, setting.doc, UNTRUSTED[setting.guard]


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for row in (header, ("---",) * len(header), *rows):
        cells = (cell.replace("|", r"\|") for cell in row)
        yield f"| {' | '.join(cells)} |"
    yield ""


TABLES: dict[str, Callable[[], Iterator[str]]] = {"commands": _commands, "keys": _keys, "settings": _settings}


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(with_tables(path.read_text(encoding="utf-8")), encoding="utf-8")
