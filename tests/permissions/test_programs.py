"""Judgement of simple commands by the tables of their programs. The whole line is the subject of `test_corpus.py`."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess

import pytest
from permissions.decisions import table_names

from tools.shell.expressions import judge_find
from tools.shell.options import OptionTable, parse_options, resolve
from tools.shell.programs import judge
from tools.shell.tables import Judgement, load_table
from tools.shell.words import Word


def words(line: str) -> list[Word]:
    """Return the words of a line in which `?x` stands for a word known only at run time, and `*` for a glob."""
    return [
        Word(text=None, prefix=word[1:]) if word.startswith("?") else Word(text=word, is_glob="*" in word)
        for word in shlex.split(line)
    ]


def judged(line: str) -> Judgement:
    return judge(words(line))


def paths(line: str) -> list[tuple[str, str]]:
    return [(access.path, access.kind) for access in judged(line).accesses]


OPTIONS = OptionTable(
    parse_options("-a --all -k: --key= -p? --color[] --colorful --arg== --out="), {"--out": "writes a file"}
)


def names(line: str, table: OptionTable = OPTIONS) -> list[tuple[str, str | None]]:
    return [
        (option.name, option.value.text if option.value else None) for option in resolve(table, words(line)).options
    ]


def test_letters_may_be_joined_and_carry_their_value() -> None:
    assert names("-ak2 -k 3 -p -p4") == [("-a", None), ("-k", "2"), ("-k", "3"), ("-p", None), ("-p", "4")]


def test_long_options_carry_their_value_in_either_form() -> None:
    assert names("--key=2 --key 3 --color --color=x --arg a b") == [
        ("--key", "2"),
        ("--key", "3"),
        ("--color", None),
        ("--color", "x"),
        ("--arg", "b"),
    ]


def test_abbreviation_resolves_to_the_refused_option() -> None:
    assert names("--o x") == [("--out", "x")]
    assert resolve(OPTIONS, words("--ou=x")).problem == "option --out writes a file"


def test_ambiguous_abbreviation_is_a_problem() -> None:
    assert resolve(OPTIONS, words("--colo")).problem == "ambiguous option --colo"
    assert resolve(OPTIONS, words("--color")).problem == ""


@pytest.mark.parametrize("line", ["-z", "-az", "--unknown", "--all=x", "-k", "--key", "--arg a"])
def test_unknown_or_incomplete_option_is_a_problem(line: str) -> None:
    assert resolve(OPTIONS, words(line)).problem


def test_double_dash_ends_options() -> None:
    found = resolve(OPTIONS, words("x -a -- --out -z"))
    assert [word.text for word in found.operands] == ["x", "--out", "-z"]
    assert found.problem == ""


def test_posix_program_ends_options_at_its_first_operand() -> None:
    found = resolve(OptionTable(OPTIONS.arities, style="posix"), words("-a x -z --unknown"))
    assert [word.text for word in found.operands] == ["x", "-z", "--unknown"]
    assert found.problem == ""


def test_old_style_letters_take_their_values_from_the_words_after_them() -> None:
    table = OptionTable(parse_options("-t -f: -b:"), style="bsd")
    assert names("tfb a.tar 20 x", table) == [("-t", None), ("-f", "a.tar"), ("-b", "20")]


@pytest.mark.parametrize("line", ["?", "?-", "*", "?x -z"])
def test_word_that_may_become_an_option_is_uncertain(line: str) -> None:
    found = resolve(OPTIONS, words(line))
    assert found.uncertain or found.problem


def test_words_with_a_known_beginning_are_operands() -> None:
    assert resolve(OPTIONS, words("?src/ ./*.py src/*")).uncertain == []


READ = [
    "ls -la src",
    "ls *.md",
    "wc -l *.py",
    "sort -k2,2 -t, data.csv",
    "grep -rn --include=*.py x src",
    "grep -e ? README.md",
    "rg -tpy -g x.py x",
    "find . ( -name *.py -o -name x ) -newer y -print0",
    "sed -n '1,5p;/x/d' f",
    "awk '{print $1}' f",
    "jq -r --arg a b .x f",
    "date -u +%F",
    "echo ? -n --anything",
    "printf %s ?",
    "basename ?",
    "/usr/bin/wc -l f",
    "tar tzf a.tgz",
    "git -C sub --no-pager log -5 --format=%h -- src",
    "git branch --list x*",
    "git config user.name",
    "git remote -v",
    "git reflog -5",
    "[ -f x ]",
    "[ ? = y ]",
    "test ! -d src",
    "test 1 -lt 2 -a -n x",
]


@pytest.mark.parametrize("line", READ)
def test_command_that_only_reads(line: str) -> None:
    assert judged(line) == Judgement("read", "", judged(line).accesses)


OTHER = {
    "?": "the program is only known when the command runs",
    "./ls": "./ls is not known to be read-only",
    "evil x": "evil is not known to be read-only",
    "sort --comp evil f": "option --compress-program of sort runs another program",
    "sort -nro x f": "option -o of sort writes a file",
    "sort --zzz f": "sort --zzz is not known to be read-only",
    "sort *": "an argument of sort may be an option when the command runs",
    "sort ? f": "an argument of sort may be an option when the command runs",
    "wc *": "an argument of wc may be an option when the command runs",
    "env -u X ls": "option -u of env removes settings",
    "sed -l 's/a/b/' f": "option -l of sed means different things",
    "cat ?src/": "a file of cat is only known when the command runs",
    "printf ? x": "an argument of printf may be an option when the command runs",
    "uniq a b": "uniq writes its second operand",
    "uniq a*": "uniq writes its second operand",
    "tail -nf": "",
    "tail -f x": "option -f of tail may never end",
    "gzip f": "gzip only reads with one of",
    "make test": "make is not known to be read-only",
    "tar tfI a evil": "option -I of tar runs another program",
    "tar -tf host:a": "the value of option -f of tar may contain :",
    "rg --pre=evil x": "option --pre of rg runs another program",
    "rg --pr=evil x": "rg --pr is not known to be read-only",
    "find . -delete": "-delete of find deletes files",
    "find . -evil": "unknown part of the expression of find: -evil",
    "find * -name x": "a folder of find",
    "find . -name *": "the value of -name of find",
    "find . -exec a {} ; -exec b {} ;": "find runs more than one command",
    "sed 's/a/b/w x' f": "the program text of sed writes the result",
    "sed -e ? f": "the program text of sed is only known",
    "awk 'BEGIN{system(1)}'": "the program text of awk runs a command",
    "jq env": "the program text of jq uses env",
    "date 0101": "the program text of date sets the clock",
    "git log --outp=x": "option --output of git log writes a file",
    "git -c a=b log": "option -c of git changes settings",
    "git branch new": "git branch with an operand may change something",
    "git branch -vD x": "option -D of git branch deletes a branch",
    "git reflog expire": "git reflog expire is not known to be read-only",
    "git config edit": "the program text of git config is not the name of a setting",
    "git config a.b c": "git config with an operand is not known to be read-only",
    "git evil": "git evil is not known to be read-only",
    "git show --format=%G?": "the value of option --format of git show may contain %G",
    "ps auxe": "unknown arguments of ps: auxe",
    "env": "env without an operand",
    "[ -v a ]": "the expression of test",
    "[ ? a ]": "the expression of test",
    "[ -f x": "[ without ]",
    "cp a b": "cp writes files",
}


@pytest.mark.parametrize(("line", "why"), OTHER.items())
def test_command_that_may_do_more_says_why(line: str, why: str) -> None:
    found = judged(line)
    if why:
        assert found.verdict == "other"
        assert found.why.startswith(why)


ACCESSES = {
    "ls": [(".", "list")],
    "cat a - b*": [("a", "read"), ("b*", "read")],
    "grep x f": [("f", "read")],
    "grep -f p f": [("p", "read"), ("f", "read")],
    "grep -r x": [(".", "search")],
    "rg x": [(".", "search")],
    "rg --files src": [("src", "list")],
    "find src -name x": [("src", "list")],
    "find -exec wc {} +": [(".", "search")],
    "diff -r a b": [("a", "search"), ("b", "search")],
    "git show HEAD:.env": [(".env", "read")],
    "git log :/fix": [("fix", "read")],
    "echo ../*": [("../*", "list")],
    "sort -o x f": [("x", "write"), ("f", "read")],
    "cp -t .git/hooks x": [(".git/hooks", "write"), ("x", "read")],
    "cp a b .git": [("a", "read"), ("b", "read"), (".git", "write")],
    "touch .git/x": [(".git/x", "write")],
    "touch --unknown .git/x": [(".git/x", "write")],
    "dd if=a of=b": [("a", "read"), ("b", "write")],
    "sed -i s/a/b/ .git/config": [(".git/config", "write")],
    "curl -o .git/hooks/x http://x": [(".git/hooks/x", "write")],
    "test a -nt b": [("a", "list"), ("b", "list")],
}


@pytest.mark.parametrize(("line", "accesses"), ACCESSES.items())
def test_paths_of_a_command_are_known(line: str, accesses: list[tuple[str, str]]) -> None:
    assert paths(line) == accesses


def test_git_in_another_folder_names_paths_relative_to_it() -> None:
    accesses = judged("git -C sub -C deep log -- f").accesses
    assert [(access.path, access.cwd) for access in accesses] == [("sub", ""), ("deep", ""), ("f", "sub/deep")]


@pytest.mark.parametrize(
    ("line", "inner"),
    [
        ("timeout -k 5 10 ls -l", "ls -l"),
        ("nice -n 5 ls -l", "ls -l"),
        ("env -v ls -l", "ls -l"),
        ("xargs -0 -n1 wc -l", "wc -l"),
        ("find . -exec grep x y ;", "grep x y"),
    ],
)
def test_command_of_a_wrapper_is_returned(line: str, inner: str) -> None:
    found = judged(line)
    assert found.verdict == "read"
    assert found.inner is not None
    assert [word.text for word in found.inner] == inner.split()


def test_file_given_to_the_command_of_find_lies_below_its_folder() -> None:
    inner = judge_find(words("find src -exec wc {} +")).inner
    assert inner is not None
    assert inner[1] == Word(text=None, prefix="src", folder="src")


@pytest.mark.parametrize(
    ("line", "follows"),
    [
        ("grep -r x src", False),
        ("grep -R x src", True),
        ("diff -r a b", True),
        ("diff -r --no-dereference a b", False),
        ("find src -exec wc {} +", True),
        ("find src -type f -exec wc {} +", False),
        ("find -L src -type f -exec wc {} +", True),
    ],
)
def test_search_that_follows_links_says_so(line: str, follows: bool) -> None:
    assert {access.is_listed for access in judged(line).accesses} == {follows}


def test_every_table_can_be_loaded() -> None:
    assert len(table_names()) >= 110
    assert all(load_table(name) for name in table_names())


LONG_OPTION = re.compile(r"(?<![\w-])--[a-z0-9][a-z0-9-]+")
WITH_HELP = [name for name in table_names() if shutil.which(name)]


def help_options(name: str) -> set[str]:
    done = subprocess.run(
        [name, "--help"], capture_output=True, text=True, timeout=20, check=False, stdin=subprocess.DEVNULL
    )
    return set(LONG_OPTION.findall(done.stdout))


def test_abbreviations_mean_the_same_option_as_in_the_installed_programs() -> None:
    """A name that a program lacks would be an abbreviation of one that the table lacks."""
    known = installed = 0
    for name in WITH_HELP:
        table = load_table(name)
        assert table is not None
        if table.subcommands or table.requires or table.verdict == "other" or not table.options.abbreviates:
            continue
        found, listed = help_options(name), {each for each in table.options.arities if each.startswith("--")}
        hidden = {other for other in found - listed for each in listed - found if other.startswith(each)}
        assert hidden == set(), name
        known += len(found & listed)
        installed += len(found)
    assert known >= 0.9 * installed
