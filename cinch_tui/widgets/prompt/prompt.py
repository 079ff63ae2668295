"""The prompt: where a person types, with history, completion and large pastes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self

from textual import on, work
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.reactive import var
from textual.widgets import TextArea

from cinch_tui.keymap import bindings, read_chords_of_plain_terminals
from cinch_tui.widgets.prompt.completion import Completion, CompletionSource
from cinch_tui.widgets.prompt.draft import Draft
from cinch_tui.widgets.prompt.draft_keeper import DraftKeeper
from cinch_tui.widgets.prompt.history import PromptHistory
from cinch_tui.widgets.prompt.history_search import HistorySearch, is_query
from cinch_tui.widgets.prompt.input import PromptInput, run_first
from cinch_tui.widgets.prompt.mentions import MentionCompletion
from cinch_tui.widgets.prompt.paths import PathCompletion
from cinch_tui.widgets.prompt.popup import CompletionPopup

IDLE_HINT = "Ask for a change · / commands · @ files · F1 help"
RUNNING_HINT = "Enter steers · Alt+Enter queues · Esc stops"
DRAFT_HINT = "what you had not sent is back"
SHELL_HINT = "your command · the model hears of it · !! tells it nothing · Tab paths"
SEARCH_HINT = "history · Enter takes · Ctrl+R older · Esc back"
QUEUE_HINT = "Enter steers · ↑ takes back what waits · Esc stops"


class Prompt(Vertical):
    """Posts what was typed and empties itself; a screen that cannot take it gives it back with `restore`.

    `typed_at` is when a text that is still here last changed, on the monotonic clock: nothing should take the keys from
    someone typing.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("prompt")]

    run_is_on = var(default=False, toggle_class="-running")
    is_shell = var(default=False, toggle_class="-shell")
    """What stands here is a command of the person's own."""
    something_waits = var(default=False)
    unseen = var(0)
    """So many lines of the conversation are new below what is shown; told in the frame, where it takes no row."""

    @dataclass
    class Submitted(Message):
        """Enter: the whole text, with every paste in it."""

        text: str

    @dataclass
    class FollowUp(Message):
        """Alt+Enter: for when the agent is done."""

        text: str

    @dataclass
    class EditorRequested(Message):
        """Ctrl+G: go on in an editor. The text is still here; `take` it."""

    @dataclass
    class TakeBack(Message):
        """Up in an empty prompt: what waits is wanted here again."""

    def __init__(
        self,
        commands: CompletionSource,
        mentions: MentionCompletion,
        history: PromptHistory,
        draft: Draft | None = None,
    ) -> None:
        super().__init__()
        self._keeper = DraftKeeper(draft, lambda: self.text) if draft else None
        self.typed_at = 0.0
        self._commands = commands
        self._mentions = mentions
        self._paths = PathCompletion(mentions.root)
        self._history = history
        self._input = PromptInput(self._run_key)
        self._popup = CompletionPopup()
        # Text that was not typed opens no popup: it would catch the arrows that walk the history.
        self._shown = ""
        self._search: HistorySearch | None = None
        self._dismissed_at: tuple[int, int] | None = None
        self._offered_for = ("", (0, 0))

    def compose(self) -> ComposeResult:
        yield self._popup
        yield self._input
        if self._keeper:
            yield self._keeper

    def on_mount(self) -> None:
        read_chords_of_plain_terminals()

    def watch_run_is_on(self) -> None:
        self._hint()

    def watch_is_shell(self, is_shell: bool) -> None:  # noqa: FBT001  Textual's signature
        if not self._search:
            self._input.border_subtitle = SHELL_HINT if is_shell else ""

    def watch_something_waits(self) -> None:
        self._hint()

    def _hint(self) -> None:
        running = QUEUE_HINT if self.something_waits else RUNNING_HINT
        self._input.placeholder = running if self.run_is_on else IDLE_HINT

    def watch_unseen(self, unseen: int) -> None:
        lines = f"{unseen:,} new line{'' if unseen == 1 else 's'}"
        self._input.border_title = f"↓ {lines} · Ctrl+End" if unseen else ""

    @property
    def field(self) -> TextArea:
        """Where the text stands."""
        return self._input

    @property
    def text(self) -> str:
        """What would be sent now."""
        return self._input.expanded(self._search.draft) if self._search else self._input.full_text

    @text.setter
    def text(self, text: str) -> None:
        self._leave_search()
        self._show(text)

    def take(self) -> str:
        """The text; the prompt is empty afterwards, and the text is in no history."""
        self._leave_search()
        text = self._input.full_text
        self._shown = ""
        self._input.forget()
        self._close()
        return text

    def restore(self, text: str) -> None:
        """Give back what was posted, before whatever has been typed since."""
        since = self.text
        self._leave_search()
        self._show(f"{text}\n{since}" if since else text)

    def insert(self, text: str) -> None:
        """Type or paste the text at the cursor, and go there."""
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

    def action_older(self) -> None:
        self._walk(-1)

    def action_newer(self) -> None:
        self._walk(+1)

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
            self._walk(step)

    def action_search_history(self) -> None:
        if self._search:
            self._popup.move(+1)
            return
        draft = self._input.text
        self._search = HistorySearch(self._history.entries, draft)
        if not is_query(draft):
            self._input.show("")
        self._input.border_subtitle = SEARCH_HINT
        self._offer()

    def action_stop_search(self) -> None:
        if not self._search:
            raise SkipAction
        self._leave_search()

    def action_complete(self) -> None:
        if self._took_found():
            return
        if self.is_shell and not self._popup.is_open:
            self._complete_path()
            return
        if not self._popup.is_open:
            raise SkipAction
        self._accept()

    def action_close_popup(self) -> None:
        if self._search:
            self._leave_search()
            return
        if self._popup.completion is None:
            raise SkipAction
        self._dismiss(self._popup.completion)

    @on(TextArea.Changed)
    def _text_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        if self._input.text:
            self.typed_at = time.monotonic()
        if self._keeper:
            self._keeper.changed()
        if self._input.border_subtitle == DRAFT_HINT and self._input.text != self._shown:
            self._input.border_subtitle = ""
        self.is_shell = not self._search and self._input.text.startswith("!")
        self._keep_up()

    @on(DraftKeeper.Found)
    def _draft_found(self, message: DraftKeeper.Found) -> None:
        message.stop()
        self.restore(message.text)
        self._input.border_subtitle = DRAFT_HINT

    @on(TextArea.SelectionChanged)
    def _cursor_moved(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
        if self._popup.is_open:
            self._keep_up()

    async def _run_key(self, key: str) -> bool:
        own = self._bindings.key_to_bindings.get(key, ())
        if own:
            self._keep_up()
        return await run_first(own, self)

    @work(exclusive=True, group="mentions")
    async def _load_mentions(self) -> None:
        await self._mentions.load()
        self._offer()

    def _post(self, message: type[Submitted] | type[FollowUp]) -> None:
        text = self.text
        if not text.strip():
            return
        self._history.add(text)
        self.take()
        self.post_message(message(text))

    def _show(self, text: str) -> None:
        self._input.show(text)
        self._shown = self._input.text
        self._close()

    def _leave_search(self) -> None:
        """Put what was typed before the search back, if one is on."""
        if self._search:
            draft, self._search = self._search.draft, None
            self._input.border_subtitle = ""
            self._show(draft)

    def _took_found(self) -> bool:
        """Whether a search was on; it is over, and what it found stands in the prompt."""
        search, candidate = self._search, self._popup.highlighted
        if search is None:
            return False
        self._leave_search()
        if candidate:
            self._show(self._history.go_to(search.index_of(candidate.text), self.text))
        return True

    def _walk(self, step: int) -> None:
        if self._popup.is_open or self._search:
            self._popup.move(step)
            return
        if step < 0 and self.something_waits and not self.text:
            self.post_message(self.TakeBack())
            return
        text = self._history.older(self.text) if step < 0 else self._history.newer(self.text)
        if text is not None:
            self._show(text)

    def _keep_up(self) -> None:
        """Offer what fits the text as it is now; the message that it has changed may be late, or late and old."""
        place = (self._input.text, self._input.cursor_location)
        if place != self._offered_for:
            self._offered_for = place
            self._offer()

    def _offer_more(self) -> None:
        # Whoever walks through what was found is not thrown back to its start.
        if not self._popup.has_moved and self._mentions.goes_on:
            self._offer()

    def _offer(self) -> None:
        """Open, change or close the popup, as the text before the cursor asks for."""
        completion = self._search.find(self._input.text) if self._search else self._completion()
        place = self._place_of(completion)
        if place != self._dismissed_at:
            self._dismissed_at = None
        if completion is None or place == self._dismissed_at:
            self._close()
            return
        self._popup.open(completion)
        self._input.yields_arrows = True

    def _complete_path(self) -> None:
        completion = self._paths.complete(self._input.before_cursor, one_line=True)
        if completion is None:
            return
        if len(completion.candidates) == 1:
            only = completion.candidates[0]
            self._input.replace_before_cursor(completion.start, only.text + only.then)
        else:
            self._popup.open(completion)
            self._input.yields_arrows = True

    def _completion(self) -> Completion | None:
        field = self._input
        if self.is_shell:
            return self._paths.complete(field.before_cursor, one_line=True) if self._popup.is_open else None
        if field.text == self._shown or field.selected_text or not field.is_at_end_of_word:
            return None
        before = field.before_cursor
        if self._mentions.is_asked(before) and self._mentions.is_stale:
            self._load_mentions()
        one_line = field.document.line_count == 1
        completion = self._commands.complete(before, one_line=one_line)
        if completion is None:
            completion = self._mentions.complete(before, one_line=one_line)
            if self._mentions.goes_on:
                self.call_later(self._offer_more)
        return completion

    def _accept(self) -> None:
        completion, candidate = self._popup.completion, self._popup.highlighted
        if completion is None or candidate is None:
            return
        if candidate.text.endswith("/"):
            # A folder is gone into.
            self._close()
        else:
            self._dismiss(completion)
        if self._mentions.is_asked(self._input.before_cursor):
            self._mentions.used(candidate.text)
        self._input.replace_before_cursor(completion.start, candidate.text + candidate.then)

    def _dismiss(self, completion: Completion) -> None:
        self._dismissed_at = self._place_of(completion)
        self._close()

    def _close(self) -> None:
        self._popup.close()
        self._input.yields_arrows = False

    def _place_of(self, completion: Completion | None) -> tuple[int, int] | None:
        return (self._input.cursor_location[0], completion.start) if completion else None
