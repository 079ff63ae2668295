"""The question about a folder: its text for every front end, and the effect of the answer."""

from __future__ import annotations

import difflib
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from cinch_tui.config.layers import load_config
from cinch_tui.trust.inventory import Found, Inventory, inventory, one_line_name
from cinch_tui.trust.kinds import CLAUDE, LOADED
from cinch_tui.trust.store import FolderTrust, TrustAnswer, TrustStore, session_pins
from harness.errors import ConfigError
from harness.terminal_text import escape_controls
from harness.workspace.disk import read_small_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from cinch_tui.config.options import Options
    from cinch_tui.config.settings import Settings

MOST_UNUSED = 5
"""Maximum number of harmless, unused files of one folder that are listed one by one."""
_UNUSED = " · not used by this version"
_SHOWN_CHANGES = 40
_LARGEST_SHOWN = 256 * 1024


class TrustChoice(Struct, frozen=True):
    """An answer the user can give."""

    answer: TrustAnswer
    """Value of the answer."""
    label: str
    """Text of the answer."""
    effect: str
    """Explanation of the effect."""


class TrustQuestion(Struct, frozen=True):
    """Question about a folder."""

    inventory: Inventory
    """The folder and its files."""
    trust: FolderTrust
    """The present trust in it."""
    title: str
    """The question, one line."""
    text: str
    """Explanation, one paragraph."""
    rows: tuple[tuple[str, str], ...]
    """Files with their kind and effect."""
    choices: tuple[TrustChoice, ...]
    """The answers, the safe one first."""


def folder_state(options: Options, root: Path | None = None) -> tuple[Inventory, FolderTrust]:
    """Return the inventory of a folder, by default the one cinch works in, and the trust in it. Reads files."""
    sources = options.sources
    files = inventory(root or options.cwd, sources.user_file)
    return files, TrustStore(sources.trust_file, sources.session_pins).state(files)


def may_run(options: Options, root: Path, path: Path) -> bool:
    """Return True if a file of a project may run commands or loosen permissions: it is trusted as it is now."""
    files, trust = folder_state(options, root)
    return any(each.path == path and each.is_pinned and path not in trust.inert for each in files.found)


def pending_question(options: Options) -> TrustQuestion | None:
    """Return the question that has to be asked before the agent is created, or None. Reads files."""
    files, trust = folder_state(options)
    return question(options, files, trust) if trust.must_ask else None


def question(options: Options, files: Inventory, trust: FolderTrust) -> TrustQuestion:
    """Return the question asked at a start: about the changed files of a trusted folder, else about all files."""
    if trust.changed:
        return _about_changes(options, files, trust, trust.changed)
    choices = [
        TrustChoice("later", "Not now", "ignore these files and ask again at the next start"),
        _trust_choice(files),
        TrustChoice("never", "Never", "do not ask again; /trust changes that"),
    ]
    imports = _imports_claude(options, files)
    if imports is None:
        choices.append(_IMPORT)
    return TrustQuestion(
        files,
        trust,
        f"Do you trust the files in {one_line_name(str(files.root))}?",
        f"{_RISK} Trust them only if you know who wrote them. Without trust they are ignored, and everything else "
        "works.",
        tuple(_rows(files, imports=bool(imports))),
        tuple(choices),
    )


def state_question(options: Options, files: Inventory, trust: FolderTrust) -> TrustQuestion:
    """Return the question asked on request: the present trust, and the answers that change it."""
    root = one_line_name(str(files.root))
    inert = tuple(each for each in files.found if each.path in trust.inert)
    revoke = TrustChoice("revoke", "Revoke trust", "ignore all files of this folder, and ask at the next start")
    if trust.is_trusted and inert:
        return _about_changes(options, files, trust, inert, revoke)
    imports = _imports_claude(options, files)
    rows = tuple(_rows(files, trust, imports=bool(imports)))
    choices = [TrustChoice("later", "Close", "change nothing")]
    if not trust.is_trusted:
        title = f"{root} is not trusted"
        choices.append(_trust_choice(files))
    elif trust.answered == "session":
        title = f"{root} is trusted for this session"
        choices += [_trust_choice(files)] if files.can_be_stored else []
    else:
        title = f"{root} is trusted since {trust.since}"
    if imports is None:
        choices.append(_IMPORT)
    choices += [revoke] if trust.is_trusted else []
    return TrustQuestion(files, trust, title, _RISK if files.found else _NO_FILES, rows, tuple(choices))


_RISK = "These files change how cinch works: they can instruct the model, run programs and loosen permissions."
_NO_FILES = (
    "It has no files that change how cinch works. In a trusted folder, language servers may run code of the project, "
    "and instructions that are added later apply."
)
_IMPORT = TrustChoice("import", "Trust, and import Claude Code's rules", "also in other trusted folders")


def _trust_choice(files: Inventory) -> TrustChoice:
    store = "" if files.can_be_stored else ", for this session only"
    effect = f"use these files{store}; ask again when risky ones change"
    return TrustChoice("trust", "Trust this folder", effect)


def _imports_claude(options: Options, files: Inventory) -> bool | None:
    """Return True if the permissions of Claude Code are imported; None if the user should be asked."""
    if not any(map(_has_permissions, files.found)):
        return False
    config = load_config(options.sources)
    is_set = "permissions.import_claude" in config.origins
    return config.settings.permissions.import_claude if is_set else None


def _has_permissions(found: Found) -> bool:
    return found.kind == CLAUDE and "permission rule" in found.summary


def _rows(files: Inventory, trust: FolderTrust | None = None, *, imports: bool) -> Iterator[tuple[str, str]]:
    """Yield the files with their effect; with `trust`, also if they are used at present.

    Many harmless files of one folder that this version does not use are one row.
    """
    for _, group in groupby(files.found, _row_key):
        found = list(group)
        if len(found) > MOST_UNUSED:
            yield f"{files.label(found[0].path.parent)}/", f"{found[0].kind} · {len(found)} files{_UNUSED}"
            continue
        yield from (_row(files, each, trust, imports=imports) for each in found)
    for problem in files.problems:
        yield "", escape_controls(problem)


def _row_key(found: Found) -> tuple[str, Path]:
    is_alone = found.kind in LOADED or found.is_pinned
    return found.kind, found.path if is_alone else found.path.parent


def _row(files: Inventory, each: Found, trust: FolderTrust | None, *, imports: bool) -> tuple[str, str]:
    state = "" if trust is None else " · ignored" if each.path in trust.inert else " · used"
    if each.kind not in LOADED:
        state = _UNUSED
    elif not imports and _has_permissions(each):
        state += " · rules not imported"
    return files.label(each.path), one_line_name(f"{each.kind} · {each.summary}{state}")


def _about_changes(
    options: Options, files: Inventory, trust: FolderTrust, changed: Sequence[Found], *others: TrustChoice
) -> TrustQuestion:
    store = TrustStore(options.sources.trust_file)
    rows = [
        ("" if number else files.label(each.path), text)
        for each in changed
        for number, text in enumerate(_change(store.trusted_text(files, each), each))
    ]
    return TrustQuestion(
        files,
        trust,
        f"Files in {one_line_name(str(files.root))} have changed since you trusted it",
        "They can run programs or loosen permissions, so they have no effect until you trust their new content.",
        tuple(rows),
        (
            TrustChoice("later", "Not now", "ignore these files and ask again at the next start"),
            TrustChoice("trust", "Trust the changes", "use these files; ask again when one changes"),
            TrustChoice("never", "Ignore them", "do not ask about this content again"),
            *others,
        ),
    )


def _change(before: str | None, found: Found) -> Iterator[str]:
    """Yield what a changed file does, and its changed lines: those that are new first."""
    yield f"{found.kind} · {'new or changed' if before is None else 'changed'} · {one_line_name(found.summary)}"
    if before is None:
        return
    try:
        now = read_small_text(found.path, _LARGEST_SHOWN)
    except (OSError, ValueError):
        return
    lines = list(difflib.unified_diff(before.splitlines(), now.splitlines(), lineterm="", n=0))[2:]
    changed = sorted((line for line in lines if line[:1] in "+-"), key=lambda line: line[0])
    yield from (one_line_name(f"  {line[0]} {line[1:].strip()}") for line in changed[:_SHOWN_CHANGES])
    if len(changed) > _SHOWN_CHANGES:
        yield f"  and {len(changed) - _SHOWN_CHANGES} more lines"


def apply_answer(options: Options, asked: TrustQuestion, answer: TrustAnswer) -> tuple[Options, Settings]:
    """Store the answer and load the settings that apply with it.

    Raises:
        ConfigError: a configuration file is invalid.
    """
    problems: list[str] = []
    if answer == "import":
        # Imported here because few users give this answer.
        from cinch_tui.config.edit import set_in_file

        answer = "trust"
        try:
            set_in_file(options.sources.user_file, "permissions.import_claude", value=True)
        except ConfigError as error:
            problems.append(f"the permissions of Claude Code are not imported: {error}")
    try:
        options = _with_answer(options, asked.inventory, answer)
    except OSError as error:
        effect = "the folder is still trusted" if answer == "revoke" else "the answer applies until you quit"
        problems.append(f"{options.sources.trust_file} cannot be written ({error.strerror}): {effect}")
        options = _with_pins(options, session_pins(asked.inventory)) if answer == "trust" else options
    config = load_config(options.sources)
    options = replace(
        options,
        environ=config.environ,
        notices=(*config.notices, *problems),
        rules=config.rules,
        rule_examples=config.examples,
        servers=config.servers,
        apis=config.apis,
        language_servers=config.language_servers,
        hooks=config.hooks,
    )
    return options, config.settings


def _with_answer(options: Options, files: Inventory, answer: TrustAnswer) -> Options:
    store = TrustStore(options.sources.trust_file)
    match answer:
        case "trust" if files.can_be_stored:
            store.trust(files)
            return _with_pins(options, None)
        case "trust":
            return _with_pins(options, session_pins(files))
        case "never":
            store.refuse(files)
            return options
        case "revoke":
            store.forget(files)
            return _with_pins(options, None)
        case "later" | "import":
            return options


def _with_pins(options: Options, pins: Mapping[str, str] | None) -> Options:
    return replace(options, sources=replace(options.sources, session_pins=pins))


def skipped_notices(files: Inventory, trust: FolderTrust, *, headless: bool) -> tuple[str, ...]:
    """Return the notice about files that have no effect, if any. Configuration has a notice of its own."""
    inert = [each for each in files.found if each.path in trust.inert and each.kind != "configuration"]
    if not inert:
        return ()
    names = ", ".join(files.label(each.path) for each in inert[:3])
    more = f" and {len(inert) - 3} more" if len(inert) > 3 else ""
    reason = "they changed since you trusted this folder" if trust.is_trusted else "this folder is not trusted"
    remedy = "to use them, add --trust" if headless else "/trust shows and trusts them"
    return (escape_controls(f"Ignored: {names}{more}; {reason}; {remedy}."),)
