"""Model with random, seeded behaviour."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

from fakes.script import Arguments, Cut, Failure, Hang, Item, Reply

FILE = "shop/receipt.py"
LINES = [f"def line_{number}(price):\n    return price * {number}\n\n\n" for number in range(12)]
CONTENT = "".join(LINES)

TEXTS = (
    "All is well.",
    "Here is a list:\n\n- one\n- two\n  - deeper\n\n1. first\n2. second\n\n- [x] done\n- [ ] open",
    "# A heading\n\nand *some* **text** with `code` and [a link](https://example.org/path).\n\n> quoted",
    "| name | price | 数量 |\n| --- | ---: | --- |\n| apple | 1.20 | 三 |\n| 苹果 | 12.00 | 十二 |",
    "```python\ndef total(prices):\n    return sum(prices)  # 合計\n```\n\nand then\n\n```sh\nmake test\n```",
    "你好，世界。 שלום עולם مرحبا 👩‍👩‍👧‍👦 🇳🇴 e\u0301 한글 ภาษาไทย " * 4,
    "[red]markup[/] [/] [@click=app.quit]link[/] \x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[2J end",
    "```\nnever closed",
    "a" * 3000,
)
COMMANDS = (
    "true",
    "echo hello",
    "seq 1 400",
    "sleep 20",
    "printf '\\033[31mred\\033[2J\\033]0;t\\007'",
    "head -c 3000 /dev/urandom",
    "yes | head -n 20000",
    "exit 3",
    "sudo rm -rf ./nothing-here",
)


class Played:
    """Callable that returns the model's next answer for a request body."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._lock = threading.Lock()

    def __call__(self, body: dict[str, Any]) -> Item:
        with self._lock:
            chance = self._chance
            last = str(body.get("messages", [""])[-1])
            # A result is more often answered by text than by the next call, so that runs end.
            wants_calls = bool(body.get("tools")) and chance.random() < (0.4 if "tool_result" in last else 0.75)
            return self._with_calls() if wants_calls else self._words()

    def _words(self) -> Item:
        chance = self._chance
        kinds: list[Callable[[], Item]] = [
            self._text,
            self._text,
            self._text,
            self._long,
            lambda: Cut(self._text(), after_events=chance.randrange(2, 9)),
            lambda: Hang(self._text(), after_events=chance.randrange(0, 9)),
            lambda: Failure(chance.choice((429, 529, 500)), headers={"retry-after": chance.choice(("1", "30"))}),
            lambda: Failure(chance.choice((400, 401, 404))),
            lambda: Reply(""),
        ]
        return chance.choice(kinds)()

    def _text(self) -> Reply:
        chance = self._chance
        text = "\n\n".join(chance.choices(TEXTS, k=chance.randrange(1, 4)))
        thinking = "Let me think about that.\n" * chance.randrange(0, 5)
        return Reply(text, thinking=thinking, pause_s=chance.choice((0.0, 0.0, 0.002, 0.02)))

    def _long(self) -> Reply:
        return Reply("word " * self._chance.randrange(200, 3000) + "\n\n" + self._chance.choice(TEXTS), pause_s=0.003)

    def _with_calls(self) -> Reply:
        calls = [self._call() for _ in range(self._chance.choice((1, 1, 1, 2, 3, 5)))]
        text = self._chance.choice(("", "Let me see.", TEXTS[4]))
        return Reply(text, calls=calls, pause_s=self._chance.choice((0.0, 0.005)))

    def _call(self) -> tuple[str, Arguments]:
        chance = self._chance
        number = chance.randrange(1000)
        calls: list[tuple[str, Arguments]] = [
            ("read_file", {"path": chance.choice((FILE, "README.md", "nothing.txt", "../outside"))}),
            ("grep", {"pattern": chance.choice(("def", "line_1", "("))}),
            ("list_files", {"path": "."}),
            ("find_files", {"pattern": "*.py"}),
            ("bash", {"command": chance.choice(COMMANDS)}),
            ("bash", {"command": chance.choice(COMMANDS)}),
            ("write_file", {"path": f"new/{number}.txt", "content": chance.choice(TEXTS)}),
            ("write_file", {"path": FILE, "content": self._rewritten()}),
            ("edit_file", {"path": FILE, "old_string": "price * 3", "new_string": f"price * 3 + {number}"}),
            ("todo", {"todos": [{"content": f"step {n}", "status": chance.choice(STATES)} for n in range(number % 9)]}),
            (
                "ask_user",
                {"prompt": "Which of these?", "choices": ["alpha", "beta", "gamma"], "editable": number > 500},
            ),
            ("ask_user", {"prompt": "How is it to be called?", **({"timeout_s": 2} if number > 500 else {})}),
            ("delegate_subagent", {"task": "look around and report", "name": "scout"}),
            ("submit_plan", {"plan": "# The plan\n\n1. look\n2. fix"}),
            ("reed_file", {"path": FILE}),
            ("bash", '{"command": "broken'),
        ]
        return chance.choice(calls)

    def _rewritten(self) -> str:
        return "".join(line.replace("price", self._chance.choice(("price", "amount"))) for line in LINES)


STATES = ("pending", "in_progress", "completed")
