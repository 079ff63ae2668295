from __future__ import annotations

import pytest
from msgspec.structs import replace

from harness.risk import PathAccess
from tools.shell.analysis import analyze

LISTED = PathAccess("src", "list")
FILES = PathAccess("src", "search", is_listed=True)


def level(command: str) -> str:
    return analyze(command).risk.level


@pytest.mark.parametrize(
    "command",
    [
        "ls -la | head -5",
        "cd src && git status; git log --oneline -3",
        "if [ -d src ]; then ls src; else echo no; fi",
        'while read -r line; do echo "$line"; done < notes.txt',
        'for f in *.py; do wc -l "$f"; done',
        "x=1; y=$(ls); echo $x",
        "f() { ls; }; f",
        "ls >/dev/null 2>&1",
        "cat <<< text",
        "cat <<END\n$(git log)\nEND",
        "diff <(sort a) <(sort b)",
        "set -euo pipefail; ls",
        "[[ -f x && $y == a* ]] && echo yes",
        "[[ 1 -eq 2 ]]",
        "! grep -q x y",
        "LC_ALL=C sort x",
        "GIT_PAGER=cat git diff",
        "TZ=Europe/Berlin date",
        "timeout 5 env LC_ALL=C nice -n 5 sort x",
        "command -v ls",
        "find . -exec grep -n x {} +",
        "find src -name '*.py' | grep -v test | xargs grep -n foo | head",
        "git ls-files -z | xargs -0 wc -l",
        "find src | xargs -I{} cat {}",
        "cat $(git ls-files)",
        "find . 2>/dev/null | xargs cat 2>/dev/null",
        "x=ls; $x",
        "bash -c 'ls | wc -l'",
        "sh -ec 'cd src; cat x'",
        "timeout 5 bash -c 'ls'",
    ],
)
def test_command_line_of_commands_that_read_only_reads(command: str) -> None:
    risk = analyze(command).risk

    assert risk.level == "read", risk
    assert risk.access == "read"


@pytest.mark.parametrize(
    "command",
    [
        "make",
        "ls; make",
        "echo $(make)",
        "echo `make`",
        "cat <<END\n`make`\nEND",
        "echo ${x:-$(make)}",
        "f() { make; }; f",
        "ls > out",
        "ls >& out",
        "ls &> out",
        "{ ls; } > out",
        "ls <> out",
        "ls > $x",
        "cat < $x",
        "cat < /dev/tcp/host/80",
        "PATH=/x ls",
        "GIT_PAGER=evil git log",
        "GIT_SSH=x git log",
        "LANG=../x ls",
        "TZ=/etc/x date",
        "PATH=/x",
        "http_proxy=x",
        "export A=1",
        "IFS=x; ls",
        "env A=1 ls",
        "env",
        "env A=1",
        "ls &",
        "$x",
        "$(ls)",
        "./ls",
        "bin/ls",
        "cat $x",
        'cat "$x"',
        "echo x | xargs cat",
        "find . -printf '%p' | xargs cat",
        "grep -r x . | xargs cat",
        "find . | sed s/a/b/ | xargs cat",
        "find . | grep -o /etc/passwd | xargs cat",
        "find . | tail -c 12 | xargs cat",
        "find . | grep $x | xargs cat",
        "xargs -I% sh -c % < x",
        "find . -exec sh -c 'make' \\;",
        "find . -exec sh -c 'ls {}' \\;",
        "bash -c make",
        "bash -lc ls",
        'bash -c "ls $x"',
        "bash script.sh",
        "eval ls",
        "source x",
        "command -p ls",
        "builtin eval ls",
        "sudo ls",
        "watch ls",
        "nohup ls",
        "flock x ls",
        "time -o x ls",
        "trap ls EXIT",
        "shopt -s extglob",
        "set -x y",
        "set -o vi",
        "hash -p x ls",
        "alias ls=x",
        "printf -v x y",
        "test -v 'a[$(x)]'",
        "[[ -v a ]]",
        "[[ $x -eq 1 ]]",
        "[[ 'a[$(x)]' -eq 1 ]]",
        "read -r PATH",
        "read 'a[$(x)]'",
        "unset x",
        "exit $x",
        "cd() { ls; }; cd x",
        # A function that is perhaps not defined: the program runs.
        "make; make() { ls; }",
        "if ls; then make() { ls; }; fi; make",
        "ls && make() { ls; }; make",
        "(make() { ls; }); make",
        "make() { ls; } | cat; make",
        "make() { ls; } & make",
        "g() { make; }; make() { ls; }; g",
        "for PATH in /x; do ls; done",
        "for PATH; do ls; done",
        "x=make; $x",
        "time PATH=/x ls",
        "time cd src && cat x",
        # A POSIX shell has no `[[`: it runs `make ]]`.
        "sh -c '[[ -f x && make ]]'",
        "zsh -c ls",
        # Bash joins the line with the delimiter, so that the document ends at the second one.
        "cat <<E\nx \\\nE\ncat <<'X'\nE\nmake\nX",
        "cd $x && ls",
        "((x = 1))",
        "echo $((x))",
        "ls\r",
        "echo 'unterminated",
        "",
        "# comment",
    ],
)
def test_command_line_with_anything_else_is_more_than_reading(command: str) -> None:
    risk = analyze(command).risk

    assert risk.level != "read"
    assert risk.access == "by_level"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat a b", [PathAccess("a"), PathAccess("b")]),
        ("cd src && cat a", [PathAccess("src", "list"), PathAccess("a", cwd="src")]),
        ("cat < a > b", [PathAccess("a"), PathAccess("b", "write")]),
        ("cat *.py", [PathAccess("*.py", is_pattern=True)]),
        ("touch .git/x", [PathAccess(".git/x", "write")]),
        ("cp -t .git/hooks x", [PathAccess(".git/hooks", "write"), PathAccess("x")]),
        (
            "cp x .g{i,}t/y",
            [PathAccess("x"), PathAccess(".git/y"), PathAccess(".gt/y", "write")],
        ),
        ("sed -i s/a/b/ .git/config", [PathAccess(".git/config", "write")]),
        ("cd .git && echo x > config", [PathAccess(".git", "list"), PathAccess("config", "write", ".git")]),
        ("git ls-files | xargs cat", [PathAccess(".", "search", is_listed=True)]),
        ("find src -name '*.py' | xargs cat", [LISTED, replace(FILES, names=("*.py",))]),
        ("find src -name '*.py' -o -name x | xargs cat", [LISTED, replace(FILES, names=("*.py", "x"))]),
        ("find src -name '*.py' -o -type f | xargs cat", [LISTED, FILES]),
        ("find src -path x -prune -o -name y -print | xargs cat", [LISTED, replace(FILES, names=("y",))]),
        ("find src -print -name '*.py' | xargs cat", [LISTED, FILES]),
        ("find src ! -name '*.py' | xargs cat", [LISTED, FILES]),
        ("find src -type f | xargs cat", [LISTED, replace(FILES, skips_links=True)]),
        ("find src -name x | xargs grep -r y", [LISTED, FILES]),
        ("cat $(git ls-files '*.py')", [PathAccess("*.py", "list"), replace(FILES, path=".", names=("*.py",))]),
        ("grep -r x --include='*.py' .", [PathAccess(".", "search", names=("*.py",))]),
        ("grep -r x --exclude=y --include='*.py' .", [PathAccess(".", "search")]),
        ("cat ~/.ssh/id_rsa $HOME/x", [PathAccess("~/.ssh/id_rsa"), PathAccess("~/x")]),
        ("cat '~/x' \"~\"/y", [PathAccess("./~/x"), PathAccess("./~/y")]),
        ("x='~/y'; cat $x", [PathAccess("./~/y")]),
        ("{ cd a; cat; } < x", [PathAccess("a", "list"), PathAccess("x")]),
        ("for f in a b; do cat $f; done", [PathAccess("a"), PathAccess("b")]),
        ("bash -c 'cat a'", [PathAccess("a")]),
        ("cat a; make | echo ${x@P}", []),
        ("echo x > a; echo ${x@P}", [PathAccess("a", "write")]),
    ],
)
def test_paths_of_a_command_line_are_named(command: str, expected: list[PathAccess]) -> None:
    assert list(analyze(command).risk.accesses) == expected


def test_programs_to_look_up_are_those_that_bash_does_not_run_itself() -> None:
    assert analyze("cd src && timeout 5 ls | wc; echo x").risk.programs == ("bash", "timeout", "ls", "wc")


def test_commands_are_given_without_wrappers_and_without_quotes() -> None:
    (command,) = analyze("timeout 5 env LC_ALL=C 'git' com\"mit\" -m 'a b'").risk.commands

    assert (command.words, command.wrappers) == (("git", "commit", "-m", "a b"), ("timeout", "env"))


def test_command_of_an_inline_script_is_given_with_its_shell() -> None:
    outer, inner = sorted(analyze("bash -c 'make test'").risk.commands, key=lambda each: -len(each.words))

    assert (outer.words, outer.verdict) == (("bash", "-c", "make test"), "read")
    assert (inner.words, inner.wrappers, inner.verdict) == (("make", "test"), ("bash",), "other")


def test_redirection_to_a_file_is_given_with_its_command() -> None:
    (command,) = analyze("ls 2>/dev/null >out").risk.commands

    assert (command.verdict, command.redirects) == ("read", ("out",))


def test_assignment_in_front_is_part_of_the_words_that_a_rule_must_cover() -> None:
    (command,) = analyze("PATH=/x make").risk.commands

    assert command.words == ("PATH=/x", "make")
    assert not command.is_known


def test_command_that_cannot_be_analyzed_has_no_commands_and_says_why() -> None:
    risk = analyze("ls ${x@P}").risk

    assert risk.commands == ()
    assert risk.reason == "it cannot be analyzed: it has an expansion that may assign or evaluate"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("sort -o x y", "option -o of sort writes a file"),
        ("ls & ", "it runs in the background"),
        ("A=1 ls", "it sets A, which may change what programs do"),
        ("cat </dev/tcp/a/1", "it opens a network connection"),
    ],
)
def test_reason_names_what_is_more_than_reading(command: str, why: str) -> None:
    assert analyze(command).risk.commands[0].why == why


@pytest.mark.parametrize(
    ("command", "prefix"),
    [
        ("pytest -q tests 'a b' \"c\"", "pytest"),
        ("npm run build -- --watch", "npm run build"),
        ("make check", "make check"),
        ("git commit -m x", "git commit"),
        ("cargo test --all", "cargo test"),
        ("uv run pytest -q", "uv run pytest"),
        ("python -m pytest -q", "python -m pytest"),
        ("python scripts/build.py --fast", "python scripts/build.py"),
        ("./gradlew build", "./gradlew build"),
        ("git config user.name me", "git config user.name"),
        ("git bisect run make test", "git bisect run make test"),
        ("mkdir x", "mkdir"),
        ("timeout 5 make test", "make test"),
        ("make", ""),
        ("make -j4 test", ""),
        ("npm run", ""),
        ("git", ""),
        ("mytool x", ""),
        ("flock x make test", ""),
        ("env A=1 make test", ""),
        ("A=1 make test", ""),
        ("git -c core.pager=x commit", ""),
        ("git commit --upload-p=evil", ""),
        ("git rebase -x 'make' HEAD~1", ""),
        ("git fetch --upload-pack evil", ""),
        ("git grep -Oevil x", ""),
        ("sort --compress-prog=evil x", ""),
        ("tar -xf x --to-comm=evil", ""),
        ("tar cfI x evil y", ""),
        ("split --filter=evil x", ""),
        ("python -c 'print(1)'", ""),
        ("uv run python -c x", ""),
        ('bash -c "$x"', ""),
        ("awk 'BEGIN { system(\"ls\") }'", ""),
        ("find . -fprint f", ""),
        ("rg --pre cmd x", ""),
        ("sudo make test", ""),
        ("$x test", ""),
        ("'a b' c", ""),
    ],
)
def test_prefix_for_a_rule_is_as_short_as_precise(command: str, prefix: str) -> None:
    assert " ".join(analyze(command).risk.commands[-1].prefix) == prefix


@pytest.mark.parametrize(
    "command", ["git diff --output=x", "sort --compress-prog=evil x", "pytest -p evil", "rg --pre=x y"]
)
def test_option_that_does_more_is_refused_for_rules_of_the_first_words(command: str) -> None:
    assert analyze(command).risk.commands[0].coverage == "written"


@pytest.mark.parametrize(
    ("command", "use"),
    [
        ("ls", "none"),
        ("git log | grep x", "read"),
        ("git log --show-signature", "read"),
        ("git log > out", "any"),
        ("git commit -m x", "any"),
        ("make && git status", "any"),
        ("xargs git commit", "any"),
        ("digits", "none"),
    ],
)
def test_use_of_git_is_reading_only_if_everything_reads(command: str, use: str) -> None:
    assert analyze(command).git_use == use


def test_folders_of_git_are_those_that_a_command_enters() -> None:
    assert analyze("cd a && git -C b status; cd c; git log").git_folders[:2] == ("", "a/b")


def test_long_expression_of_find_is_analyzed() -> None:
    assert analyze("find . " + "! " * 1_000 + "-name x").risk.level == "read"
    assert analyze("find . " + "-not " * 3_000 + "-delete").risk.level == "forbidden"
