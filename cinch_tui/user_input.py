"""User input: text with images, which are represented by marks in the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Protocol, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from harness.agent.agent import Agent
    from harness.agent.run_state import AgentResult
    from harness.messages import Image, UserContent, UserMessage
    from tools.mcp.servers import McpServers

MARK = re.compile(r"\[image (\d+): [^\[\]\n]*\]")
_NUMBER = re.compile(r"\[image \d+:")
_SIZE = re.compile(r" \d+×\d+$")
_UNNAMED = "picture"
_LONGEST_NAME = 60


class Attachment(Struct, frozen=True):
    """An image, and the `mark` that represents it in a text."""

    mark: str
    image: Image


class PromptUse(Protocol):
    """A skill or command that a text starts."""

    async def run(self, report: Callable[[str], None]) -> AgentResult:
        """Prompt the agent, and wait for the end of the run; `report` receives problems."""
        ...

    async def steering(self, report: Callable[[str], None]) -> tuple[UserContent, ...]:
        """Return the content of a message for the active run."""
        ...


class UserInput(Struct, frozen=True):
    text: str
    images: tuple[Attachment, ...] = ()
    is_literal: bool = False
    """True for a text that the user has not typed: what it mentions with `@` is not attached."""
    use: PromptUse | None = None
    """Skill or command of a file that the text starts; None for a prompt."""

    def with_text(self, text: str) -> UserInput:
        """Return input with another text, and those images whose marks it contains."""
        return UserInput(text, tuple(each for each in self.images if each.mark in text), self.is_literal)

    def as_literal(self) -> UserInput:
        """Return the input as one that the user has not typed."""
        return UserInput(self.text, self.images, is_literal=True)

    @property
    def prompt(self) -> str | tuple[UserContent, ...]:
        """The content for the agent: each image follows its mark."""
        if not self.images:
            return self.text
        from harness.messages import Text  # not before the first paint

        content: list[UserContent] = []
        rest = self.text
        for each in sorted(self.images, key=lambda each: self.text.find(each.mark)):
            before, mark, behind = rest.partition(each.mark)
            if mark:
                content += [Text(before + mark), each.image]
                rest = behind
        # Services reject blank text.
        return (*content, Text(rest)) if rest.strip() else tuple(content)

    @property
    def may_mention(self) -> bool:
        """True if the text may mention files or resources, or starts a skill or command, which does so."""
        return self.use is not None or ("@" in self.text and not self.is_literal)

    async def with_files(
        self, agent: Agent, report: Callable[[str], None], servers: McpServers | None = None
    ) -> str | tuple[UserContent, ...]:
        """Return `prompt` with the files and the resources of `servers` that its text mentions; `report` receives
        errors.

        Raises:
            CinchError: The skill or command that the text starts cannot be used here.
        """
        if self.use is not None:
            return await self.use.steering(report)
        if not self.may_mention:
            return self.prompt
        from cinch_tui.attached_files import attach_files

        files = await attach_files(self.text, agent, servers)
        for reason in files.skipped:
            report(reason)
        return self.followed_by(files.content)

    def followed_by(self, content: Sequence[UserContent]) -> str | tuple[UserContent, ...]:
        """Return `prompt` followed by other content."""
        from harness.messages import Text  # not before the first paint

        text = self.prompt
        if not content:
            return text
        return (Text(text), *content) if isinstance(text, str) else (*text, *content)


UserInputLike: TypeAlias = str | UserInput


def as_user_input(text: UserInputLike) -> UserInput:
    return UserInput(text) if isinstance(text, str) else text


def user_input_of(message: UserMessage) -> UserInput:
    """Return the input that a message was made of; an image without a mark gets one."""
    # Imported here as above. Attached files are not part of the input.
    from cinch_tui.attached_files import without_attached
    from harness.messages import Text  # not before the first paint

    text, images = "", list[Attachment]()
    numbers = count(1)
    for block in without_attached(message.content):
        if isinstance(block, Text):
            text += block.text
            continue
        found = [match for match in MARK.finditer(text) if match.end() == len(text)]
        mark = found[0][0] if found else image_mark(next(numbers), _UNNAMED)
        text += "" if found else mark
        images.append(Attachment(mark, block))
    return UserInput(text, tuple(images))


def append_marks(text: str, images: Sequence[Attachment]) -> UserInput:
    """Return the text with the marks of these images appended."""
    marks = " ".join(each.mark for each in images)
    between = ("\n" if "\n" in text else " ") if text and marks else ""
    return UserInput(f"{text}{between}{marks}", tuple(images))


def join_inputs(several: Sequence[UserInput], between: str = "\n") -> UserInput:
    """Join several inputs; conflicting marks of images are renumbered."""
    text, images = "", list[Attachment]()
    for user_input in several:
        added = renumber_marks(user_input, {each.mark: each.image for each in images})
        text = f"{text}{between}{added.text}" if text else added.text
        images += [each for each in added.images if each not in images]
    return UserInput(text, tuple(images))


def renumber_marks(user_input: UserInput, taken: Mapping[str, Image]) -> UserInput:
    """Return the input with marks that do not conflict with those in `taken`."""
    marks = [*taken, *(each.mark for each in user_input.images)]
    numbers = count(1 + max((int(found[1]) for mark in marks if (found := MARK.search(mark))), default=0))
    text, images = user_input.text, list[Attachment]()
    for each in user_input.images:
        mark = each.mark
        if taken.get(mark, each.image) != each.image:
            mark = _NUMBER.sub(f"[image {next(numbers)}:", mark, count=1)
            text = text.replace(each.mark, mark, 1)
        images.append(Attachment(mark, each.image))
    return UserInput(text, tuple(images))


def image_name(mark: str) -> str:
    """Return the name of an image from its mark."""
    return _SIZE.sub("", mark.partition(": ")[2].removesuffix("]"))


def image_mark(number: int, name: str, width: int = 0, height: int = 0) -> str:
    """Return the mark of an image, with its size if it is known."""
    plain = "".join("_" if letter in "[]" or not letter.isprintable() else letter for letter in name)
    if len(plain) > _LONGEST_NAME:
        plain = f"{plain[: _LONGEST_NAME // 2]}…{plain[-_LONGEST_NAME // 2 :]}"
    return f"[image {number}: {plain}{f' {width}×{height}' if width else ''}]"
