"""The smallest Textual app with the function of cinch, as a reference: a log of lines and an input.

`python benchmarks/smallest.py --lines 30000 --rate 200` starts with 30,000 lines and streams 200 words per second. Type
a number and Enter to stream this number of words without a pause.
"""

from __future__ import annotations

import argparse
from itertools import cycle

from textual.app import App, ComposeResult
from textual.widgets import Input, Log, TextArea

TEXT = "The function reads every line before it looks at the first one, and that takes long.\n"
READY = "Ask for a change"
LAST = "§done§"
"""The last word of a stream."""


class Smallest(App[None]):
    CSS = "#field { dock: bottom; height: 3; border: none; }"

    def __init__(self, lines: int, rate: int, *, takes_lines: bool) -> None:
        super().__init__()
        self._lines = lines
        self._rate = rate
        self._words = cycle(TEXT.split(" "))
        self._field = TextArea(id="field") if takes_lines else Input(placeholder=READY, id="field")

    def compose(self) -> ComposeResult:
        yield Log()
        yield self._field

    def on_mount(self) -> None:
        log = self.query_one(Log)
        log.write_lines(f"Line {number} of a conversation that goes on for long." for number in range(self._lines))
        log.write_line(READY)
        self._field.focus()
        if self._rate:
            self.set_interval(1 / self._rate, lambda: log.write(f"{next(self._words)} "))

    def on_input_submitted(self, message: Input.Submitted) -> None:
        log = self.query_one(Log)
        for _ in range(int(message.value)):
            log.write(f"{next(self._words)} ")
        log.write_line(LAST)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=0)
    parser.add_argument("--rate", type=int, default=0)
    parser.add_argument("--takes-lines", action="store_true")
    arguments = parser.parse_args()
    Smallest(arguments.lines, arguments.rate, takes_lines=arguments.takes_lines).run()


if __name__ == "__main__":
    main()
