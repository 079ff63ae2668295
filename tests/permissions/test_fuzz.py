"""Generated commands: whatever is allowed is executed in the sandbox, and must change no file and open no socket.

`make fuzz` tries thousands.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from permissions import sandbox
from permissions.decisions import attempts, objection, table_names

from tools.shell.syntax import read_script
from tools.shell.tables import ProgramTable, load_table

EXAMPLES = os.environ.get("FUZZ_EXAMPLES", "")
FUZZ = settings(
    max_examples=int(EXAMPLES or 60),
    derandomize=not EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
FILES = ("README.md", "data.csv", "src", "src/app.py", "archive.tar", "data.csv.gz", "HEAD", "args.txt")
ODD = (
    "*.md",
    "src/*",
    "*",
    "-delete",
    "--output=x",
    "-ox",
    "$x",
    "$(cat args.txt)",
    ".env",
    "..",
    "{README.md,-la}",
    "''",
)
SCRIPTS = {
    "sed": ("1p", "s/x/y/", "$d", "/x/p", "s/x/y/w out", "w out", "1e ls"),
    "awk": ("1", "{print $1}", "NR>1", '{print > "out"}', 'BEGIN{system("ls")}', "{print /x/}"),
    "jq": (".", ".name", "keys", "env"),
    "date": ("+%s", "+%F", "01010000"),
    "git-key": ("user.name", "edit"),
    "pattern": ("x", "main", "-x"),
}
JOINTS = (" | ", " && ", "; ", " || ", "\n", " & ", " |& ", ";\n")
WRAPPERS = (
    "{}",
    "{}",
    "{}",
    "timeout 5 {}",
    "nice {}",
    "env LC_ALL=C {}",
    "env -v {}",
    "command {}",
    "({})",
    "{{ {}; }}",
)
AROUND = (
    "{}",
    "{}",
    "{}",
    "echo $({})",
    'echo "$({})"',
    "echo `{}`",
    "cat <({})",
    "if {}; then echo x; fi",
    "for f in README.md src/*.py; do {}; done",
    "! {}",
    "cd src && {}",
    "{} <README.md",
    "{} 2>&1",
    "{} >/dev/null",
    "{} > out",
    "cat <<EOF\n$({})\nEOF",
    "ls | xargs {}",
    "find src -type f -exec {} {{}} +",
    "bash -c {!r}",
    "f() {{ {}; }}; f",
    "while {}; do break; done",
    "[[ -n $({}) ]]",
    "x=$({}); echo $x",
)


@cache
def programs() -> list[tuple[tuple[str, ...], ProgramTable]]:
    """Return the commands of all tables that are installed here, with their subcommands."""
    tables = ((name, load_table(name)) for name in table_names() if shutil.which(name) and name not in ("sleep", "env"))
    return [found for name, table in tables if table is not None for found in _commands((name,), table)]


def _commands(words: tuple[str, ...], table: ProgramTable) -> Iterator[tuple[tuple[str, ...], ProgramTable]]:
    if table.verdict == "read" and not table.subcommands:
        yield words, table
    for name, sub in table.subcommands.items():
        yield from _commands((*words, name), sub)


@st.composite
def option(draw: st.DrawFn, table: ProgramTable) -> list[str]:
    """Return an option of the table, perhaps refused, perhaps abbreviated, with its value in some form."""
    names = sorted(table.options.arities)
    allowed = [name for name in names if name not in table.options.refused]
    name = draw(st.sampled_from(names if draw(st.integers(0, 9)) == 0 else allowed or ["--help"]))
    arity = table.options.arities.get(name, "none")
    value = draw(st.sampled_from(("1", "x", "2,3", "data.csv", "--output=x", "evil")))
    if name.startswith("--") and table.options.style != "single":
        given_name = name[: draw(st.integers(3, len(name)))] if draw(st.booleans()) else name
        forms = {"none": [given_name], "optional": [f"{given_name}={value}"], "one": [f"{given_name}={value}"]}
        return forms.get(arity, [given_name, value, value]) if draw(st.booleans()) else [given_name, value]
    letters = draw(st.sampled_from(("", *(each[1:] for each in allowed if len(each) == 2))))
    joined = f"-{letters}{name[1:]}" if len(name) == 2 and letters else name
    return [joined] if arity == "none" else [joined + value] if draw(st.booleans()) else [joined, value]


@st.composite
def quoted(draw: st.DrawFn, word: str) -> str:
    """Return a word in one of the ways to write it."""
    match draw(st.integers(0, 9)):
        case 0:
            return shlex.quote(word)
        case 1:
            return f'"{word}"'
        case 2:
            return "".join(f"\\{letter}" if not letter.isspace() else letter for letter in word)
        case 3:
            at = draw(st.integers(0, len(word)))
            return f"{word[:at]}''{word[at:]}"
        case 4:
            return f"$'{word}'"
        case _:
            return word if shlex.quote(word) == word or word in ODD else shlex.quote(word)


@st.composite
def simple(draw: st.DrawFn) -> str:
    name, table = draw(st.sampled_from(programs()))
    words: list[str] = []
    for _ in range(draw(st.integers(0, 3)) if table.options.arities else 0):
        words += draw(option(table))
    if table.requires and draw(st.integers(0, 4)):
        words.append(draw(st.sampled_from(sorted(table.requires))))
    if table.language and draw(st.integers(0, 4)):
        words.append(draw(st.sampled_from(SCRIPTS[table.language])))
    if table.operands != "none":
        operand = st.sampled_from(ODD if draw(st.integers(0, 5)) == 0 else FILES)
        words += draw(st.lists(operand, max_size=2))
    if draw(st.integers(0, 9)) == 0:
        words = draw(st.permutations(words))
    return draw(st.sampled_from(WRAPPERS)).format(" ".join([*name, *(draw(quoted(word)) for word in words)]))


@st.composite
def line(draw: st.DrawFn) -> str:
    text = draw(simple())
    for _ in range(draw(st.sampled_from((0, 0, 0, 1, 2)))):
        text += draw(st.sampled_from(JOINTS)) + draw(simple())
    return draw(st.sampled_from(AROUND)).format(text)


@given(command=line())
@FUZZ
def test_generated_command_that_is_allowed_only_reads(box: sandbox.Sandbox, trapped: Path, command: str) -> None:
    assume("\0" not in command)
    is_allowed = not objection(command, trapped)
    event(f"allowed: {is_allowed}")
    if is_allowed:
        result = box.run(command)
        assert attempts(result) == []
        assert result.status is not None


WORDS = st.lists(
    st.one_of(
        st.sampled_from(
            ["a", "b ", " ", "'", '"', "\\", "$", "{", "}", ",", "..", "~", "#", "=", "\n", "\t", "[", "]", "*"]
        ),
        st.sampled_from(
            ["$'", '$"', "\\\n", "a{b,c}d", "{1..3}", "'x y'", '"x y"', "\\ ", "é", "!", "%", "^", "?", "-"]
        ),
    ),
    max_size=12,
).map("".join)


@given(text=WORDS)
@FUZZ
def test_words_are_read_as_bash_reads_them(box: sandbox.Sandbox, text: str) -> None:
    command = f"printf '<%s>' x {text}"
    script = read_script(command)
    is_one = not script.is_opaque and len(script.commands) == 1 and not script.commands[0].redirects
    words = script.commands[0].words if is_one else ()
    is_known = is_one and all(word.is_literal and not (word.text or "").startswith(("~", "./~")) for word in words)
    event(f"known: {is_known}")
    if is_known:
        expected = "".join(f"<{word.text}>" for word in words[2:])
        assert box.run(command).output == expected
