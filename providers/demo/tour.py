"""Tour: a script that shows a new user every part of cinch on a scratch project.

The number of replies so far determines the step, so an interrupted tour continues. Results are read only to report what
happened: whether an edit was allowed, and the outcome of the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from harness.messages import AssistantMessage, JsonValue, ToolResult
from harness.ports.provider import Request
from providers.demo.script import Call, Reply, Say, Think

Step: TypeAlias = Callable[[Request], Reply]

TEST_COMMAND = "python3 -m unittest"
FIX = ("subtotal(prices) * (1 - discount)", "subtotal(prices) * (1 - discount / 100)")


def tour(request: Request) -> Reply:
    """Return the next step of the tour."""
    done = sum(isinstance(message, AssistantMessage) for message in request.messages)
    return STEPS[done](request) if done < len(STEPS) else _over()


def _welcome(request: Request) -> Reply:
    del request
    return Reply(
        (
            Think("I am a script, so I do not really think; but this is where you would see a model do it."),
            Say(
                "**This is a scripted tour.** No model is answering: I play a fixed script on a scratch copy of a "
                "small project, with the real tools. Nothing of yours is read or changed.\n\n"
                "First I look around. Reading and searching need no approval:"
            ),
            Call("list_files", {"path": "."}),
            Call("read_file", {"path": "till/receipt.py"}),
            Call("grep", {"pattern": "discount", "path": "."}),
        )
    )


def _planned(request: Request) -> Reply:
    del request
    return Reply(
        (
            Say(
                "Each call is one line above; `F2` opens and folds it, `Shift+←/→` walk from one to the next.\n\n"
                "For longer work a model keeps a list, and runs what it wants to check. **Commands are asked about "
                "first**: look at the command, then press `y` for once, `s` for this session, or `n`."
            ),
            _steps("in_progress", "pending", "pending"),
            Call("bash", {"command": TEST_COMMAND}),
        )
    )


def _edit(request: Request) -> Reply:
    ran = _last_result(request, "bash")
    seen = (
        "The test `test_ten_percent_off` fails: the discount is given in percent but used as a fraction."
        if ran and not ran.is_error
        else "You did not let me run the tests; that is what `n` is for. I can read: it is used as a fraction."
    )
    return Reply(
        (
            Say(f"{seen}\n\nNow a change. You see it as a diff **before** anything is written:"),
            _steps("completed", "in_progress", "pending"),
            Call("edit_file", {"path": "till/receipt.py", "old_string": FIX[0], "new_string": FIX[1]}),
        )
    )


def _ask(request: Request) -> Reply:
    edited = _last_result(request, "edit_file")
    status = "The file is changed." if edited and not edited.is_error else "The file is as it was: you said no."
    return Reply(
        (
            Say(f"{status} A model may also ask you something, when only you can know it:"),
            _steps("completed", "completed", "in_progress"),
            Call(
                "ask_user",
                {
                    "prompt": "Shall I run the tests once more?",
                    "choices": ["Yes, run them", "No, that is enough"],
                },
            ),
        )
    )


def _check(request: Request) -> Reply:
    answer = _last_result(request, "ask_user")
    if answer and "Yes" not in answer.text:
        return Reply((Say("Then I leave it at that."),), stop_reason="stop")
    steps = _steps("completed", "completed", "completed")
    return Reply((Say("Here they are again:"), Call("bash", {"command": TEST_COMMAND}), steps))


def _end(request: Request) -> Reply:
    ran = _last_result(request, "bash")
    passed = bool(ran and "\nOK" in ran.text)
    verdict = "The tests pass." if passed else "The tests do not pass, since not everything was allowed."
    return Reply(
        (
            Say(
                f"{verdict} That was the whole path: read, search, ask, edit, run.\n\n"
                "| to do this | press or type |\n|---|---|\n"
                "| plan without changing anything | `Shift+Tab` |\n"
                "| interrupt me while I work | just type and press `Enter` |\n"
                "| queue something for afterwards | `Alt+Enter` |\n"
                "| write in your editor | `Ctrl+G` |\n"
                "| use a real model | `/model`, or `#key anthropic` |\n"
                "| see everything else | `F1` |\n"
            ),
        )
    )


def _over() -> Reply:
    return Reply(
        (
            Say(
                "The scripted tour is over; there is no model here that could answer you. "
                "Choose a real one with `/model`, or start the tour again with `/new`."
            ),
        )
    )


def _steps(*status: str) -> Call:
    contents = ("See which test fails", "Fix the discount", "Run the tests again")
    todos: list[JsonValue] = [
        {"content": content, "status": now} for content, now in zip(contents, status, strict=True)
    ]
    return Call("todo", {"todos": todos})


def _last_result(request: Request, tool: str) -> ToolResult | None:
    results = (each for each in reversed(request.messages) if isinstance(each, ToolResult))
    return next((result for result in results if result.tool_name == tool), None)


STEPS: tuple[Step, ...] = (_welcome, _planned, _edit, _ask, _check, _end)
