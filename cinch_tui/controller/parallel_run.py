"""Several models that answer one prompt at once: each in a block of its own, until the person picks an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cinch_tui.keys.keymap import hint
from cinch_tui.screens.picker import Item, Picker
from cinch_tui.transcript.branch_block import VariantBlock
from harness.context.citations import sources_markdown, sources_of
from harness.errors import CinchError
from harness.events import (
    AgentEnd,
    BranchEvent,
    Event,
    MessageDiscarded,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ParallelEnd,
    ParallelStart,
    RetryScheduled,
    ToolExecutionStart,
)
from harness.messages import AssistantMessage
from harness.parallel.run import ParallelVariant, run_parallel
from harness.ports.provider import BlockDelta, BlockStart
from harness.ports.selection import Selection, candidates

if TYPE_CHECKING:
    from cinch_tui.controller.controller import SessionController
    from cinch_tui.screens.chat_widgets import ChatWidgets
    from harness.agent.prompt import Prompt
    from harness.messages import Message
    from harness.ports.provider import Model
    from harness.ports.selection import Outcome, Strategy

BESIDE_OTHERS = (
    "Several models answer this prompt at once, and the user picks one answer. Only tools that change nothing are at "
    "hand: look around as you need, then answer; where something is to be changed, say what and how."
)
WHICH = "Which answer goes on?"
READ_ON = "None is picked yet: /parallel pick asks again"


class ParallelRun:
    """The next prompt goes to these models; the session goes on with the answer that the person picks."""

    def __init__(self, controller: SessionController, models: Sequence[Model]) -> None:
        self._controller = controller
        self._models = models
        self._names = numbered([model.spec.name for model in models])
        self._asked_again = asyncio.Event()
        self._waits = False

    @property
    def names(self) -> Sequence[str]:
        return self._names

    async def ask(self, said: Prompt) -> None:
        """Ask all of them and let the person pick; returns at the end of the run."""
        agent = self._controller.agent
        view = VariantView(self._controller.screen.widgets, self._names)
        unsubscribe = agent.subscribe(view.receive)
        prompt = f"{agent.state.system_prompt}\n\n{BESIDE_OTHERS}"
        try:
            await run_parallel(
                agent, said, [ParallelVariant(model, system_prompt=prompt) for model in self._models], self
            )
        finally:
            unsubscribe()
            # Also what came to nothing is paid for.
            self._controller.show_figures()
            for model in self._models:
                await model.provider.close()

    async def choose(self, prompts: Sequence[Message], outcomes: Sequence[Outcome]) -> Selection:
        """The person is the judge, and may read for as long as they like."""
        del prompts
        # Set back at the end of the run.
        self._controller.screen.widgets.note("needs input")
        while True:
            index = await self._pick(candidates(outcomes))
            if index is not None:
                return Selection(index, reason="picked by the user")
            self._controller.notice(", ".join(filter(None, (READ_ON, hint("chat.abort takes none of them")))) + ".")
            await self._wait()

    def pick_again(self) -> None:
        """Raises:
        CinchError: there is nothing to pick from.
        """
        if not self._waits:
            raise CinchError("there are no answers to pick from")
        self._asked_again.set()

    async def _wait(self) -> None:
        self._asked_again.clear()
        self._waits = True
        try:
            await self._asked_again.wait()
        finally:
            self._waits = False

    async def _pick(self, outcomes: Sequence[Outcome]) -> int | None:
        items = [Item(self._names[each.index], each.result.text, each.index) for each in outcomes]
        title = " ".join(filter(None, (WHICH, hint("picker.cancel lets you read first."))))
        picker = Picker(title, items, grace=self._controller.grace())
        answered: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()

        def settle(index: int | None) -> None:
            if not answered.done():
                answered.set_result(index)

        await self._controller.app.push_screen(picker, settle)
        try:
            return await answered
        except asyncio.CancelledError:
            picker.withdraw()
            raise


class VariantView:
    """Shows runs side by side; subscribe `receive` while they are on."""

    def __init__(self, widgets: ChatWidgets, names: Sequence[str]) -> None:
        self._widgets = widgets
        self._names = names
        self._blocks: dict[str, VariantBlock] = {}
        self._text: dict[tuple[str, int], bool] = {}

    def receive(self, event: Event) -> None:
        match event:
            case ParallelStart(run_ids=run_ids):
                self._blocks = {each: VariantBlock(name) for each, name in zip(run_ids, self._names, strict=True)}
                self._widgets.transcript.extend(self._blocks.values())
            case BranchEvent(event=inner) if inner.run_id in self._blocks:
                block = self._blocks[inner.run_id]
                self._show(block, inner)
                self._widgets.transcript.changed(block)
            case ParallelEnd():
                self._settle(event)
            case _:
                pass

    def _show(self, block: VariantBlock, event: Event) -> None:
        match event:
            case MessageStart() | MessageEnd() | MessageDiscarded():
                _turn(block, event)
            case MessageUpdate(delta=delta):
                self._grow(block, event.run_id, delta)
            case RetryScheduled(attempt=attempt, max_retries=most):
                block.label("running", f"retry {attempt}/{most}")
            case ToolExecutionStart(label=label, summary=summary):
                block.append(_tool_line(label, summary))
                block.label("running", label)
            case AgentEnd():
                _end(block, event)
            case _:
                pass

    def _grow(self, block: VariantBlock, run_id: str, delta: object) -> None:
        match delta:
            case BlockStart(index, kind):
                self._text[run_id, index] = kind == "text"
                if kind == "text" and block.source:
                    block.append("\n\n")
                block.label("running", "thinking…" if kind == "thinking" else "")
            case BlockDelta(index, text) if self._text.get((run_id, index)):
                block.append(text)
            case _:
                pass

    def _settle(self, end: ParallelEnd) -> None:
        """What goes on is shown as the conversation's own; the rest can be unfolded."""
        chosen = self._blocks.get(end.selected_run_id)
        for block in self._blocks.values():
            if not block.finished:
                block.finish()
                block.label("failed", "stopped")
            if chosen is not None:
                if block.state == "done":
                    block.label("chosen" if block is chosen else "left", block.note)
                block.folded = True
            self._widgets.transcript.changed(block)


def numbered(names: Sequence[str]) -> list[str]:
    """The names, with a number where one comes again."""
    return [
        f"{name} ({names[: place + 1].count(name)})" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]


def _turn(block: VariantBlock, event: MessageStart | MessageEnd | MessageDiscarded) -> None:
    match event:
        case MessageStart(role="assistant"):
            block.begin_reply()
            block.label("running")
        case MessageEnd(message=AssistantMessage(content=content)):
            if sources := sources_of(content):
                block.append(f"\n\n{sources_markdown(sources)}")
        case MessageDiscarded():
            block.drop_reply()
        case _:
            pass


def _end(block: VariantBlock, end: AgentEnd) -> None:
    if end.stop_reason in ("error", "aborted"):
        # The end of what was said, so that it can be read whole.
        block.append(f"\n\n{end.error or 'Stopped.'}")
        block.finish()
        block.label("failed", "failed" if end.stop_reason == "error" else "stopped")
        return
    block.finish()
    cost = f" · ${end.usage.cost.total:.4f}" if end.usage.cost and end.usage.cost.total else ""
    block.label("done", f"{end.usage.context:,} tokens{cost}")


def _tool_line(label: str, summary: str) -> str:
    """A paragraph of Markdown, whatever the model called for."""
    what = summary.replace("`", "'").replace("\n", " ")
    return f"\n\n▸ {label} `{what}`\n\n" if what.strip() else f"\n\n▸ {label}\n\n"


if TYPE_CHECKING:
    _: type[Strategy] = ParallelRun
