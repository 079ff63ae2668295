from __future__ import annotations

import time
from pathlib import Path

import pytest
from fakes.contexts import tool_context
from hypothesis import given
from hypothesis import strategies as st

from harness.messages import Text
from harness.ports.tool import ToolOutput
from harness.views import TerminalView
from tools.bash import BashTool
from tools.command_execution import LIMIT
from tools.compression import Compression, compress, is_error

ERRORS = [
    "ERROR worker 12 gave up",
    "E   assert 3 == 4",
    "tests/test_a.py::test_sum FAILED [ 50%]",
    "--- FAIL: TestSum (0.00s)",
    "error[E0432]: unresolved import `x`",
    "npm ERR! missing script: build",
    "ValueError: bad value",
    "  ✕ adds numbers (3 ms)",
    "thread 'main' panicked at src/main.rs:3",
    "make: *** [Makefile:3: all] Error 2",
    "0 errors, 3 warnings",
]
LINES = st.one_of(
    st.sampled_from(
        [
            "",
            "   ",
            "-----",
            "tests/test_a.py::test_error_is_shown PASSED [ 50%]",
            "tests/test_a.py ..s..... [ 7%]",
            "test parse::number ... ok",
            "   Compiling thiserror v1.0.3",
            "Collecting httpx",
            "\x1b[32m ✓ adds\x1b[0m",
            "10 %\r50 %\r100 %",
            "[… 12 similar lines]",
            "[… 3 lines of progress]",
            "the same line again and again",
        ]
    ),
    st.builds("processed item {} of {}".format, st.integers(0, 999), st.integers()),
    st.sampled_from(ERRORS),
    st.text(max_size=12),
)
OUTPUTS = st.lists(st.tuples(LINES, st.integers(1, 12)), max_size=12).map(
    lambda runs: "\n".join(line for line, count in runs for _ in range(count))
)
LEVELS = st.sampled_from(["minimal", "aggressive"])


@given(OUTPUTS, LEVELS)
def test_compressing_again_changes_nothing(text: str, level: Compression) -> None:
    once = compress(text, level)

    assert compress(once, level) == once


@given(OUTPUTS, LEVELS)
def test_compressed_output_is_never_longer_and_keeps_every_error(text: str, level: Compression) -> None:
    shown = compress(text, "off")

    compressed = compress(text, level)

    assert len(compressed) <= len(shown)
    reported = [line for line in shown.split("\n") if is_error(line) and "PASSED" not in line]
    kept = [line for line in compressed.split("\n") if is_error(line) and "PASSED" not in line]
    assert kept == reported


@pytest.mark.parametrize("line", ERRORS)
def test_reports_of_errors_are_recognized(line: str) -> None:
    assert is_error(line)


@pytest.mark.parametrize(
    "line", ["test_error_is_shown PASSED", "   Compiling thiserror v1.0.3", "transferred 3 files", "3 passed in 0.1s"]
)
def test_words_within_names_are_no_errors(line: str) -> None:
    assert not is_error(line)


def test_similar_lines_are_folded_and_numbers_are_data() -> None:
    steps = "\n".join(f"step {number}: loss {1 / (number + 1):.3f}" for number in range(50))
    numbers = "\n".join(str(number) for number in range(50))

    assert compress(steps, "minimal").split("\n") == [
        "step 0: loss 1.000",
        "step 1: loss 0.500",
        "[… 47 similar lines]",
        "step 49: loss 0.020",
    ]
    assert compress(numbers, "minimal") == numbers


@pytest.mark.parametrize(
    "finding", ["src/app.ts:{}:5 unused variable x", "src/app.ts({},5): unused x", "   {}:5  unused x"]
)
def test_findings_of_a_linter_are_not_similar(finding: str) -> None:
    text = "\n".join(finding.format(number) for number in range(10, 60))

    assert compress(text, "minimal") == text


def test_messages_from_one_place_are_similar() -> None:
    text = "\n".join(f"2026-11-23 10:{number}:00 worker.py:12 processed item {number}" for number in range(10, 60))

    assert compress(text, "minimal").count("\n") == 3


def test_progress_bars_collapse_to_their_last_state() -> None:
    text = "".join(f"\r\x1b[K{percent:3} % [{'#' * percent}]" for percent in range(101)) + "\ndone\n\n\n\n"

    assert compress(text, "minimal") == f"100 % [{'#' * 100}]\ndone\n"


@pytest.mark.parametrize(
    ("passing", "failing"),
    [
        ("tests/test_a.py::test_{} PASSED [ 10%]", "tests/test_a.py::test_b FAILED [ 20%]"),
        ("[gw0] [ 10%] PASSED tests/test_a.py::test_{}", "[gw1] [ 20%] FAILED tests/test_a.py::test_b"),
        ("tests/test_a.py::test_{} ", "[gw1] [ 20%] FAILED tests/test_a.py::test_b"),
        ("test module::case_{} ... ok", "test module::other ... FAILED"),
        ("  ✓ adds {} numbers (2 ms)", "  ✕ adds letters (2 ms)"),
        ("--- PASS: TestNumber{} (0.00s)", "--- FAIL: TestOther (0.00s)"),
        ("ok {} - counts", "not ok 200 - counts"),
        ("[       OK ] Suite.Case{} (0 ms)", "[  FAILED  ] Suite.Other (0 ms)"),
        (" {}/30 Test  #7: case ......   Passed    0.01 sec", " 8/30 Test  #8: other .....***Failed    0.01 sec"),
        ("        PASS [   0.004s] app tests::case_{}", "        FAIL [   0.004s] app tests::other"),
        ("(pass) adds {} numbers [0.10ms]", "(fail) adds letters [0.10ms]"),
        ("adds {} numbers ... ok (3ms)", "adds letters ... FAILED (3ms)"),
        ("Test Case '-[App test{}]' passed (0.001 seconds).", "Test Case '-[App testB]' failed (0.001 seconds)."),
        ("  Passed Case{} [3 ms]", "  Failed Other [3 ms]"),
        (
            "[INFO] Tests run: {}, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in com.x.ATest",
            "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 s <<< FAILURE! -- in x.BTest",
        ),
    ],
)
def test_passing_tests_are_counted_and_failures_stay(passing: str, failing: str) -> None:
    several = [passing.format(number) for number in range(20)]
    text = "\n".join([*several, failing, "    expected 3, got 4", *several, "1 failed, 40 passed"])

    folded = "[… 20 lines on passing tests]"
    assert compress(text, "aggressive").split("\n") == [
        folded, failing, "    expected 3, got 4", folded, "1 failed, 40 passed"
    ]  # fmt: skip


def test_names_of_tests_without_a_result_are_content() -> None:
    text = "\n".join(
        f"tests/test_a.py::test_{name}" for name in ("one", "two", "three", "four", "five", "six", "seven")
    )

    assert compress(text, "aggressive") == text


def test_progress_of_an_installation_is_folded() -> None:
    text = "\n".join(
        [
            *(f"Collecting package-{name}\n  Downloading {name}.whl (3 MB)" for name in "abcdefgh"),
            "Installing collected packages: a, b, c, d, e, f, g, h",
            "Successfully installed a-1 b-2",
        ]
    )

    assert compress(text, "aggressive") == "[… 17 lines of progress]\nSuccessfully installed a-1 b-2"
    assert compress(text, "minimal") == text


NAMES = ("alpha", "bee", "gamma-ray", "d", "epsilon")


@pytest.mark.parametrize(
    "step",
    [
        "gcc -O2 -Wall -c -o build/{0}.o src/{0}.c",
        "/usr/bin/x86_64-linux-gnu-g++-13 -std=c++20 -c src/{0}.cpp -o out/{0}.o",
        "  CC      drivers/{0}.o",
        "   Compiling {0} v1.0.1",
        "[INFO] Downloaded from central: https://repo.example/{0}.pom (3.1 kB at 22 kB/s)",
        "> Task :{0}:compileJava UP-TO-DATE",
        "  {0} -> /src/{0}/bin/Debug/net8.0/{0}.dll",
        "npm warn deprecated {0}@1.0.0: This module is no longer supported.",
        "➤ YN0013: │ {0}@npm:1 can't be found in the cache and will be fetched",
        " + {0}==1.0.3",
        "Installing {0} 1.0.3",
        "  - Installing vendor/{0} (1.2): Extracting archive",
        "  Verifying        : {0}-1.0-1.fc40.x86_64   3/6 ",
        "(3/6) Installing {0} (1.0-r0)",
        "==> Pouring {0}--1.0.bottle.tar.gz",
        "{0}-1.0            | 3 MB      | ########## | 100% ",
        "Setting up {0} (1.0) ...",
    ],
)
def test_progress_of_compilers_and_package_managers_is_folded_and_errors_stay(step: str) -> None:
    steps = [step.format(name) for name in NAMES]
    error = "src/d.c:3:1: error: expected ';' before '}' token"

    text = "\n".join([*steps, error, *steps, "done"])

    assert compress(text, "aggressive").split("\n") == [(fold := "[… 5 lines of progress]"), error, fold, "done"]


@pytest.mark.parametrize(
    "warning",
    [
        "src/{0}.c:10:9: warning: unused variable 'tmp' [-Wunused-variable]\n   10 |     int tmp;\n      |         ^~~",
        "src/{0}.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.",
        "warning: unused variable: `{0}`\n --> src/{0}.rs:4:9\n  |\n4 |     let {0} = 1;\n  |         ^",
        "src/{0}.java:9: warning: [deprecation] foo() in Bar has been deprecated\n        b.foo();\n         ^",
    ],
)
def test_warnings_of_compilers_stay(warning: str) -> None:
    text = "\n".join(warning.format(name) for name in NAMES)

    assert compress(text, "aggressive") == text


@pytest.mark.parametrize(
    "text",
    [
        "gcc -c " * 300_000,
        "\n".join(f"request {number} took {number % 97} ms" for number in range(60_000)),
        "\n".join(f"tests/test_{number % 97}.py::test_{number} PASSED [ 1%]" for number in range(40_000)),
        "::" * 1_000_000,
        "a . . . " * 250_000,
    ],
    ids=["compiler", "log", "tests", "colons", "blanks"],
)
def test_two_megabytes_take_linear_time(text: str) -> None:
    started = time.process_time()

    compress(text, "aggressive")

    # A fifth of it on an idle machine; anything quadratic takes many minutes.
    assert time.process_time() - started < 1


async def run(folder: Path, command: str, compression: Compression = "minimal") -> ToolOutput:
    tool = BashTool(compression=compression)
    return await tool.run(tool.validate({"command": command}), tool_context(folder))


def text_of(output: ToolOutput) -> str:
    return "".join(block.text for block in output.content if isinstance(block, Text))


async def test_model_gets_less_of_an_output_than_the_user_and_the_name_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("for i in $(seq 1 500); do echo processed item $i; done; echo ERROR: no; exit 3")

    output = await run(tmp_path, "bash run.sh")

    everything = "".join(f"processed item {number}\n" for number in range(1, 501)) + "ERROR: no\n"
    head, note = text_of(output).rsplit("\n", 1)
    assert head.split("\n") == [
        "Exit code: 3",
        "processed item 1",
        "processed item 2",
        "[… 497 similar lines]",
        "processed item 500",
        "ERROR: no",
    ]
    assert isinstance(output.view, TerminalView)
    assert (output.view.output, output.view.left_out) == (everything, None)
    [file] = (tmp_path / "spill").iterdir()
    assert (
        note
        == f"[496 of 501 lines folded. Full output: {file}; read a part of it with read_file or search it with grep.]"
    )
    assert file.read_text() == everything


async def test_output_that_is_too_long_is_compressed_before_it_is_truncated(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text(
        "echo first; seq -f 'processed item %g' 1 20000; echo ERROR; seq -f 'tried %g times' 1 20000"
    )

    text = text_of(await run(tmp_path, "bash run.sh"))

    assert len(text) < 600 < LIMIT
    assert "\nERROR\n" in text
    assert "40,002 lines folded. Full output: " in text


async def test_what_a_reading_command_prints_is_content(tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("the same row of the file\n" * 100)

    assert "similar" not in text_of(await run(tmp_path, "cat rows.txt"))
    assert "identical" in text_of(await run(tmp_path, "cp rows.txt b.txt && cat b.txt"))


async def test_compression_can_be_switched_off(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("seq -f 'processed item %g' 1 300")

    text = text_of(await run(tmp_path, "bash run.sh", "off"))

    assert text.count("\n") == 300
    assert not (tmp_path / "spill").exists()


RECORDED = Path(__file__).parent / "recorded_output"
SUMMARIES = {
    "pytest_v": "1 failed, 41 passed, 1 skipped, 1 warning, 1 error in",
    "pytest_xdist": "1 failed, 41 passed, 1 skipped, 1 warning, 1 error in",
    "pytest_xdist_q": "1 failed, 41 passed, 1 skipped, 1 warning, 1 error in",
    "cargo_test": "test result: FAILED. 4 passed; 1 failed;",
    "cargo_build": 'could not compile `demo` (bin "demo") due to 1 previous error',
    "eslint": "16 problems (12 errors, 4 warnings)",
    "tsc": "a.ts(3,3): error TS2345",
    "tsc_pretty": "Found 3 errors in the same file",
    "vitest": "Tests  1 failed | 20 passed (21)",
    "node_test": "# fail 1",
    "node_spec": "ℹ fail 1",
    "npm_fail": "npm error notarget No matching version found for left-pad@99.",
    "pip": "Successfully installed blinker-1.9.0",
    "pip_fail": "ERROR: No matching distribution found for idna==3.99",
}
"""End of each recorded output of a real program."""


@pytest.mark.parametrize("name", SUMMARIES)
def test_errors_and_the_summary_of_real_output_are_kept(name: str) -> None:
    output = (RECORDED / f"{name}.txt").read_text()

    kept = compress(output, "aggressive").split("\n")

    assert SUMMARIES[name] in "\n".join(kept)
    errors = [line for line in compress(output, "off").split("\n") if is_error(line)]
    assert [line for line in errors if line not in kept] == []


@pytest.mark.parametrize(
    ("name", "share"), [("pytest_v", 0.5), ("pytest_xdist", 0.5), ("vitest", 0.7), ("node_test", 0.65), ("pip", 0.4)]
)
def test_passing_tests_and_progress_of_real_output_are_folded(name: str, share: float) -> None:
    output = (RECORDED / f"{name}.txt").read_text()

    assert len(compress(output, "aggressive")) < share * len(compress(output, "off"))


def test_details_without_an_end_hide_nothing_else() -> None:
    output = "ok 1 - a\n  ---\n  duration_ms: 1\nnot a test\n  more\n  ---\n  of it\n"

    assert compress(output, "aggressive").endswith("not a test\n  more\n  ---\n  of it\n")
