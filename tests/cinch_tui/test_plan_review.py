from __future__ import annotations

import pytest
from fakes.dialogs import Host

from cinch_tui.screens.plan_review import PlanScreen
from harness.person import PlanVerdict

PLAN = """# Move prices to cents

1. Change `Price.amount` to **cents**
2. Adapt `parse` and its tests
3. Run the suite

```python
def parse(text: str) -> Price: ...
```

- no new dependencies, [red]none[/red]
"""
ACCEPTED, REFUSED = PlanVerdict(accepted=True), PlanVerdict(accepted=False)


def host(plan: str = PLAN, grace: float = 0.0) -> Host:
    return Host(PlanScreen(plan, grace=grace))


@pytest.mark.parametrize(
    ("keys", "verdict"),
    [
        ("y", ACCEPTED),
        ("enter", ACCEPTED),
        ("escape", REFUSED),
        ("n enter", REFUSED),
        ("n l e s s enter", PlanVerdict(accepted=False, feedback="less")),
        ("down enter l e s s enter", PlanVerdict(accepted=False, feedback="less")),
        ("n l escape y", ACCEPTED),
        ("j k enter", ACCEPTED),
        ("j enter enter", REFUSED),
    ],
)
async def test_each_key_gives_its_verdict(keys: str, verdict: PlanVerdict):
    app = host()

    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press(*keys.split())

    assert app.results == [verdict]


async def test_a_long_plan_scrolls():
    app = host("\n\n".join(f"paragraph {number}" for number in range(60)))

    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("pagedown")
        down = app.screen.query_one("#plan").scroll_offset.y
        await pilot.press("pageup")
        up = app.screen.query_one("#plan").scroll_offset.y

    assert down > 0
    assert up == 0


async def test_typing_for_the_prompt_accepts_no_plan():
    app = host(grace=60)

    async with app.run_test() as pilot:
        await pilot.press("y", "enter")
        assert app.results == []


def test_picture_of_a_plan(snap_compare):
    assert snap_compare(host(), terminal_size=(80, 24))


async def test_a_word_that_was_left_goes_to_the_prompt_and_the_frame_tells_what_escape_does():
    app = host()

    async with app.run_test(size=(80, 24)) as pilot:
        frame = app.screen.query_one("#dialog")
        await pilot.press("n", *"less")
        writing = frame.border_subtitle
        await pilot.press("escape")
        read = frame.border_subtitle or ""
        await pilot.press("y")
        await pilot.pause()

    assert writing == "Enter sends · Esc goes back"
    assert read.endswith("Esc keeps planning")
    assert (app.results, app.typed) == ([ACCEPTED], ["less"])
