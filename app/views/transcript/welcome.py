"""The start page of an empty chat: status, examples, and a recommended pair."""

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal, SignalInstance
from PySide6.QtWidgets import QBoxLayout, QFrame, QGridLayout, QPushButton, QSizePolicy, QWidget

from app.session.recommendation import Recommendation, fit_text, precision_note
from app.storage.wording import size
from app.text.language import is_english, number, sentences, tr, translated, unbroken
from app.widgets.controls import Label, ThinBar, button, small_label, styled_label
from app.widgets.layout import column, row
from app.widgets.theme import Theme, set_look
from mlx_engine.contract.events import LoadProgress, PairInfo

MIN_CARD_HEIGHT = 56


def examples() -> tuple[tuple[str, str, str], ...]:
    """Return example prompts: the kind, the English, and the translation.

    The first one is for the calculator.
    """
    return (
        (tr("Calculator"), "What is 4817 × 392?", tr("What is 4817 × 392?")),
        (tr("Math"), "How many divisors does 84 have?", tr("How many divisors does 84 have?")),
        (tr("Table"), "Write the 7 times table up to 10.", tr("Write the 7 times table up to 10.")),
        (
            tr("Code"),
            "Write a Python function that checks if a number is prime.",
            tr("Write a Python function that checks if a number is prime."),
        ),
        (tr("List"), "List the first 8 square numbers.", tr("List the first 8 square numbers.")),
        (tr("Explanation"), "What is speculative decoding?", tr("What is speculative decoding?")),
    )


class RecommendedPair(QFrame):
    """The recommended pair, with size, fit, speed, and a button that opens the picker."""

    opened = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.found: Recommendation | None = None
        set_look(self, "notice")
        heading = small_label(theme, tr("Recommended for this computer"), "secondary", bold=True, wrap=True)
        self.name = styled_label(theme, size=1.15, bold=True, wrap=True)
        self.facts = small_label(theme, look="secondary", wrap=True)
        self.button = button(tr("Choose a Model…"), tr("Choose a model"), "bordered", self.opened.emit)
        texts = column(heading, self.name, self.facts, spacing=3)
        left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        self._row = row((texts, 1), (self.button, 0, left), spacing=12, margins=(20, 14, 20, 14), parent=self)

    def stack(self, stacked: bool) -> None:
        """Put the button below the texts or next to them."""
        self._row.setDirection(QBoxLayout.Direction.TopToBottom if stacked else QBoxLayout.Direction.LeftToRight)

    def show_pair(self, found: Recommendation | None) -> None:
        """Set the pair to recommend, or None to recommend none."""
        self.found = found
        if found is None:
            return
        self.name.setText(f"{found.entry.name}{tr(', {bits}-bit', bits=found.target.bits) if found.target.bits else ''}")
        weights = tr("About {size}", size=size(found.needed)) if found.estimated else size(found.needed)
        facts = [weights, fit_text(found.fit.verdict)]
        if found.max_speed:
            facts.append(tr("Up to {rate} tok/s without DFlash", rate=number(found.max_speed)))
        if reported := found.entry.drafters[0].reported:
            speedups = [ratio for one in reported for ratio in one.speedup]
            low, high = number(min(speedups), 1), number(max(speedups), 1)
            machines = ", ".join(dict.fromkeys(one.machine for one in reported))  # other Macs gain more or less
            facts.append(tr("{low} to {high}× as fast with DFlash on {machine}", low=low, high=high, machine=machines))
        note = precision_note(found.target.bits) if len(found.entry.targets) > 1 else ""
        self.facts.setText(unbroken("\n".join(filter(None, (" · ".join(facts), note)))))


class Welcome(QWidget):
    """The page that is shown while the chat is empty."""

    chosen = Signal(str)
    calculation_chosen = Signal(str)  # for the calculator

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        center = Qt.AlignmentFlag.AlignHCenter
        self.title = styled_label(theme, size=1.75, bold=True, wrap=True)
        self.subtitle = styled_label(theme, look="secondary", wrap=True)
        self.about_demo = small_label(theme, look="secondary", wrap=True)
        self.private = small_label(theme, look="faint", wrap=True)
        for label in (self.title, self.subtitle, self.about_demo, self.private):
            label.setAlignment(center)
        self.progress = ThinBar(theme, tr("Loading the models"))
        self.progress.setFixedWidth(280)
        policy = self.progress.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # the cards keep their places when loading ends
        self.progress.setSizePolicy(policy)
        self.recommended = RecommendedPair(theme)
        self.get_model = button(tr("Get a Real Model…"), tr("Choose a model"), "bordered", self.recommended.opened.emit)
        self._cards = QGridLayout()
        self._cards.setSpacing(10)
        calculation, *others = examples()
        self.calculation = _Card(theme, calculation, self.calculation_chosen, self)
        self.cards = [_Card(theme, example, self.chosen, self) for example in others]
        self._columns, self._can_call_tools = 0, False
        self._layout = column(
            self.title,
            self.subtitle,
            (self.progress, 0, center),
            self.recommended,
            (self.get_model, 0, center),
            6,
            self._cards,
            self.about_demo,
            self.private,
            spacing=12,
            parent=self,
        )
        self._layout.insertStretch(0, 2)
        self._layout.addStretch(3)
        self._arrange(2)
        self.show_state(None, None)
        self.show_hosts([])

    def height_for(self, width: int) -> int:
        """Return the minimum height for a width."""
        self.recommended.stack(width < self._theme.scaled(480))
        self._arrange(2 if width >= self._theme.scaled(360) else 1)
        return self._layout.heightForWidth(width)

    def show_state(self, loading: LoadProgress | None, pair: PairInfo | None, demo: bool = True, has_examples: bool = True) -> None:
        """Show the loaded or loading pair.

        Args:
            demo: whether this is the demo pair.
            has_examples: whether to offer examples, which show what the pairs here can do.
        """
        title = tr("Ask anything") if pair is not None and (pair.remote or pair.why_plain) else tr("Ask anything, faster")
        self.title.setText(tr("Try the built-in demo") if demo else title)
        self.about_demo.setText(
            sentences(
                tr("The demo pair answers only a few kinds of questions."),
                "" if is_english() else tr("The demo model understands only English."),
                tr("Compare shows both speeds side by side."),
            )
        )
        self.about_demo.setVisible(demo)
        self.recommended.setVisible(demo and self.recommended.found is not None)
        self.get_model.setVisible(demo and self.recommended.found is None)
        self.progress.setVisible(loading is not None)
        for card in (self.calculation, *self.cards):
            card.show_prompt(in_english=demo)
            card.setEnabled(pair is not None)
        can_call_tools = pair is None or pair.can_call_tools  # most pairs can, so the cards keep their places
        for card in (self.calculation, *self.cards):
            card.setVisible(has_examples and (card is not self.calculation or can_call_tools))
        if can_call_tools != self._can_call_tools:
            self._can_call_tools = can_call_tools
            self._place_cards()
        if loading is not None:
            self.progress.show_fraction(loading.fraction)
            self.subtitle.setText(f"{translated(loading.step)}…")
        elif pair is None:
            self.subtitle.setText(tr("No models are loaded."))
        elif pair.remote:
            self.subtitle.setText(tr("Connected to {host}", host=pair.remote))
        elif demo or not pair.why_plain:
            self.subtitle.setText(tr("DFlash runs a pair of models: a small one drafts, a large one checks. Same text, faster."))
        else:
            self.subtitle.setText(tr("Ready (no drafter)"))

    def show_hosts(self, hosts: Sequence[str], sent_to: str = "") -> None:
        """Say which hosts tool calls are sent to, if any.

        The foot names the server that messages are sent to.
        """
        stays = tr("Everything you write stays on this computer.")
        calls = tr("Tool calls are sent to {hosts}.", hosts=", ".join(hosts))
        only_calls = tr("Tool calls are sent to {hosts}. Everything else stays on this computer.", hosts=", ".join(hosts))
        self.private.setText((calls if sent_to else only_calls) if hosts else stays)
        self.private.setVisible(bool(hosts) or not sent_to)

    def _arrange(self, columns: int) -> None:
        if columns != self._columns:
            self._columns = columns
            self._place_cards()

    def _place_cards(self) -> None:
        for card in (self.calculation, *self.cards):
            self._cards.removeWidget(card)
        cards = [self.calculation] * self._can_call_tools + self.cards
        for place, card in enumerate(cards):
            down, across = divmod(place, self._columns)
            self._cards.addWidget(card, down, across, 1, self._columns - across if card is cards[-1] else 1)


class _Card(QPushButton):
    """A button with wrapped text, which QPushButton doesn't support."""

    def __init__(self, theme: Theme, example: tuple[str, str, str], chosen: SignalInstance, parent: QWidget) -> None:
        super().__init__(parent)  # now, because a card that is placed later would be last in the order of Tab
        kind, self._english, self._translated = example
        self.prompt = self._english
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        set_look(self, "card")
        self.clicked.connect(lambda: chosen.emit(self.prompt))
        self._label = Label()
        self._label.setWordWrap(True)
        self._label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        caption = small_label(theme, kind, "secondary")
        caption.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._content = column(caption, self._label, None, spacing=2, margins=(14, 9, 14, 9), parent=self)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def show_prompt(self, in_english: bool) -> None:
        self.prompt = self._english if in_english else self._translated
        self._label.setText(self.prompt)
        self.setAccessibleName(tr("Ask: {prompt}", prompt=self.prompt))

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return max(MIN_CARD_HEIGHT, self._content.heightForWidth(width))

    def sizeHint(self) -> QSize:
        return QSize(260, self.heightForWidth(260))

    def minimumSizeHint(self) -> QSize:
        return QSize(160, MIN_CARD_HEIGHT)
