"""The question about a folder: its text for every front end, and the effect of the answer."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from cinch_tui.config.layers import load_config
from cinch_tui.trust.inventory import LOADED, Found, Inventory, inventory
from cinch_tui.trust.store import FolderTrust, TrustAnswer, TrustStore, session_pins
from harness.terminal_text import escape_controls
from harness.workspace.disk import read_small_text

if TYPE_CHECKING:
    from pathlib import Path

    from cinch_tui.config.options import Options
    from cinch_tui.config.settings import Settings

_SHOWN_CHANGES = 4
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


def pending_question(options: Options) -> TrustQuestion | None:
    """Return the question that has to be asked before the agent is created, or None. Reads files."""
    files, trust = folder_state(options)
    return question(options, files, trust) if trust.must_ask else None


def question(options: Options, files: Inventory, trust: FolderTrust) -> TrustQuestion:
    """Return the question about a folder: about its changed files if it is trusted, else about all."""
    if trust.changed:
        return _about_changes(TrustStore(options.sources.trust_file), files, trust)
    store = "" if files.can_be_stored else ", for this session only"
    rows = [(escape_controls(files.shown(each.path)), _effect(each)) for each in files.found]
    rows += [("", escape_controls(problem)) for problem in files.problems]
    return TrustQuestion(
        files,
        trust,
        f"Do you trust the files in {escape_controls(str(files.root))}?",
        "These files change how cinch works: they can instruct the model, run programs and loosen permissions. "
        "Trust them only if you know who wrote them. Without trust they are ignored, and everything else works.",
        tuple(rows),
        (
            TrustChoice("later", "Not now", "ignore these files and ask again at the next start"),
            TrustChoice(
                "trust", "Trust this folder", f"use these files{store}; ask again when one that can run code changes"
            ),
            TrustChoice("never", "Never", "do not ask again; cinch config trust changes that"),
        ),
    )


def _effect(found: Found) -> str:
    unused = "" if found.kind in LOADED else " · not used by this version"
    return escape_controls(f"{found.kind} · {found.summary}{unused}")


def _about_changes(store: TrustStore, files: Inventory, trust: FolderTrust) -> TrustQuestion:
    rows = [
        (escape_controls(files.shown(each.path)), f"{each.kind} · {_change(store.trusted_text(files, each), each)}")
        for each in trust.changed
    ]
    return TrustQuestion(
        files,
        trust,
        f"Files in {escape_controls(str(files.root))} have changed since you trusted it",
        "They can run programs or loosen permissions, so they have no effect until you trust their new content.",
        tuple(rows),
        (
            TrustChoice("later", "Not now", "ignore these files and ask again at the next start"),
            TrustChoice("trust", "Trust the changes", "use these files; ask again when one changes"),
            TrustChoice("never", "Ignore them", "do not ask about this content again"),
        ),
    )


def _change(before: str | None, found: Found) -> str:
    """Return a short description of what changed in a file."""
    if before is None:
        return f"new or changed; {found.summary}"
    try:
        now = read_small_text(found.path, _LARGEST_SHOWN)
    except (OSError, ValueError):
        return f"changed; {found.summary}"
    lines = list(difflib.unified_diff(before.splitlines(), now.splitlines(), lineterm="", n=0))[2:]
    changed = [escape_controls(line[:1] + " " + line[1:].strip()) for line in lines if line[:1] in "+-"]
    more = f" and {len(changed) - _SHOWN_CHANGES} more" if len(changed) > _SHOWN_CHANGES else ""
    return f"changed: {'; '.join(changed[:_SHOWN_CHANGES])}{more}"


def apply_answer(options: Options, asked: TrustQuestion, answer: TrustAnswer) -> tuple[Options, Settings]:
    """Store the answer and load the settings that apply with it.

    Raises:
        ConfigError: a configuration file is invalid.
    """
    problem = ""
    try:
        match answer:
            case "trust" if asked.inventory.can_be_stored:
                TrustStore(options.sources.trust_file).trust(asked.inventory)
            case "trust":
                options = _for_session(options, asked.inventory)
            case "never":
                TrustStore(options.sources.trust_file).refuse(asked.inventory)
            case "later":
                pass
    except OSError as error:
        problem = (
            f"{options.sources.trust_file} cannot be written ({error.strerror}): the answer applies until you quit"
        )
        options = _for_session(options, asked.inventory) if answer == "trust" else options
    config = load_config(options.sources)
    notices = (*config.notices, problem) if problem else config.notices
    options = replace(options, notices=notices, rules=config.rules, rule_examples=config.examples)
    return options, config.settings


def _for_session(options: Options, files: Inventory) -> Options:
    return replace(options, sources=replace(options.sources, session_pins=session_pins(files)))


def skipped_notices(files: Inventory, trust: FolderTrust, *, headless: bool) -> tuple[str, ...]:
    """Return the notice about files that have no effect, if any. Configuration has a notice of its own."""
    inert = [each for each in files.found if each.path in trust.inert and each.kind != "configuration"]
    if not inert:
        return ()
    names = ", ".join(files.shown(each.path) for each in inert[:3])
    more = f" and {len(inert) - 3} more" if len(inert) > 3 else ""
    reason = "they changed since you trusted this folder" if trust.is_trusted else "this folder is not trusted"
    remedy = "to use them, add --trust" if headless else "to use them, run: cinch config trust"
    return (escape_controls(f"Ignored: {names}{more}; {reason}; {remedy}."),)
