"""The table of a comparison of drafters."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from app.compare.comparison_job import DrafterComparison
from app.conversations import wording
from app.language import number, tr, translated
from app.widgets.controls import ThinBar, as_tooltip, small_label
from app.widgets.layout import column, row
from app.widgets.theme import Theme
from mlx_engine.events import DrafterResult, DrafterRun, DraftersCompared
from mlx_engine.pairs.library import model_name

UNKNOWN = "–"


class DrafterTable(QWidget):
    """A table with one row each for plain decoding, lookup, and every drafter."""

    def __init__(self, theme: Theme, comparison: DrafterComparison) -> None:
        super().__init__()
        self._comparison = comparison
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(12)
        grid.setColumnStretch(1, 1)
        right = Qt.AlignmentFlag.AlignRight
        titles = (tr("tok/s"), tr("Tokens/round"), tr("Memory"), tr("Text"))
        for index, title in enumerate(titles, 2):
            grid.addWidget(small_label(theme, title, "faint"), 0, index, right)
        self.rows = [_Row(theme, name, titles) for name in ("", "", *map(model_name, comparison.drafters))]
        for at, one in enumerate(self.rows, 1):
            grid.addLayout(one.title, at, 0)
            grid.addWidget(one.bar, at, 1)
            for index, cell in enumerate(one.cells, 2):
                grid.addWidget(cell, at, index, right | Qt.AlignmentFlag.AlignVCenter)
        self.rows[0].show_name(wording.mode_names()["plain"])
        self.rows[1].show_name(tr("Lookup"))
        self.refresh()

    def refresh(self) -> None:
        """Show the current run and the results so far."""
        run, reply = self._comparison.current_run, self._comparison.reply
        outcome = self._comparison.outcome
        results = {self._row(one): one for one in (outcome.results if outcome else self._comparison.results)}
        if run is not None and reply is not None:
            at = self._row(run)
            self.rows[at].show_rate(reply.rate.tok_s, reply.tokens_per_round)
            if run.proposer == "drafter":
                self.rows[at].show_name(run.kind)
        best = outcome.fastest if outcome else None
        fastest = max((one.tok_s or 0.0 for one in results.values()), default=0.0)
        for at, one in results.items():
            self.rows[at].show_result(one, fastest, one is best)

    def _row(self, one: DrafterRun | DrafterResult) -> int:
        return (None, None, *self._comparison.drafters).index(one.folder) if one.folder else int(one.proposer == "lookup")


class _Row:
    """The name, speed bar, and figures of one kind of drafts."""

    def __init__(self, theme: Theme, repo: str, titles: tuple[str, ...]) -> None:
        self.name = small_label(theme, repo)
        self.chip = small_label(theme, tr("Fastest"), "chip-accent")
        self.chip.hide()
        self.detail = small_label(theme, repo, "faint", elided=True)
        self.detail.hide()
        self.title = column(row(self.name, self.chip, None), self.detail, spacing=2)
        self._repo = repo
        self.bar = ThinBar(theme, tr("Speed"), "faint")
        self.cells: list[QLabel] = [small_label(theme, UNKNOWN, selectable=True) for _ in titles]
        self._titles = titles

    def show_name(self, name: str) -> None:
        self.name.setText(name)
        self.detail.setVisible(bool(self._repo))
        for title, cell in zip(self._titles, self.cells, strict=True):
            cell.setAccessibleName(f"{name}: {title}")

    def show_rate(self, tok_s: float | None, tokens_per_round: float | None) -> None:
        """Show the speed of the reply in progress."""
        self.cells[0].setText(UNKNOWN if tok_s is None else "~" + wording.plain_rate(tok_s))
        self.cells[1].setText(UNKNOWN if tokens_per_round is None else number(tokens_per_round, 1))

    def show_result(self, one: DrafterResult, fastest: float, is_best: bool) -> None:
        if one.kind:
            self.show_name(one.kind)
        self.chip.setVisible(is_best)
        self.bar.color = "accent" if is_best else "faint"
        self.bar.show_fraction((one.tok_s or 0.0) / fastest if fastest else 0.0)
        per_round = one.reply.stats.tokens_per_round if one.reply else None
        texts = (
            UNKNOWN if one.tok_s is None else wording.plain_rate(one.tok_s),
            UNKNOWN if per_round is None else number(per_round, 1),
            wording.size(one.bytes) if one.bytes else UNKNOWN,
            _text(one),
        )
        for cell, text in zip(self.cells, texts, strict=True):
            cell.setText(text)
        if one.problem is not None:
            self.cells[-1].setToolTip(as_tooltip(translated(one.problem)))


def _text(one: DrafterResult) -> str:
    """Return whether a text is the plain one."""
    if one.problem is not None:
        return tr("Failed")
    if one.proposer == "plain":
        return UNKNOWN
    if one.first_difference is None:
        return tr("identical")
    at = number(one.first_difference + 1)
    return tr("tie at token {token}", token=at) if one.verdict == "tie" else tr("differs at token {token}", token=at)


def drafter_name(one: DrafterResult, outcome: DraftersCompared) -> str:
    """Return a drafter's kind, or its repo if several drafters of this kind were compared."""
    return one.kind if [other.kind for other in outcome.results].count(one.kind) == 1 else one.drafter


def outcome_texts(outcome: DraftersCompared) -> tuple[str, str]:
    """Return the headline of a comparison of drafters, and the sentences below it."""
    best, plain = outcome.fastest, outcome.results[0].tok_s
    if best is None:
        headline = tr("The reply is too short to measure speed")
    elif best.proposer == "plain":
        headline = tr("Plain decoding is the fastest here")
    else:
        name = drafter_name(best, outcome) if best.proposer == "drafter" else tr("Lookup")
        ratio = number((best.tok_s or 0.0) / plain, 1) if plain else UNKNOWN
        headline = tr("{name} is the fastest here: {ratio}× the plain speed", name=name, ratio=ratio)
    replies = [one for one in outcome.results if one.reply is not None]
    if len(replies) < 2:
        sentences = []
    elif all(one.first_difference is None for one in replies):
        sentences = [tr("All texts are identical, token for token.")]
    elif any(one.verdict == "different" for one in replies):
        sentences = [tr("Some texts differ by more than rounding error.")]
    else:
        sentences = [tr("Some texts differ where two tokens are tied within rounding error.")]
    sentences += [f"{one.drafter or tr('Lookup')}: {translated(one.problem)}" for one in outcome.results if one.problem]
    return headline, " ".join(sentences)
