"""Prompts that a summary quotes: as many as fit, the newest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from harness.context.attachments import attached_path, is_attached
from harness.context.history import is_prompt
from harness.context.tokens import CHARS_PER_TOKEN, estimate_text
from harness.messages import Image, Message, Text, UserMessage
from harness.truncation import cut_middle

SHORT_PROMPT = 50
"""Tokens of a prompt that is shortened."""


class PromptFact(Struct, frozen=True):
    """A message of the user."""

    text: str
    """Text, word for word unless it is shortened."""
    is_shortened: bool = False
    """True if the middle of the text is missing."""


def quoted_prompts(messages: Iterable[Message]) -> Iterator[PromptFact]:
    """Yield the prompts among messages, with the names of attached files instead of their contents."""
    for message in messages:
        if isinstance(message, UserMessage) and is_prompt(message):
            text = "\n".join(map(_block_text, message.content)).strip()
            if text:
                yield PromptFact(text)


def prompts_within(prompts: Sequence[PromptFact], tokens: int) -> tuple[tuple[PromptFact, ...], int]:
    """Return the prompts that fit, oldest first, and the number of those omitted.

    Three quarters of the budget are for complete prompts, newest first; one quarter is for shortened ones.
    """
    full, short = tokens - tokens // 4, tokens // 4
    kept: list[PromptFact] = []
    for at, prompt in enumerate(reversed(prompts)):
        size = estimate_text(prompt.text)
        if size <= full:
            full -= size
            kept.append(prompt)
            continue
        # A single long text must not displace all others; the newest prompt matters most.
        room = max(full // 2, SHORT_PROMPT) if at == 0 else SHORT_PROMPT
        if room > (full if at == 0 else 0) + short:
            return tuple(reversed(kept)), len(prompts) - at
        kept.append(_shortened_prompt(prompt, room))
        if at == 0:
            full -= min(full, room)
        else:
            short -= room
    return tuple(reversed(kept)), 0


def _block_text(block: Text | Image) -> str:
    if isinstance(block, Image):
        return "[image]"
    return f"[attached file: {attached_path(block)}]" if is_attached(block) else block.text


def _shortened_prompt(prompt: PromptFact, tokens: int) -> PromptFact:
    text = cut_middle(prompt.text, int(tokens * CHARS_PER_TOKEN) - 1, lambda _: " […] ")
    return prompt if text == prompt.text else replace(prompt, text=text.strip(), is_shortened=True)
