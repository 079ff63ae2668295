"""Mistakes that models make in the texts of an edit, and what the right outcome is."""

from __future__ import annotations

import html
import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from edit_corpus import RealEdit
from msgspec import Struct

Right: TypeAlias = Literal["apply", "refuse", "either"]
"""Right outcome: the file after the commit; a refusal; or, if the texts have several readings, one of both."""

_WORD = re.compile(r"[A-Za-z]{4,}")


class Trial(Struct, frozen=True):
    """One attempt to make an edit."""

    mistake: str
    edit: RealEdit
    before: str
    old: str
    new: str
    after: str
    right: Right


Lines: TypeAlias = list[str]
Mistaken: TypeAlias = tuple[str, str, Right]


def trials_of(edit: RealEdit, seed: int) -> list[Trial]:
    """Return the edit with each mistake that it can have."""
    trials: list[Trial] = []
    for name, make in MISTAKES:
        rng = random.Random(f"{seed} {name} {edit.name}")
        mistaken = make(edit, rng)
        if mistaken is None or mistaken[0] == mistaken[1]:
            continue
        old, new, right = mistaken
        exact_old, _ = edit.texts()
        if name != "none" and old == "\n".join(exact_old):
            continue  # the mistake is not visible in the old text
        pair = (edit.before, edit.after)
        if name == "file with CRLF":
            pair = (edit.before.replace("\n", "\r\n"), edit.after.replace("\n", "\r\n"))
        trials.append(Trial(name, edit, pair[0], old, new, pair[1], right))
    return trials


def _joined(old: Sequence[str], new: Sequence[str], right: Right = "apply") -> Mistaken:
    return "\n".join(old), "\n".join(new), right


def _none(edit: RealEdit, rng: random.Random) -> Mistaken | None:
    return _joined(*edit.texts())


def _each_line(edit: RealEdit, change: Callable[[str], str], right: Right = "apply") -> Mistaken | None:
    """Return the texts with every line changed; None if that loses what the edit is about."""
    old, new = edit.texts()
    if any(line and not line.strip() and change(line) != line for line in (*old, *new)):
        return None
    if any(one != other and change(one) == change(other) for one in edit.removed for other in edit.added):
        return None
    return _joined([change(line) for line in old], [change(line) for line in new], right)


def _trailing_spaces(edit: RealEdit, rng: random.Random) -> Mistaken | None:
    if any(line != line.rstrip() for line in edit.added):
        return None
    chosen = {line for line in edit.texts()[0] if rng.random() < 0.5}
    kept = {*edit.above, *edit.below}
    old, new = edit.texts()
    return _joined(
        [f"{line}  " if line in chosen else line for line in old],
        [f"{line}  " if line in chosen & kept and line not in edit.added else line for line in new],
    )


def _no_trailing_spaces(edit: RealEdit, rng: random.Random) -> Mistaken | None:
    if any(line != line.rstrip() for line in edit.added):
        return None
    return _each_line(edit, str.rstrip)


def _other_indentation(edit: RealEdit, rng: random.Random) -> Mistaken | None:
    old, new = edit.texts()
    if any(line.startswith("\t") for line in edit.lines):
        if any(line.lstrip("\t").startswith("    ") for line in (*old, *new)):
            return None  # what was a tab is lost
        return _each_line(edit, lambda line: _tabs_to_spaces(line))
    if any(line.lstrip(" ").startswith("\t") for line in (*old, *new)):
        return None
    unit = 2 if any(re.match(r"  \S", line) for line in edit.lines) else 4
    return _each_line(edit, lambda line: _spaces_to_tabs(line, unit))


def _tabs_to_spaces(line: str) -> str:
    bare = line.lstrip("\t")
    return "    " * (len(line) - len(bare)) + bare


def _spaces_to_tabs(line: str, unit: int) -> str:
    spaces = len(line) - len(line.lstrip(" "))
    return "\t" * (spaces // unit) + line[spaces // unit * unit :]


def _dedented(edit: RealEdit, rng: random.Random) -> Mistaken | None:
    old, new = edit.texts()
    indents = [line[: len(line) - len(line.lstrip())] for line in (*old, *new) if line.strip()]
    shared = min(indents, key=len)
    if not shared or any(not indent.startswith(shared) for indent in indents):
        return None
    mistaken = _each_line(edit, lambda line: line.removeprefix(shared))
    # A part of a line is exact, and what follows in the new text may be meant as it is.
    return None if mistaken and mistaken[0] in edit.before else mistaken


def _one_indent(edit: RealEdit, rng: random.Random) -> Mistaken | None:
    return _with_context_line(edit.widened(2), rng, lambda line: f" {line}" if line.strip() else line)


def _curly_quotes(edit: RealEdit, rng: random.Random) -> Mistaken | None:
    old, new = edit.texts()
    if any(char in text for text in (*old, *new) for char in "‘’“”"):
        return None
    return _each_line(edit, lambda line: re.sub(r'"([^"]*)"', r"“\1”", line.replace("'", "’")).replace('"', "”"))


def _crlf(edit: RealEdit, rng: random.Random) -> Mistaken | None:
    old, new = edit.texts()
    return ("\r\n".join(old), "\r\n".join(new), "apply") if len(old) > 1 else None


def _file_with_crlf(edit: RealEdit, rng: random.Random) -> Mistaken | None:
    old, new, right = _joined(*edit.texts())
    return (old + "\n", new + "\n", right) if len(edit.texts()[0]) > 1 else None


def _dropped_blank_line(edit: RealEdit, rng: random.Random) -> Mistaken | None:
    wide = edit.widened(3)
    places = [
        (part, number)
        for part, lines in (("above", wide.above), ("below", wide.below))
        for number, line in enumerate(lines)
        if not line.strip() and (number if part == "above" else len(lines) - 1 - number) > 0
    ]
    if not places:
        return None
    part, number = rng.choice(places)
    above, below = wide.above, wide.below
    between = above[number:] if part == "above" else below[:number]
    del (above if part == "above" else below)[number]
    # Next to lines that are only inserted or only removed, it is unknown on which side the blank line belongs.
    at_hunk = not any(line.strip() for line in between)
    one_sided = not wide.removed or not wide.added
    if at_hunk and wide.added and not wide.added[0 if part == "above" else -1].strip():
        return None  # the number of blank lines in the new text seems intended
    return _joined(
        [*above, *wide.removed, *below],
        [*above, *wide.added, *below],
        "either" if at_hunk and one_sided else "apply",
    )


def _added_blank_line(edit: RealEdit, rng: random.Random) -> Mistaken | None:
    wide = edit.widened(2)
    part = wide.above if len(wide.above) > 1 and rng.random() < 0.5 else wide.below
    inner = [number for number in range(1, len(part)) if part[number - 1].strip() and part[number].strip()]
    if not inner:
        return None
    number = rng.choice(inner)
    is_above = part[:] == wide.above and part is not wide.below
    above, below = wide.above, wide.below
    (above if is_above else below).insert(number, "")
    return _joined([*above, *wide.removed, *below], [*above, *wide.added, *below])


def _leading_blank_line(edit: RealEdit, rng: random.Random) -> Mistaken | None:
    old, new = edit.texts()
    # With the first line of the file, the blank line of the new text may be meant.
    right: Right = "either" if edit.first == 0 and old[0] != new[0] else "apply"
    if rng.random() < 0.5:
        return _joined(["", *old], ["", *new], right)
    is_there = edit.first > 0 and not edit.lines[edit.first - 1]
    return None if is_there else _joined(["", *old], new, right if new[0] == "" else "apply")


def _line_numbers(edit: RealEdit, rng: random.Random) -> Mistaken | None:
    old, new = edit.texts()
    numbered = [f"{edit.first + number + 1:>6}\t{line}" for number, line in enumerate(old)]
    if rng.random() < 0.5:
        return _joined(numbered, new)
    return _joined(numbered, [f"{edit.first + number + 1:>6}\t{line}" for number, line in enumerate(new)])


def _elided(edit: RealEdit, rng: random.Random) -> Mistaken | None:
    wide = edit.widened(8)
    above, below = wide.above, wide.below
    if len(above) < 6 and len(below) < 6:
        return None
    mark = rng.choice(["...", "# ... existing code ...", "// ...", "…"])
    if len(above) >= 6:
        above = [*above[:2], _indented(mark, above[2:-2]), *above[-2:]]
    if len(below) >= 6:
        below = [*below[:2], _indented(mark, below[2:-2]), *below[-2:]]
    changed_old = [*(above[-2:] if len(above) == 5 else above), *wide.removed]
    changed_old += below[:2] if len(below) == 5 else below
    is_clear = edit.before.count("\n".join(changed_old)) == 1
    return _joined([*above, *wide.removed, *below], [*above, *wide.added, *below], "apply" if is_clear else "either")


def _indented(mark: str, lines: Sequence[str]) -> str:
    indents = [line[: len(line) - len(line.lstrip())] for line in lines if line.strip()]
    return (min(indents, key=len) if indents else "") + mark


def _misremembered(edit: RealEdit, rng: random.Random) -> Mistaken | None:
    return _with_context_line(edit.widened(2), rng, lambda line: _altered(line, rng))


def _with_context_line(edit: RealEdit, rng: random.Random, change: Callable[[str], str]) -> Mistaken | None:
    above, below = edit.above, edit.below
    places = [(above, number) for number in range(len(above))] + [(below, number) for number in range(len(below))]
    places = [(part, number) for part, number in places if change(part[number]) != part[number]]
    if not places:
        return None
    part, number = rng.choice(places)
    part[number] = change(part[number])
    return _joined([*above, *edit.removed, *below], [*above, *edit.added, *below])


def _altered(line: str, rng: random.Random) -> str:
    """Return a line with one other letter in a word, or without one."""
    words = list(_WORD.finditer(line))
    if not words:
        return line
    word = rng.choice(words)
    at = rng.randrange(word.start() + 1, word.end() - 1)
    return line[:at] + rng.choice(["", "x", "_"]) + line[at + 1 :]


def _html_escaped(edit: RealEdit, rng: random.Random) -> Mistaken | None:
    return _each_line(edit, lambda line: html.escape(line, quote=False))


def _json_escaped(edit: RealEdit, rng: random.Random) -> Mistaken | None:
    old, new, right = _joined(*edit.texts())
    return json.dumps(old, ensure_ascii=False)[1:-1], json.dumps(new, ensure_ascii=False)[1:-1], right


def _escaped_quotes(edit: RealEdit, rng: random.Random) -> Mistaken | None:
    old, new, right = _joined(*edit.texts())
    if '\\"' in old + new:
        return None
    return old.replace('"', '\\"'), new.replace('"', '\\"'), right


def _newline_only_in_old(edit: RealEdit, rng: random.Random) -> Mistaken | None:
    old, new, right = _joined(*edit.texts())
    # Before a blank line, the text is exactly that of an edit that removes it.
    removes_blank_line = not edit.lines[edit.last]
    return None if removes_blank_line or "\n" in (old[-1:], new[-1:]) else (f"{old}\n", new, right)


def _truncated_ends(edit: RealEdit, rng: random.Random) -> Mistaken | None:
    above, below = edit.above, edit.below
    if not above or not below or min(len(above[0]), len(below[-1])) < 6:
        return None
    above[0], below[-1] = above[0][len(above[0]) // 2 :], below[-1][: len(below[-1]) // 2]
    old, new, _ = _joined([*above, *edit.removed, *below], [*above, *edit.added, *below])
    return old, new, "apply" if edit.before.count(old) == 1 else "refuse"


def _stale(edit: RealEdit, rng: random.Random) -> Mistaken | None:
    """The line to be replaced was another one."""
    removed = edit.removed
    places = [number for number, line in enumerate(removed) if _altered(line, rng) != line and line not in edit.added]
    if not places:
        return None
    number = rng.choice(places)
    removed[number] = _altered(removed[number], rng)
    return _joined([*edit.above, *removed, *edit.below], edit.texts()[1], "refuse")


def _ambiguous(edit: RealEdit, rng: random.Random) -> Mistaken | None:
    old = "\n".join(edit.removed)
    if not old.strip() or edit.before.count(old) < 2:
        return None
    return old, "\n".join(edit.added), "refuse"


def _placeholder(edit: RealEdit, rng: random.Random) -> Mistaken | None:
    """The new text has a comment in place of lines that the old text gives."""
    wide = edit.widened(4)
    if len(wide.below) < 3:
        return None
    old, _ = wide.texts()
    mark = rng.choice(["# ... rest of the code unchanged ...", "// ... existing code ..."])
    return _joined(old, [*wide.above, *wide.added, mark], "refuse")


MISTAKES: tuple[tuple[str, Callable[[RealEdit, random.Random], Mistaken | None]], ...] = (
    ("none", _none),
    ("trailing spaces added", _trailing_spaces),
    ("trailing spaces dropped", _no_trailing_spaces),
    ("tabs for spaces or the reverse", _other_indentation),
    ("shared indentation dropped", _dedented),
    ("one context line indented otherwise", _one_indent),
    ("typographic quotes", _curly_quotes),
    ("CRLF in the texts", _crlf),
    ("file with CRLF", _file_with_crlf),
    ("blank line dropped", _dropped_blank_line),
    ("blank line added", _added_blank_line),
    ("leading blank line", _leading_blank_line),
    ("copied line numbers", _line_numbers),
    ("elided lines", _elided),
    ("misremembered context line", _misremembered),
    ("HTML entities", _html_escaped),
    ("JSON escapes", _json_escaped),
    ("escaped quotes", _escaped_quotes),
    ("last newline only in the old text", _newline_only_in_old),
    ("truncated ends", _truncated_ends),
    ("stale: replaced line differs", _stale),
    ("ambiguous: too few lines", _ambiguous),
    ("placeholder in the new text", _placeholder),
)
