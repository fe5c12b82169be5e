"""The Tune Drafter window."""

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal, Slot
from PySide6.QtWidgets import QDialog, QGridLayout, QWidget

from app.session.activity import SessionActivity
from app.session.downloads import duration
from app.session.pair_session import PairLoader
from app.session.tuning_run import TuningRunner
from app.session.tuning_survey import loaded_pair, why_not_tunable
from app.storage.wording import chats, percent, size
from app.text.language import number, tr, translated
from app.widgets.comparison_table import UNKNOWN, ComparisonTable
from app.widgets.controls import Label, ThinBar, announce, as_tooltip, button, small_label, styled_label
from app.widgets.layout import NoticeView, column, flow, lay_out, row
from app.widgets.save_dialog import confirm
from app.widgets.theme import Theme, set_look


class TuneDialog(QDialog):
    """A modeless window. Its run goes on when it closes, until Slipstream quits."""

    models_requested = Signal()
    help_requested = Signal()

    def __init__(
        self, theme: Theme, runner: TuningRunner, activity: SessionActivity, loader: PairLoader, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._runner, self._activity, self._loader = runner, activity, loader
        self._reloads = False  # once no reply is running
        self.setWindowTitle(tr("Tune Drafter"))
        self.resize(QSize(theme.scaled(580), theme.scaled(440)))
        self.title = styled_label(theme, size=1.3, bold=True, wrap=True)
        about = tr(
            "Tuning adapts the drafter to this model and to your messages. The text of replies never changes, only their speed. "
            "It runs in the background with low priority. Replies are slower while it runs."
        )
        self.about = styled_label(theme, about, "secondary", wrap=True)
        grid = QGridLayout()
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(8)
        grid.setColumnStretch(1, 1)
        self.prompts, self.memory, self.disk, self.time = (
            _add_fact(theme, grid, name) for name in (tr("Messages"), tr("Memory"), tr("Disk space"), tr("Time"))
        )
        self.facts = QWidget()
        self.facts.setLayout(grid)
        grid.setContentsMargins(0, 0, 0, 0)
        self.notice, self.error = NoticeView(""), NoticeView("", "error")
        self.models = button(tr("Models…"), tr("Choose models"), "bordered", self.models_requested.emit)
        self.notice.add_button(self.models)
        self.state = styled_label(theme, wrap=True)
        self.bar = ThinBar(theme, tr("Tuning progress"))
        self.gains = GainTable(theme)
        self.outcome = styled_label(theme, wrap=True, selectable=True)
        self.main = button("", look="primary", clicked=runner.start)
        self.pause = button(tr("Pause"), tr("Pause tuning"), "bordered", runner.pause)
        self.discard = button(tr("Discard…"), tr("End and delete this run"), "bordered", self._discard)
        self.reload = button(tr("Reload"), tr("Reload the pair"), "primary", self._reload)
        self.remove = button(tr("Remove…"), tr("Remove the tuned drafter"), "bordered", self._remove)
        learn = button(tr("Learn More"), tr("Learn more about tuning"), "bordered", self.help_requested.emit)
        page = column(
            self.title,
            self.notice,
            self.about,
            self.facts,
            self.error,
            self.state,
            self.bar,
            self.gains,
            self.outcome,
            row(learn, None),
            None,
            spacing=12,
            margins=(24, 20, 24, 12),
        )
        close = button(tr("Close"), look="bordered", clicked=self.accept)
        actions = flow(self.reload, self.main, self.pause, self.discard, self.remove)
        lay_out(self, page, (actions, 1), close)
        for each in (self.main, self.pause):
            each.installEventFilter(self)
        runner.changed.connect(self.refresh)
        runner.ended.connect(self._announce)
        activity.changed.connect(self._reload_when_idle)
        self._loader.changed.connect(self.refresh)
        self._loader.loaded.connect(self.look)
        self.look()
        close.setFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Ignore a double-click's second click, where Pause replaces Start."""
        return event.type() == QEvent.Type.MouseButtonDblClick or super().eventFilter(watched, event)

    def _why_not(self) -> str:
        """Return why there is nothing to tune, or an empty string."""
        if self._runner.pair is not None:
            return self._runner.surveyed.why_not if self._runner.surveyed else ""
        return why_not_tunable(self._loader)

    @Slot()
    def look(self) -> None:
        """Read what is known about the loaded pair."""
        self._runner.look_at(loaded_pair(self._loader))
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show the state of the run and of the loaded pair."""
        runner, why_not = self._runner, self._why_not()
        shown = runner.pair
        known, running = runner.surveyed, runner.running
        paused_at = known.paused_at if known and not running else None
        self.title.setText(shown.name if shown else self._loader.pair.name if self._loader.pair else "")
        self.title.setVisible(bool(self.title.text()))
        self._show_facts()
        self.notice.label.setText("" if running else why_not)
        self.notice.setVisible(bool(why_not) and not running)
        self.models.setVisible(shown is None)
        self.error.label.setText("" if running else runner.error)
        self.error.setVisible(bool(runner.error) and not running)
        self.state.setText(self._state())
        self.state.setVisible(bool(self.state.text()))
        fraction = runner.progress.fraction if runner.progress else paused_at
        self.bar.setVisible(fraction is not None)
        self.bar.show_fraction(fraction)
        self._show_result()
        tuned = bool(known and known.tuned)
        text = tr("Continue") if paused_at is not None else tr("Tune Again") if tuned or runner.result else tr("Start")
        self.main.setText(text)
        set_look(self.main, "bordered" if text == tr("Tune Again") else "primary")
        self.main.setAccessibleName(tr("{action}: {name}", action=text, name=shown.name) if shown else text)
        self.main.setVisible(not running)
        self.main.setEnabled(known is not None and not why_not and not runner.reading)
        self.main.setToolTip(as_tooltip(why_not))
        self.pause.setVisible(running)
        self.pause.setEnabled(not runner.pausing)
        self.discard.setVisible(running or paused_at is not None)
        self.remove.setVisible(tuned and not running)
        self.reload.setVisible(self._outdated and not running)
        self.reload.setEnabled(not self._reloads and not self._loader.running)

    def _show_facts(self) -> None:
        known = self._runner.surveyed
        needs = known.needs if known else None
        self.facts.setVisible(needs is not None and self._runner.result is None)
        if known is None or needs is None:
            return
        count, general = number(len(known.prompts)), number(known.general)
        values = {"count": count, "chats": chats(known.chats), "general": general}
        self.prompts.setText(tr("{count} from {chats}, and {general} general ones. Private chats are left out.", **values))
        free = size(known.free_memory) if known.free_memory is not None else "–"
        needed = size(needs.memory) if needs.memory is not None else "–"
        self.memory.setText(tr("About {needed}, for a second copy of the pair ({free} free)", needed=needed, free=free))
        self.disk.setText(
            tr("Up to {needed}, until tuning ends ({free} free)", needed=size(needs.disk or 0), free=size(known.free_disk))
        )
        remaining = self._runner.remaining.seconds if self._runner.running else None
        self.time.setText(
            tr("Shown after the first steps")
            if remaining is None
            else tr("About {time} left for this part", time=duration(remaining))
        )

    def _state(self) -> str:
        runner = self._runner
        if runner.pausing:
            return tr("Pausing…")
        if runner.progress is not None:
            return translated(runner.progress.step)
        if runner.reading:
            return tr("Checking…")
        if runner.surveyed is not None and runner.surveyed.paused_at is not None:
            return tr("Paused at {share}. Nothing is lost.", share=percent(runner.surveyed.paused_at))
        return ""

    def _show_result(self) -> None:
        runner, record = self._runner, self._runner.surveyed.record if self._runner.surveyed else None
        found = runner.result or record
        self.gains.setVisible(found is not None and not runner.running)
        if found is not None:
            self.gains.show_gains((found.before, found.after), (found.general_before, found.general_after))
        self.outcome.setText(self._outcome())
        self.outcome.setVisible(bool(self.outcome.text()))

    def _outcome(self) -> str:
        runner, known, info = self._runner, self._runner.surveyed, self._loader.info
        if runner.running or known is None or info is None:
            return ""
        if self._reloads:
            return tr("The pair will be reloaded when the reply ends.")
        if runner.result is not None and not runner.result.kept:
            return why_not_kept(runner.result.before, runner.result.after)
        if self._outdated:
            return (
                tr("Reload the pair to use the tuned drafter.")
                if known.tuned
                else tr("The tuned drafter was removed. Reload the pair to stop using it.")
            )
        if known.record is not None and info.tuned:
            return tr("Tuned on {date}. The tuned drafter is in use.", date=known.record.date)
        return translated(info.why_not_tuned) if info.why_not_tuned else ""

    @Slot()
    def _announce(self) -> None:
        """Let a screen reader read how a run ended."""
        result = self._runner.result
        announce(self, self._runner.error or (tr("Tuning has ended.") if result else ""))

    @property
    def _outdated(self) -> bool:
        """Whether the loaded pair doesn't use the drafter as stored."""
        runner, info = self._runner, self._loader.info
        if (
            runner.pair is None
            or loaded_pair(self._loader) != runner.pair
            or runner.surveyed is None
            or info is None
            or info.why_not_tuned
        ):
            return False
        return runner.surveyed.tuned != info.tuned or bool(runner.result and runner.result.kept)

    # Commands

    @Slot()
    def _discard(self) -> None:
        question = tr("What was generated and learned so far will be deleted. To continue later, choose Pause instead.")
        if confirm(self, tr("Discard This Run?"), question, tr("Discard")):
            self._runner.discard()

    @Slot()
    def _remove(self) -> None:
        question = tr("The drafter will be used as it was published. You can tune it again at any time.")
        if confirm(self, tr("Remove the Tuned Drafter?"), question, tr("Remove")):
            self._runner.remove()

    @Slot()
    def _reload(self) -> None:
        self._reloads = True
        self._reload_when_idle()

    @Slot()
    def _reload_when_idle(self) -> None:
        if self._reloads and not self._activity.busy:
            self._reloads = False
            self._activity.use(self._loader.here)
        self.refresh()


class GainTable(ComparisonTable):
    """Tokens per round before and after tuning, on prompts that weren't learned."""

    def __init__(self, theme: Theme) -> None:
        names = (tr("Your messages"), ""), (tr("General prompts"), "")
        super().__init__(theme, (tr("Before"), tr("After"), tr("Change")), names, tr("Tokens per round"), bars=False)

    def show_gains(self, *gains: tuple[float, float]) -> None:
        """Show tokens per round before and after by kind of prompt; 0 for none."""
        for shown, (before, after) in zip(self.rows, gains, strict=True):
            shown.show((number(before, 2), number(after, 2), _change(before, after)) if before else (UNKNOWN,) * 3)


def why_not_kept(before: float, after: float) -> str:
    """Return why a run's result isn't used, from the user's tokens per round."""
    if after <= before:
        return tr("Not kept, because tokens per round didn't rise for your messages. The drafter is unchanged.")
    return tr("Not kept, because tokens per round fell by more than 1% on general prompts. The drafter is unchanged.")


def _change(before: float, after: float) -> str:
    change = round(100 * (after / before - 1), 1)
    return ("+" if change >= 0 else "−") + tr("{count}%", count=number(abs(change), 1))


def _add_fact(theme: Theme, grid: QGridLayout, name: str) -> Label:
    """Add a row with a name and a text, and return the text."""
    text, index = small_label(theme, wrap=True), grid.rowCount()
    text.setAccessibleName(name)
    grid.addWidget(small_label(theme, name, bold=True), index, 0, Qt.AlignmentFlag.AlignTop)
    grid.addWidget(text, index, 1)
    return text
