"""The start of comparisons of the open chat's prompts."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, Slot

from app.session.activity import SessionActivity
from app.session.chat_session import ChatSession
from app.session.compare_run import BOTH_MODES_ONCE, CompareRunner, ComparisonOptions
from app.session.notice import Notices
from app.session.pair_session import PairLoader
from app.storage.attachments import shown_to
from app.storage.chat_tree import Chat, Turn, same_again
from app.storage.wording import without_dflash
from app.text.language import tr, translated
from app.text.plain_text import clean
from mlx_engine.contract.requests import GenerationRequest


class Comparer(QObject):
    """Starts comparisons, or says why it can't."""

    def __init__(
        self,
        session: ChatSession,
        activity: SessionActivity,
        loader: PairLoader,
        compare_runner: CompareRunner,
        notices: Notices,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._session, self._activity, self._loader = session, activity, loader
        self._compare_runner, self._notices = compare_runner, notices

    def why_not(self, with_this_computer: bool = False) -> str:
        """Return why a comparison isn't possible, or an empty string."""
        pair = self._loader.pair
        if pair is None or not self._loader.ready:
            return tr("To compare, load a pair first.")
        if pair.why_plain and not with_this_computer:
            return without_dflash(pair.why_plain)
        if pair.why_not_plain and not with_this_computer:
            return tr("Plain replies aren't available: {why}", why=translated(pair.why_not_plain))
        return self._activity.why_private

    @Slot()
    def compare(self) -> None:
        """Compare both modes on the last prompt."""
        if (turn := self._session.chat.last_comparable) is not None:
            self.compare_turn(turn)

    @Slot(object)
    def compare_turn(self, turn: Turn) -> None:
        """Compare both modes on a turn."""
        self.compare_turns((turn,))

    def compare_turns(self, turns: Sequence[Turn], options: ComparisonOptions = BOTH_MODES_ONCE) -> None:
        """Compare both modes on a turn, or drafters on several turns."""
        if not self._activity.can_compare(partial(self.compare_turns, turns, options)):
            return
        if why := self.why_not(options.with_this_computer):
            self._notices.post(why)
            return
        requests = [same_again(turn, self._session.tool_specs) for turn in turns]
        self._compare(requests, [turn.prompt for turn in turns], turns[0] if len(turns) == 1 else None, options)

    def compare_prompt(self, prompt: str, options: ComparisonOptions = BOTH_MODES_ONCE) -> None:
        """Compare both modes, or drafters, on a prompt with the open chat's settings."""
        if prompt := clean(prompt).strip():
            turn = Chat(settings=self._session.chat.settings).ask(prompt, "dflash", self._session.thinking, self._loader.sampling)
            self._compare([turn.request], [prompt], None, options)

    def _compare(
        self, requests: Sequence[GenerationRequest], prompts: Sequence[str], turn: Turn | None, options: ComparisonOptions
    ) -> None:
        pair, here = self._loader.pair, self._loader.here
        if pair is None or self._activity.alone_refusal() or self.why_not(options.with_this_computer):
            return
        private = self._session.chat.settings.private
        asked = [
            replace(one, messages=shown_to(pair.can_see, one.messages), exact=options.exact, private=private) for one in requests
        ]
        self._compare_runner.start(asked, prompts, options, pair, here, turn)
