"""Parallel run: several models answer one prompt, each in its own block, until the user picks an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cinch_tui.controller.chat_session import ChatSession
from cinch_tui.keybindings.keymap import hint
from cinch_tui.reports.citations import sources_markdown, sources_of
from cinch_tui.transcript.variant_block import VariantBlock
from cinch_tui.user_dialogs.interaction import pick_index
from cinch_tui.widgets.chat_widgets import ChatWidgets
from harness import events
from harness.agent.arguments import Prompt
from harness.deltas import BlockDelta, BlockStart
from harness.errors import CinchError
from harness.messages import AssistantMessage, Message
from harness.parallel.run import run_parallel
from harness.parallel.selection import Outcome, Selection, Strategy, candidates
from harness.parallel.variant import ParallelVariant
from harness.ports.provider import Model

VARIANT_INSTRUCTIONS = (
    "Several models answer this prompt in parallel, and one of the answers is chosen. Only read-only tools are "
    "available: explore as needed, then answer. Where something should be changed, describe the change."
)
PICK_TITLE = "Continue with which answer?"
NOT_PICKED = "No answer is chosen yet; /parallel pick asks again"


class ParallelRun:
    """Sends the next prompt to several models; the session continues with one of the answers.

    Args:
        controller: The session.
        models: The models.
        evaluator: Name of the strategy that chooses the answer; empty: the user picks it.
    """

    def __init__(self, controller: ChatSession, models: Sequence[Model], evaluator: str = "") -> None:
        self._controller = controller
        self._models = models
        self._evaluator = evaluator
        self.names: Sequence[str] = numbered([model.spec.name for model in models])
        self._pick_requested = asyncio.Event()
        self._is_waiting = False

    async def ask(self, prompt: Prompt) -> None:
        """Ask all models; return at the end of the run with the chosen answer."""
        agent = self._controller.agent
        unsubscribe = agent.subscribe(VariantView(self._controller.view.widgets, self.names).receive)
        system_prompt = f"{agent.state.system_prompt}\n\n{VARIANT_INSTRUCTIONS}"
        try:
            variants = [ParallelVariant(model, system_prompt=system_prompt) for model in self._models]
            chosen = await run_parallel(agent, prompt, variants, self._evaluator or self)
            if self._evaluator and chosen.selected_index is not None:
                reason = chosen.reason and f" ({chosen.reason})"
                self._controller.notice(f"Chosen by {self._evaluator}: {self.names[chosen.selected_index]}{reason}")
        finally:
            unsubscribe()
            # Failed answers cost something, too.
            self._controller.show_usage()
            for model in self._models:
                await model.provider.close()

    async def choose(self, prompts: Sequence[Message], outcomes: Sequence[Outcome]) -> Selection:
        """Let the user pick an answer, however long it takes."""
        del prompts
        # The end of the run resets it.
        self._controller.view.widgets.set_status(note="needs input")
        while True:
            index = await self._pick(candidates(outcomes))
            if index is not None:
                return Selection(index, reason="chosen by the user")
            self._controller.notice(", ".join(filter(None, (NOT_PICKED, hint("chat.abort chooses none")))) + ".")
            await self._wait()

    def pick_again(self) -> None:
        """Reopen the list of answers.

        Raises:
            CinchError: There are no answers to pick from.
        """
        if not self._is_waiting:
            raise CinchError("there are no answers to choose from")
        self._pick_requested.set()

    async def _wait(self) -> None:
        self._pick_requested.clear()
        self._is_waiting = True
        try:
            await self._pick_requested.wait()
        finally:
            self._is_waiting = False

    async def _pick(self, outcomes: Sequence[Outcome]) -> int | None:
        answers = [(self.names[each.index], each.result.text) for each in outcomes]
        title = " ".join(filter(None, (PICK_TITLE, hint("picker.cancel lets you read first."))))
        chosen = await pick_index(self._controller.app, title, answers, grace=self._controller.grace())
        return None if chosen is None else outcomes[chosen].index


class VariantView:
    """Shows runs side by side; subscribe `receive` while they are on."""

    def __init__(self, widgets: ChatWidgets, names: Sequence[str]) -> None:
        self._widgets = widgets
        self._names = names
        self._blocks: dict[str, VariantBlock] = {}
        self._text: dict[tuple[str, int], bool] = {}

    def receive(self, event: events.Event) -> None:
        match event:
            case events.ParallelStart(run_ids=run_ids):
                self._blocks = {each: VariantBlock(name) for each, name in zip(run_ids, self._names, strict=True)}
                self._widgets.transcript.extend(self._blocks.values())
            case events.BranchEvent(event=inner) if inner.run_id in self._blocks:
                block = self._blocks[inner.run_id]
                self._show(block, inner)
                self._widgets.transcript.changed(block)
            case events.ParallelEnd():
                self._settle(event)
            case _:
                pass

    def _show(self, block: VariantBlock, event: events.Event) -> None:
        match event:
            case events.MessageStart() | events.MessageEnd() | events.MessageDiscarded():
                _turn(block, event)
            case events.MessageUpdate(delta=delta):
                self._grow(block, event.run_id, delta)
            case events.RetryScheduled(attempt=attempt, max_retries=most):
                block.label("running", f"retry {attempt}/{most}")
            case events.ToolExecutionStart(label=label, summary=summary):
                block.append(_tool_line(label, summary))
                block.label("running", label)
            case events.AgentEnd():
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

    def _settle(self, end: events.ParallelEnd) -> None:
        """Mark the chosen answer, and fold all: the conversation shows it as its own reply."""
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
    """Return the names, with numbers where a name occurs more than once."""
    return [
        f"{name} ({names[: place + 1].count(name)})" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]


def _turn(block: VariantBlock, event: events.MessageStart | events.MessageEnd | events.MessageDiscarded) -> None:
    match event:
        case events.MessageStart(role="assistant"):
            block.begin_reply()
            block.label("running")
        case events.MessageEnd(message=AssistantMessage(content=content)):
            if sources := sources_of(content):
                block.append(f"\n\n{sources_markdown(sources)}")
        case events.MessageDiscarded():
            block.drop_reply()
        case _:
            pass


def _end(block: VariantBlock, end: events.AgentEnd) -> None:
    if end.stop_reason in ("error", "aborted"):
        block.append(f"\n\n{end.error or 'Stopped.'}")
        block.finish()
        block.label("failed", "failed" if end.stop_reason == "error" else "stopped")
        return
    block.finish()
    cost = f" · ${end.usage.cost.total:.4f}" if end.usage.cost and end.usage.cost.total else ""
    block.label("done", f"{end.usage.context:,} tokens{cost}")


def _tool_line(label: str, summary: str) -> str:
    """Return a tool call as a paragraph of Markdown."""
    arguments = summary.replace("`", "'").replace("\n", " ")
    return f"\n\n▸ {label} `{arguments}`\n\n" if arguments.strip() else f"\n\n▸ {label}\n\n"


if TYPE_CHECKING:
    _: type[Strategy] = ParallelRun
