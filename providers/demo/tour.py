"""Tour: a script that shows a new user every part of cinch on a scratch project.

The number of replies so far determines the step, so an interrupted tour continues. Results are read only to report what
happened: whether an edit was allowed, and the outcome of the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from harness.messages import AssistantMessage, JsonValue, ToolResult
from harness.ports.provider import Request
from providers.demo.provider import Call, Part, Reply, Say, Think

Parts: TypeAlias = tuple[Part, ...]

OVER = (
    "The scripted tour is over, and no model is connected. Choose one with `/model`, or restart the tour with `/new`."
)
TEST_COMMAND = "python3 -m unittest"
FIX = ("subtotal(prices) * (1 - discount)", "subtotal(prices) * (1 - discount / 100)")


def tour(request: Request) -> Reply:
    """Return the next step of the tour."""
    done = sum(isinstance(message, AssistantMessage) for message in request.messages)
    return Reply(STEPS[done](request) if done < len(STEPS) else (Say(OVER),))


def _welcome(request: Request) -> Parts:
    return (
        Think("I am a script and do not think. A model's reasoning would appear here."),
        Say(
            "**This is a scripted tour.** No model is involved: a fixed script uses the real tools on a scratch "
            "copy of a small project. Your own files are neither read nor changed.\n\n"
            "First I explore the project. Reading and searching need no approval:"
        ),
        Call("list_files", {"path": "."}),
        Call("read_file", {"path": "till/receipt.py"}),
        Call("grep", {"pattern": "discount", "path": "."}),
    )


def _planned(request: Request) -> Parts:
    return (
        Say(
            "Each tool call is one line above. `F2` unfolds and folds it; `Shift+←/→` move between calls.\n\n"
            "For longer tasks a model keeps a list of steps and runs commands to check its work. **Commands need "
            "your approval**: read the command, then press `y` (once), `s` (this session) or `n` (deny)."
        ),
        _steps("in_progress", "pending", "pending"),
        Call("bash", {"command": TEST_COMMAND}),
    )


def _edit(request: Request) -> Parts:
    ran = _last_result(request, "bash")
    seen = (
        "The test `test_ten_percent_off` fails: the discount is a percentage but is used as a fraction."
        if ran and not ran.is_error
        else "You denied the command, so the tests did not run. Reading shows it: a percentage is used as a fraction."
    )
    return (
        Say(f"{seen}\n\nNow an edit. You see the diff **before** the file is changed:"),
        _steps("completed", "in_progress", "pending"),
        Call("edit_file", {"path": "till/receipt.py", "old_string": FIX[0], "new_string": FIX[1]}),
    )


def _ask(request: Request) -> Parts:
    edited = _last_result(request, "edit_file")
    status = (
        "The file is edited." if edited and not edited.is_error else "You denied the edit, so the file is unchanged."
    )
    return (
        Say(f"{status} A model can also ask you a question:"),
        _steps("completed", "completed", "in_progress"),
        Call("ask_user", {"prompt": "Run the tests again?", "choices": ["Yes, run them", "No, stop here"]}),
    )


def _check(request: Request) -> Parts:
    answer = _last_result(request, "ask_user")
    if answer and "Yes" not in answer.text:
        return (Say("The tour ends here."),)
    steps = _steps("completed", "completed", "completed")
    return Say("Running the tests again:"), Call("bash", {"command": TEST_COMMAND}), steps


def _end(request: Request) -> Parts:
    ran = _last_result(request, "bash")
    passed = bool(ran and "\nOK" in ran.text)
    verdict = "The tests pass." if passed else "The tests still fail because a call was denied."
    return (
        Say(
            f"{verdict} That is a complete run: read, search, edit, ask, test.\n\n"
            "| To do this | Press or type |\n|---|---|\n"
            "| Plan without changing anything | `Shift+Tab` |\n"
            "| Steer the agent during a run | type and press `Enter` |\n"
            "| Queue a follow-up message | `Alt+Enter` |\n"
            "| Write the prompt in your editor | `Ctrl+G` |\n"
            "| Use a real model | `/model`, or `#key anthropic` |\n"
            "| See all keys | `F1` |\n"
        ),
    )


def _steps(*status: str) -> Call:
    contents = ("Find the failing test", "Fix the discount", "Run the tests again")
    todos: list[JsonValue] = [
        {"content": content, "status": now} for content, now in zip(contents, status, strict=True)
    ]
    return Call("todo", {"todos": todos})


def _last_result(request: Request, tool: str) -> ToolResult | None:
    results = (each for each in reversed(request.messages) if isinstance(each, ToolResult))
    return next((result for result in results if result.tool_name == tool), None)


STEPS: Sequence[Callable[[Request], Parts]] = (_welcome, _planned, _edit, _ask, _check, _end)


SAMPLE: dict[str, str] = {
    "README.md": "# Till\n\nAdds up a receipt. Run the tests with `python3 -m unittest`.\n",
    "till/__init__.py": "",
    "till/receipt.py": '''"""A receipt: items, a discount, a total."""


def subtotal(prices: list[float]) -> float:
    return sum(prices)


def total(prices: list[float], discount: float = 0.0) -> float:
    """The sum after a discount given in percent."""
    return subtotal(prices) * (1 - discount)
''',
    "tests/__init__.py": "",
    "tests/test_receipt.py": """import unittest

from till.receipt import total


class TestTotal(unittest.TestCase):
    def test_without_discount(self) -> None:
        self.assertEqual(total([2.0, 3.0]), 5.0)

    def test_ten_percent_off(self) -> None:
        self.assertEqual(total([20.0, 30.0], discount=10), 45.0)


if __name__ == "__main__":
    unittest.main()
""",
}
