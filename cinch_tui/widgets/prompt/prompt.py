"""The prompt: text input with history, completion and large pastes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Self

from textual import on
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.message import Message
from textual.reactive import var
from textual.widgets import TextArea

from cinch_tui.data_message import DataMessage
from cinch_tui.keybindings.keymap import bindings, hint, recognize_alt_keys
from cinch_tui.user_input import UserInput, UserInputLike, as_user_input, join_inputs
from cinch_tui.widgets.prompt.completion import CommandCompletion, Completion
from cinch_tui.widgets.prompt.draft import Draft, DraftKeeper
from cinch_tui.widgets.prompt.history import FOUND_HINT, NO_MATCH_HINT, HistorySearch, PromptHistory, is_query
from cinch_tui.widgets.prompt.input import PromptInput
from cinch_tui.widgets.prompt.path_completion import MentionCompletion
from cinch_tui.widgets.prompt.prompt_field import PromptField

IDLE_HINT = ("Ask for a change", "/ commands", "@ files", "chat.help help")
READ_ONLY_HINT = ("Read-only", "/fork continues in a copy", "chat.help help")
COMMAND_HINT = ("chat.abort stops your command", *IDLE_HINT)
RUNNING_HINT = ("prompt.submit steers", "prompt.follow_up queues", "chat.abort stops")
DRAFT_HINT = "unsent draft restored"
SHELL_HINT = "shell command · output is shared with the model · !! keeps it private · Tab paths"
RECALL_HINT = "prompt.older takes them back"
QUEUE_HINT = (
    "prompt.submit steers",
    RECALL_HINT,
    "chat.queue edits them",
    "chat.abort stops",
)
STEERING_HINT = ("prompt.submit sends it now", *QUEUE_HINT[1:3], "chat.interrupt stops")
REVISION_HINT = ("queued message", "prompt.submit saves", "prompt.close_popup cancels")


class Prompt(PromptField):
    """Posts the text and clears itself; a screen that cannot accept it calls `restore`.

    `typed_at` is the time of the last change of the current text, on the monotonic clock: dialogs should not take the
    focus from a user who is typing.
    """

    BINDINGS = bindings("prompt")

    run_is_on = var(default=False)
    is_read_only = var(default=False)
    """True if the session takes no prompts."""
    something_waits = var(default=False)
    steering_waits = var(default=False)
    activity = var("")
    """Name of a model call outside of replies, such as one for a summary; the agent is busy meanwhile."""
    own_commands = var(0)
    """Number of running shell commands of the user."""
    unseen = var(0)
    """Number of new lines below the transcript's view, shown in the frame."""

    class Submitted(DataMessage):
        """Enter: the complete text with pastes and images."""

        user_input: UserInput

    class FollowUp(DataMessage):
        """Alt+Enter: send after the run."""

        user_input: UserInput

    class SendNow(Message):
        """Enter in an empty prompt while a steering message is queued."""

    class EditorRequested(Message):
        """Ctrl+G: edit in an editor. The text is still in the prompt; `take` it."""

    class Revised(DataMessage):
        """The edited queued message is ready."""

        user_input: UserInput

    class RevisionCancelled(Message):
        """Editing a queued message was cancelled."""

    class RecallQueued(Message):
        """Up in an empty prompt: move queued messages back to the prompt."""

    def __init__(
        self,
        commands: CommandCompletion,
        mentions: MentionCompletion,
        history: PromptHistory,
        draft: Draft | None = None,
    ) -> None:
        super().__init__(commands, mentions)
        self._keeper = DraftKeeper(draft, self._unsent) if draft else None
        self.typed_at = 0.0
        self._history = history
        self._search: HistorySearch | None = None
        # Prompt text set aside while a queued message is edited.
        self._aside: UserInput | None = None

    def compose(self) -> ComposeResult:
        yield self._popup
        yield self._input
        if self._keeper:
            yield self._keeper

    def on_mount(self) -> None:
        recognize_alt_keys()

    def watch_is_shell(self, is_shell: bool) -> None:  # noqa: FBT001  Textual's signature
        if not self._search:
            self._input.hint = SHELL_HINT if is_shell else ""

    def _hint(self) -> None:
        queued = STEERING_HINT if self.steering_waits else QUEUE_HINT if self.something_waits else RUNNING_HINT
        idle = COMMAND_HINT if self.own_commands else READ_ONLY_HINT if self.is_read_only else IDLE_HINT
        busy = (self.activity, RECALL_HINT if self.something_waits else "prompt.submit queues", "chat.abort stops")
        self._input.placeholder = hint(*(busy if self.activity else queued if self.run_is_on else idle))
        self.set_class(self.run_is_on or bool(self.activity), "-running")

    watch_run_is_on = watch_is_read_only = watch_activity = _hint
    watch_something_waits = watch_steering_waits = watch_own_commands = _hint

    def watch_unseen(self, unseen: int) -> None:
        lines = f"{unseen:,} new line{'' if unseen == 1 else 's'}"
        self._input.border_title = hint(f"↓ {lines}", "chat.scroll_end") if unseen else ""

    @property
    def field(self) -> PromptInput:
        """Return the text area."""
        return self._input

    @property
    def user_input(self) -> UserInput:
        """Return what would be sent now."""
        return self._input.expand_text(self._search.draft) if self._search else self._input.user_input

    @property
    def text(self) -> str:
        return self.user_input.text

    @text.setter
    def text(self, text: str) -> None:
        self._leave_search()
        self._show(text)

    def take(self) -> UserInput:
        """Return the text and clear the prompt, without adding it to the history."""
        self._leave_search()
        user_input = self._input.user_input
        self._shown = ""
        self._input.forget()
        self._input.hint = ""
        self._close()
        return user_input

    def restore(self, user_input: UserInputLike) -> None:
        """Put back posted text, before anything typed since."""
        since = self.user_input
        self._leave_search()
        self._show(join_inputs([as_user_input(user_input), since]) if since.text else user_input)

    def revise(self, user_input: UserInput) -> None:
        """Edit a queued message in the prompt; the current text is restored afterwards."""
        self._leave_search()
        if self._aside is None:
            self._aside = self.user_input
        self._show(user_input)
        self._input.hint = hint(*REVISION_HINT)
        self.focus()

    def _end_revision(self, outcome: Revised | RevisionCancelled) -> None:
        aside, self._aside = self._aside, None
        self.take()
        if aside is not None and aside.text:
            self._show(aside)
        self.post_message(outcome)

    def _unsent(self) -> UserInput:
        return join_inputs([self.user_input, self._aside]) if self._aside and self._aside.text else self.user_input

    def insert(self, text: str) -> None:
        """Insert text at the cursor and focus the prompt."""
        self._leave_search()
        self._input.put(text)
        self.focus()

    def focus(self, scroll_visible: bool = True) -> Self:  # noqa: FBT001, FBT002  Textual's signature
        self._input.focus(scroll_visible)
        return self

    def action_submit(self) -> None:
        if self._took_found():
            return
        if self._input.break_line_at_backslash():
            return
        completion, candidate = self._popup.completion, self._popup.highlighted
        if completion and candidate and (self._popup.has_moved or completion.expects(candidate)):
            self._accept()
        else:
            self._post(self.Submitted)

    def action_follow_up(self) -> None:
        if not self._took_found():
            self._post(self.FollowUp)

    def action_newline(self) -> None:
        if not self._took_found():
            self._input.break_line()

    def action_open_editor(self) -> None:
        self._leave_search()
        self.post_message(self.EditorRequested())

    async def receive(self, text: str) -> None:
        if self._search:
            self._input.put(text)
        else:
            await super().receive(text)

    async def action_paste(self) -> None:
        self._leave_search()
        await super().action_paste()

    def action_walk(self, step: int) -> None:
        if self._popup.is_open or self._search:
            self._popup.move(step)
            return
        if step < 0 and self.something_waits and not self.text:
            self.post_message(self.RecallQueued())
            return
        user_input = self._history.walk(self.user_input, step)
        if user_input is not None:
            self._show(user_input)

    def action_earlier(self) -> None:
        if not self._input.text:
            raise SkipAction
        self._vertically(self._input.action_cursor_up, -1)

    def action_later(self) -> None:
        self._vertically(self._input.action_cursor_down, +1)

    def _vertically(self, move: Callable[[], None], step: int) -> None:
        try:
            move()
        except SkipAction:
            self.action_walk(step)

    def action_search_history(self) -> None:
        if self._search:
            self._popup.move(+1)
            return
        draft = self._input.text
        self._search = HistorySearch(self._history.entries, draft)
        if not is_query(draft):
            self._input.show("")
        self._offer()

    def action_stop_search(self) -> None:
        if not self._search:
            raise SkipAction
        self._leave_search()

    def action_complete(self) -> None:
        if not self._took_found():
            super().action_complete()

    def action_close_popup(self) -> None:
        if self._search:
            self._leave_search()
        elif self._aside is not None and not self._popup.is_open:
            self._end_revision(self.RevisionCancelled())
        else:
            super().action_close_popup()

    @on(TextArea.Changed)
    def _text_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        if self._input.text:
            self.typed_at = time.monotonic()
        if self._keeper:
            self._keeper.changed()
        if self._input.hint == DRAFT_HINT and self._input.text != self._shown:
            self._input.hint = ""
        self.is_shell = not self._search and self._input.text.startswith("!")
        self._keep_up()

    @on(PromptInput.LeftText)
    def _left_text(self, message: PromptInput.LeftText) -> None:
        message.stop()
        self.action_walk(message.step)

    @on(DraftKeeper.Found)
    def _draft_found(self, message: DraftKeeper.Found) -> None:
        message.stop()
        self.restore(message.user_input)
        self._input.hint = DRAFT_HINT

    @on(TextArea.SelectionChanged)
    def _cursor_moved(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
        if self._popup.is_open:
            self._keep_up()

    def _post(self, message: type[Submitted] | type[FollowUp]) -> None:
        user_input = self.user_input
        if self._aside is not None:
            self._end_revision(self.Revised(user_input))
            return
        if not user_input.text.strip():
            if self.steering_waits and not self.activity and message is self.Submitted:
                self.post_message(self.SendNow())
            return
        self._pasted[user_input.text.strip("\n")] = self._input.pasted
        self._history.add(user_input)
        self.take()
        self.post_message(message(user_input))

    def _completion(self) -> Completion | None:
        if not self._search:
            return super()._completion()
        found = self._search.find(self._input.text)
        self._input.hint = hint(*(FOUND_HINT if found else NO_MATCH_HINT))
        return found

    def _leave_search(self) -> None:
        """End a search and restore the text before it."""
        if self._search:
            draft, self._search = self._search.draft, None
            self._input.hint = ""
            self._show(draft)

    def _took_found(self) -> bool:
        """End a search and insert its result; return False if there was none."""
        search, candidate = self._search, self._popup.highlighted
        if search is None:
            return False
        self._leave_search()
        if candidate:
            self._show(self._history.go_to(search.last_indices[candidate.text], self.user_input))
        return True
