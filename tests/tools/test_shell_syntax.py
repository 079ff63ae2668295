from __future__ import annotations

import subprocess

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tools.shell.syntax import Command, Script, read_script


def shown(command: Command) -> str:
    """Return the words of a command; an unknown one as `?` after its literal beginning."""
    return " ".join(f"{word.prefix}?" if word.text is None else word.text for word in command.words)


def commands(text: str) -> list[str]:
    script = read_script(text)
    assert not script.is_opaque, script.why
    return [shown(command) for command in script.commands if command.words]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a | b |& c", ["a", "b", "c"]),
        ("a && b || c; d & e", ["a", "b", "c", "d", "e"]),
        ("(a; b); { c; }", ["a", "b", "c"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("while a; do b; done; until c; do d; done", ["a", "b", "c", "d"]),
        ('for x in 1 $(a); do b "$x"; done', ["a", "b ?"]),
        ("case $x in a|b) c;; (*) d; esac", ["c", "d"]),
        ("f() { a; }; function g { b; }; f", ["a", "b", "f"]),
        ("! a && ! b", ["a", "b"]),
        ('echo "$(a "$(b)")" `c`', ["b", "a ?", "c", "echo ? ?"]),
        ("echo `a \\`b\\``", ["b", "a ?", "echo ?"]),
        ("diff <(a) <(b) > >(c)", ["a", "b", "c", "diff /dev/stdin /dev/stdin"]),
        ("echo ${x:-$(a)} ${y:+`b`}", ["a", "b", "echo ? ?"]),
        ("cat <<END\n$(a) `b` $x\nEND\nc", ["cat", "a", "b", "c"]),
        ("cat <<'END'\n$(a)\nEND\nc", ["cat", "c"]),
        ("cat <<-E\n\tx\n\tE\nc", ["cat", "c"]),
        ("cat <<< $(a)", ["a", "cat"]),
        ("x=$(a) b; y=`c`", ["a", "b", "c"]),
        ("[[ -f $(a) && b =~ ^(c|d)$ ]] && e", ["a", "[[ -f ? && b =~ ^(c|d)$ ]]", "e"]),
        ("a # b; c\nd", ["a", "d"]),
        ("rm >log -rf x", ["rm -rf x"]),
    ],
)
def test_every_command_is_found(text: str, expected: list[str]) -> None:
    found = commands(text)

    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("r''m", "rm"),
        ("\\rm", "rm"),
        ('"a b"', "a b"),
        ("'a'\"b\"c", "abc"),
        ("$'a\\tb\\x41'", "a\tbA"),
        ('"\\$x \\` \\a"', "$x ` \\a"),
        ("a{b,c{1..3}}d", "abd ac1d ac2d ac3d"),
        ("{-l,-a}", "-l -a"),
        ("'{a,b}'", "{a,b}"),
        ("{a,b", "{a,b"),
        ("{}", "{}"),
        ("~/x", "~/x"),
        ("$HOME/x", "~/x"),
        ("'~/x'", "./~/x"),
        ("\\~", "./~"),
        ("a$HOME", "a?"),
        ('"$HOME"x', "?"),
        ('"$PWD/x"', "./x"),
        ('"src/$x"', "src/?"),
        ("~+", "?"),
    ],
)
def test_words_are_what_bash_makes_of_them(word: str, expected: str) -> None:
    assert commands(f"echo {word}") == [f"echo {expected}"]


def test_quoted_special_characters_of_a_glob_are_in_brackets() -> None:
    (command,) = read_script("ls '*'.py* [a-z]").commands

    assert [(word.text, word.is_glob) for word in command.words[1:]] == [("[*].py*", True), ("[a-z]", True)]


@pytest.mark.parametrize(("word", "is_single"), [('"$x"', True), ("$x", False), ('"$@"', False), ("$(a)", False)])
def test_word_that_bash_splits_is_not_single(word: str, is_single: bool) -> None:
    command = read_script(f"ls {word}").commands[-1]

    assert command.words[1].is_single is is_single


# Each of these is something that bash does and the tree of tree-sitter-bash does not show.
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cat <<E\n`touch x`\nE", "touch x"),
        ("echo ${x:-`touch x`}", "touch x"),
        ("echo {-l,-a}", "echo -l -a"),
    ],
)
def test_command_that_the_tree_hides_is_found(text: str, expected: str) -> None:
    assert expected in [shown(command) for command in read_script(text).commands]


@pytest.mark.parametrize(
    "text",
    [
        "l\\\ns",
        "echo a \\ b",
        "ls\r",
        "ls\fx",
        "ls \u00a0x",
        "echo \u202ex",
        "coproc N { ls; }",
        'echo $"x"',
        "echo $((x))",
        "echo ${!x}",
        "echo ${x@P}",
        "echo ${a[$x]}",
        "echo ${x:=1}",
        "((x))",
        "echo $[x]",
        "cat <<E\nx",
        "select x in a; do b; done",
        "echo 'a",
        "ls | | wc",
        "f() { cd x; }; f; ls",
        "for x in a b; do cd $x; done; ls",
        pytest.param("ls " + "x " * 30_000, id="long"),
        pytest.param("echo " + "$(" * 100 + "a" + ")" * 100, id="deep"),
    ],
)
def test_text_that_may_do_more_than_it_shows_is_opaque(text: str) -> None:
    script = read_script(text)

    assert script.is_opaque
    assert script.why


def test_device_of_an_input_redirection_is_kept() -> None:
    (command,) = read_script("cat </dev/tcp/host/80").commands

    assert [(each.operator, each.target.text) for each in command.redirects] == [("<", "/dev/tcp/host/80")]


def test_redirections_of_compound_commands_are_found() -> None:
    script = read_script("{ a; } 2>x; while b; do c; done < y")

    found = [(each.descriptor + each.operator, each.target.text) for c in script.commands for each in c.redirects]
    assert found == [("2>", "x"), ("<", "y")]


def folders(text: str) -> dict[str, tuple[str, ...]]:
    return {shown(command): command.folders for command in read_script(text).commands}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cd a && ls", ("a",)),
        ("cd a && cd ../b && ls", ("b",)),
        ("cd a; ls", ("", "a")),
        ("cd a || exit; ls", ("", "a")),
        ("(cd a); ls", ("",)),
        ("cd a | b; ls", ("",)),
        ("cd a & ls", ("",)),
        ("cd $x && ls", ()),
        ("pushd a && ls", ()),
        ("cd a/b && ls; cd /c && ls", ("/c",)),
        ("cd a || cd /b; ls", ("", "/b", "a")),
        ("a || cd b && ls", ("", "b")),
        ("a && cd b && ls", ("b",)),
        ("{ cd a && b; }; ls", ("", "a")),
        ("cd && ls", ("~",)),
        ("for d in a b; do (cd $d && ls); done", ("a", "b")),
    ],
)
def test_folders_of_a_command_follow_cd(text: str, expected: tuple[str, ...]) -> None:
    assert folders(text)["ls"] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for x in a b; do ls $x; done", ["ls a", "ls b"]),
        ('for x in *.py; do ls "$x"; done', ["ls *.py"]),
        ("d=src; ls $d/x", ["ls src/x"]),
        ("d=src; d=b; ls $d", ["ls ?"]),
        ("a && d=src; ls $d", ["ls ?"]),
        ("if a; then d=src; fi; ls $d", ["ls ?"]),
        ("d=src | ls $d", ["ls ?"]),
        ("d=src; read -r d; ls $d", ["ls ?"]),
        ("for x in a; do x=b; ls $x; done", ["ls ?"]),
        ("d='a -b'; ls $d", ["ls ?"]),
        ("d=$HOME; ls link$d", ["ls link?"]),
        ("d=~; ls link$d", ["ls link?"]),
        ("d=./src; ls $d", ["ls ./src"]),
        ("for x in a b; do for y in c d; do ls $x/$y; done; done", ["ls a/c", "ls a/d", "ls b/c", "ls b/d"]),
    ],
)
def test_variable_with_a_known_value_is_replaced(text: str, expected: list[str]) -> None:
    assert [each for each in (shown(c) for c in read_script(text).commands) if each.startswith("ls")] == expected


def test_sources_of_a_command_are_those_before_it_in_its_pipeline() -> None:
    script = read_script("x; a | tee b | { c; d; }")

    assert {shown(command): command.sources for command in script.commands} == {
        "x": (),
        "a": (),
        "tee b": (1,),
        "c": (1, 2),
        "d": (1, 2),
    }


@pytest.mark.parametrize("text", [":(){ :|:& };:", "b() { b & }", "f() { f; f; }", "f() { f | f; }"])
def test_function_that_multiplies_itself_is_a_bomb(text: str) -> None:
    assert read_script(text).is_bomb


def test_function_that_calls_itself_once_is_not_a_bomb() -> None:
    assert not read_script("f() { ls; f; }").is_bomb


@given(st.text(max_size=60) | st.text(alphabet="ab '\"\\$(){}<>|&;`\n[]*~#=!-", max_size=60))
def test_reading_never_raises(text: str) -> None:
    assert isinstance(read_script(text), Script)


# No character of these starts a command, an expansion or a redirection: bash runs nothing but printf.
_PIECES = [
    "a",
    "-x",
    "{",
    ",",
    "}",
    "..",
    "1",
    '"',
    "'",
    "\\",
    " ",
    "\t",
    "$'",
    "#",
    "=",
    "é",
    "{a,b}",
    "{1..3}",
    "\\n",
]


@given(st.lists(st.sampled_from(_PIECES), min_size=1, max_size=9).map("".join))
@example("a\\ b{c,\"d e\"}$'\\x41'")
def test_words_are_those_of_real_bash(words: str) -> None:
    text = f"printf '%s\\0' {words}"
    script = read_script(text)

    done = subprocess.run(["bash", "--norc", "-c", text], capture_output=True, timeout=10, check=False)

    if done.returncode or done.stderr:
        assert script.is_opaque
    elif not script.is_opaque:
        ours = [word.text for word in script.commands[0].words[2:]]
        assume(None not in ours)
        assert (ours or [""]) == done.stdout.decode().split("\0")[:-1]
