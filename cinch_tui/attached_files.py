"""Files named with `@` in a prompt: their content is sent with it, bounded, as `read_file` shows it.

Each file is a block of the message behind the user's text; pictures are sent as pictures, folders as a listing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from harness.agent.guardrails import find_secrets
from harness.errors import CinchError
from harness.lazy_dataclass import dataclass
from harness.messages import Image, Text, UserContent
from harness.views import ListingView

if TYPE_CHECKING:
    from harness.agent.agent import Agent
    from harness.ports.tool import ToolOutput

MOST_FILES = 20
MOST_CHARACTERS = 200_000
"""Of all files of one prompt together."""
LONGEST_TYPED = 20
"""Lines of a text that somebody has typed."""
_OPENING = '<attached path="'
_MENTION = re.compile(r"""(?:^|(?<=[\s(\[{,;:=\'`]))@(?:"(?P<quoted>[^"\n]+)"|(?P<plain>[^\s@"]+))""")
_CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_SECRET_NAMES = re.compile(
    r"^(?:\.env(?:\..+)?|\.netrc|\.pgpass|\.npmrc|\.pypirc|id_(?:rsa|dsa|ecdsa|ed25519)|credentials(?:\.json)?|.*\.(?:pem|key|p12|pfx))$",
    re.IGNORECASE,
)
_SECRET_FOLDERS = frozenset((".ssh", ".gnupg", ".aws", ".git"))
_SAMPLES = (".example", ".sample", ".template", ".dist")


@dataclass(frozen=True, slots=True)
class AttachedFiles:
    """`content` follows the user's text in the message. `attached` and `skipped` are what to tell the user."""

    content: tuple[UserContent, ...] = ()
    attached: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


def mentioned_paths(text: str) -> list[str]:
    """The paths named with `@`, each once; those in fenced code are not meant."""
    found = _MENTION.finditer(_CODE.sub("", text))
    return list(dict.fromkeys(each["quoted"] or each["plain"] for each in found))


async def attach_files(text: str, agent: Agent) -> AttachedFiles:
    """Read the files that a prompt names; whatever cannot be attached is reported, and the text stays as it is."""
    names = mentioned_paths(text)
    if not names:
        return AttachedFiles()
    root = agent.workspace.root
    found = {name: path for name in names if (path := _existing(name, root))}
    content, attached, skipped = list[UserContent](), list[str](), list[str]()
    size = 0
    for name, path in list(found.items())[:MOST_FILES]:
        try:
            shown, output = await _read(path, agent)
            blocks = _blocks(shown, output)
            size += sum(len(block.text) for block in blocks if isinstance(block, Text))
            if size > MOST_CHARACTERS:
                raise CinchError("the files before it are as much as one prompt may attach")
        except CinchError as error:
            skipped.append(f"@{name} is not attached: {error}")
            continue
        content += blocks
        attached.append(f"{shown} ({_extent(output)})")
    if len(found) > MOST_FILES:
        skipped.append(f"Only the first {MOST_FILES} files are attached.")
    missing = [f"@{name}" for name in names if name not in found]
    # A long text is pasted, and what stands behind an @ in it no file.
    if missing and text.count("\n") < LONGEST_TYPED:
        skipped.append(f"Nothing is attached for {', '.join(missing[:5])}: there is no such file.")
    return AttachedFiles(tuple(content), tuple(attached), tuple(skipped))


def is_attached(block: UserContent) -> bool:
    """True for a text block that holds an attached file."""
    return isinstance(block, Text) and block.text.startswith(_OPENING)


def without_attached(content: Sequence[UserContent]) -> tuple[UserContent, ...]:
    """What the user typed, and their pictures: everything before the first attached file."""
    first = next((index for index, block in enumerate(content) if is_attached(block)), len(content))
    return tuple(content[:first])


def attached_names(content: Sequence[UserContent]) -> list[str]:
    """What was attached to a message, as `AttachedFiles.attached` has it."""
    texts = [block.text for block in content if isinstance(block, Text) and is_attached(block)]
    return [f"{path} ({extent})" for path, extent in (_heading(text) for text in texts)]


async def _read(path: str, agent: Agent) -> tuple[str, ToolOutput]:
    # pydantic is slow to load, and few prompts name a file.
    from harness.messages import new_id
    from harness.ports.interaction import NonInteractive
    from harness.ports.tool import ToolContext
    from tools.read import ReadTool

    workspace = agent.workspace
    real = workspace.resolve(path)
    shown = workspace.display(real)
    if _is_secret(path) or _is_secret(shown):
        raise CinchError("it is likely to hold secrets")
    nobody = NonInteractive()
    context = ToolContext(new_id(), workspace, nobody, nobody.review_plan, workspace.root)
    output = await ReadTool().run({"path": path}, context)
    if output.is_error:
        raise CinchError(_text_of(output))
    return shown, output


def _existing(name: str, root: Path) -> str:
    """The path that is meant, without the punctuation behind it; empty if there is no such file."""
    # A path that no file can have, or a home that is not known.
    with suppress(OSError, ValueError, RuntimeError):
        path = str(Path(name).expanduser())
        return next((each for each in (path, path.rstrip(".,;:!?)]}'`")) if each and (root / each).exists()), "")
    return ""


def _text_of(output: ToolOutput) -> str:
    return "\n".join(block.text for block in output.content if isinstance(block, Text))


def _is_secret(path: str) -> bool:
    pure = PurePath(path)
    if pure.name.lower().endswith(_SAMPLES):
        return False
    return bool(_SECRET_NAMES.match(pure.name)) or not _SECRET_FOLDERS.isdisjoint(part.lower() for part in pure.parts)


def _blocks(path: str, output: ToolOutput) -> list[UserContent]:
    texts = _text_of(output)
    if find_secrets(texts):
        raise CinchError("there seems to be a key in it")
    heading = f'{_OPENING}{path}" extent="{_extent(output)}">'
    images = [block for block in output.content if isinstance(block, Image)]
    return [Text(f"{heading}\n{texts}\n</attached>"), *images]


def _heading(text: str) -> tuple[str, str]:
    path, _, rest = text.removeprefix(_OPENING).partition('" extent="')
    return path, rest.partition('">')[0]


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
