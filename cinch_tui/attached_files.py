"""Files and resources mentioned with `@` in a prompt, attached with the limits and in the format of `read_file`.

Each file is a block of the message after the user's text; images are attached as images, folders as a listing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from msgspec import Struct

from cinch_tui.attached_resources import MentionedResource, read_resource, resource_named
from cinch_tui.shell_line import output_text
from harness.agent.agent import Agent
from harness.agent.guardrails import find_secrets
from harness.context.attachments import OPENING, is_attached
from harness.errors import CinchError
from harness.messages import Image, Text, UserContent
from harness.ports.tool import ToolOutput
from harness.views import ListingView

if TYPE_CHECKING:
    from tools.mcp.servers import McpServers

AGENT_PREFIX = "agent-"
"""Beginning of a mention that asks for a subagent: `@agent-reviewer`."""
MAX_FILES = 20
MAX_CHARACTERS = 200_000
"""Limit for all files of one prompt together."""
MAX_TYPED_LINES = 20
"""Prompts with more lines are assumed to be pasted."""
INSTRUCTIONS = "instructions"
"""Extent of the file of a skill or command that the user started."""
_MENTION = re.compile(r"""(?:^|(?<=[\s(\[{,;:=\'`]))@(?:"(?P<quoted>[^"\n]+)"|(?P<plain>[^\s@"]+))""")
_CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_SECRET_NAMES = re.compile(
    r"^(?:\.env(?:\..+)?|\.netrc|\.pgpass|\.npmrc|\.pypirc|id_(?:rsa|dsa|ecdsa|ed25519)|credentials(?:\.json)?|.*\.(?:pem|key|p12|pfx))$",
    re.IGNORECASE,
)
_SECRET_FOLDERS = frozenset((".ssh", ".gnupg", ".aws", ".git"))
_SAMPLES = (".example", ".sample", ".template", ".dist")


class AttachedFiles(Struct, frozen=True):
    """Result of attaching the files of a prompt."""

    content: tuple[UserContent, ...] = ()
    """Blocks that follow the user's text in the message."""

    attached: tuple[str, ...] = ()
    """Attached files, for the user."""

    skipped: tuple[str, ...] = ()
    """Errors and warnings for the user."""


def mentioned_paths(text: str) -> list[str]:
    """Return the paths mentioned with `@`, without duplicates and those in fenced code."""
    found = _MENTION.finditer(_CODE.sub("", text))
    return list(dict.fromkeys(each["quoted"] or each["plain"] for each in found))


async def attach_files(text: str, agent: Agent, servers: McpServers | None = None) -> AttachedFiles:
    """Read the files and resources mentioned in a prompt; what cannot be attached is reported in `skipped`."""
    names = mentioned_paths(text)
    if not names:
        return AttachedFiles()
    found = {name: source for name in names if (source := _source(name, agent, servers))}
    content, attached, skipped = list[UserContent](), list[str](), list[str]()
    size = 0
    for name, source in list(found.items())[:MAX_FILES]:
        try:
            shown, extent, blocks = await _attachment(source, agent, servers)
            size += sum(len(block.text) for block in blocks if isinstance(block, Text))
            if size > MAX_CHARACTERS:
                raise CinchError(f"the attached files exceed {MAX_CHARACTERS:,} characters")
        except CinchError as error:
            skipped.append(f"@{name} is not attached: {error}")
            continue
        content += blocks
        attached.append(f"{shown} ({extent})")
    if len(found) > MAX_FILES:
        skipped.append(f"Only the first {MAX_FILES} files are attached.")
    # @agent-NAME asks for a subagent.
    missing = [f"@{name}" for name in names if name not in found and not name.startswith(AGENT_PREFIX)]
    # A long text was probably pasted, and an @ in it is not a mention.
    if missing and text.count("\n") < MAX_TYPED_LINES:
        skipped.append(f"Not attached: {', '.join(missing[:5])}: no such file.")
    return AttachedFiles(tuple(content), tuple(attached), tuple(skipped))


def _source(name: str, agent: Agent, servers: McpServers | None) -> str | MentionedResource:
    """Return the path of an existing file, or a resource of a server; empty for neither."""
    return resource_named(name, servers) or _existing(name, agent.workspace.root)


async def _attachment(
    source: str | MentionedResource, agent: Agent, servers: McpServers | None
) -> tuple[str, str, list[UserContent]]:
    """Return the name, the extent and the blocks of an attachment."""
    if isinstance(source, str):
        shown, output = await _read(source, agent)
        return shown, _extent(output), _blocks(shown, output)
    assert servers is not None
    blocks, extent = await read_resource(source, servers)
    return source.name, extent, blocks


def without_attached(content: Sequence[UserContent]) -> tuple[UserContent, ...]:
    """Return the content before the first attached file: the user's text and images."""
    for index, block in enumerate(content):
        if is_attached(block):
            return tuple(content[:index])
    return tuple(content)


def attached_names(content: Sequence[UserContent]) -> list[str]:
    """Return the attached files of a message, in the format of `AttachedFiles.attached`."""
    texts = [block.text for block in content if isinstance(block, Text) and is_attached(block)]
    return [_named(*_heading(text)) for text in texts]


async def _read(path: str, agent: Agent) -> tuple[str, ToolOutput]:
    # Not needed at start: few prompts mention a file.
    from harness.messages import new_id
    from harness.ports.interaction import NonInteractive
    from harness.ports.tool import ToolContext
    from tools.read import ReadTool

    workspace = agent.workspace
    real = workspace.resolve(path)
    shown = workspace.display(real)
    if _is_secret(path) or _is_secret(shown):
        raise CinchError("it probably contains secrets")
    user = NonInteractive()
    context = ToolContext(new_id(), workspace, user, user.review_plan, workspace.root)
    output = await ReadTool().run({"path": path}, context)
    if output.is_error:
        raise CinchError(output_text(output))
    return shown, output


def _existing(name: str, root: Path) -> str:
    """Return the existing path, without punctuation after it; empty if there is no such file."""
    # An invalid path, or an unknown home directory.
    with suppress(OSError, ValueError, RuntimeError):
        path = str(Path(name).expanduser())
        return next((each for each in (path, path.rstrip(".,;:!?)]}'`")) if each and (root / each).exists()), "")
    return ""


def _is_secret(path: str) -> bool:
    pure = PurePath(path)
    if pure.name.lower().endswith(_SAMPLES):
        return False
    return bool(_SECRET_NAMES.match(pure.name)) or not _SECRET_FOLDERS.isdisjoint(part.lower() for part in pure.parts)


def _blocks(path: str, output: ToolOutput) -> list[UserContent]:
    texts = output_text(output)
    if find_secrets(texts):
        raise CinchError("it seems to contain an API key")
    heading = f'{OPENING}{path}" extent="{_extent(output)}">'
    images = [block for block in output.content if isinstance(block, Image)]
    return [Text(f"{heading}\n{texts}\n</attached>"), *images]


def _heading(text: str) -> tuple[str, str]:
    path, _, rest = text.removeprefix(OPENING).partition('" extent="')
    return path, rest.partition('">')[0]


def _named(path: str, extent: str) -> str:
    if extent != INSTRUCTIONS:
        return f"{path} ({extent})"
    file = PurePath(path)
    return f"the instructions of {file.parent.name if file.name == 'SKILL.md' else file.stem}"


def _extent(output: ToolOutput) -> str:
    details = output.details or {}
    if any(isinstance(block, Image) for block in output.content):
        return "picture"
    last, total = details.get("last"), details.get("total")
    if not isinstance(last, int):
        return "folder" if isinstance(output.view, ListingView) else "no text"
    if last == total:
        return "1 line" if last == 1 else f"{last:,} lines"
    return f"first {last:,} lines of {total:,}" if isinstance(total, int) else f"first {last:,} lines"
