"""What surrounded each reply of the window, and why it was slow."""

from pathlib import Path

from PySide6.QtCore import QObject, Slot

from app.session.background_work import Background
from app.session.conditions_watch import ConditionsWatch
from app.session.pair_session import PairLoader
from app.session.reply_run import ReplyRun
from app.session.reply_runner import ReplyRunner
from app.storage.slowness import UNKNOWN_SPEED, UsualSpeed, is_slower_than, slow_cause
from app.storage.speed_history import usual_in_chat
from mlx_engine.contract.conditions import UNKNOWN, Conditions
from mlx_engine.contract.events import Stats
from mlx_engine.models.library.pair import demo_pair
from mlx_engine.models.library.speeds import MeasuredSpeeds, speed_key


class ReplySpeeds(QObject):
    """A recorder of conditions during replies, and of what slowed them down.

    The cause is found when a reply ends, before it is saved. A reply is compared with earlier ones in its chat, or, if they are too
    few, with those of its pair on this computer.
    """

    def __init__(
        self,
        watch: ConditionsWatch,
        loader: PairLoader,
        reply_runner: ReplyRunner,
        background: Background,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._watch, self._loader, self._background = watch, loader, background
        self._worst: dict[ReplyRun, Conditions] = {}
        self._usual: dict[ReplyRun, UsualSpeed] = {}
        watch.looked.connect(self._note)
        reply_runner.started.connect(self._begin)
        reply_runner.finished.connect(self._finish)
        reply_runner.ended.connect(self._end)

    @Slot(object)
    def _begin(self, run: ReplyRun) -> None:
        loaded = self._loader.loaded_from
        if loaded is None or loaded.workers or self._loader.sent_to:
            return
        self._worst[run] = self._watch.now if self._worst else UNKNOWN  # what was read long ago says nothing
        self._watch.set_needed("replies", True)
        target, drafter = (loaded.target, loaded.drafter) if loaded.target else demo_pair()
        mode = run.turn.reply.mode

        def keep(found: UsualSpeed) -> None:
            if run in self._worst:
                self._usual[run] = found

        self._background.run(lambda: _usual_here(target, drafter, mode), keep, lambda _: None)

    @Slot()
    def _note(self) -> None:
        self._worst = {run: worst.worst(self._watch.now) for run, worst in self._worst.items()}

    @Slot(object, object)
    def _finish(self, run: ReplyRun, last_step: Stats) -> None:
        reply, node, worst = run.turn.reply, run.turn.answered, self._worst.get(run)
        if worst is None or reply.stats is None or node is None:
            return
        reply.conditions = worst if reply.conditions is None else reply.conditions.worst(worst)
        usual = usual_in_chat(node, reply.stats)
        if usual.tok_s is None:
            usual = self._usual.get(run, UNKNOWN_SPEED)
        reply.slow_cause = slow_cause(reply.stats, reply.conditions, usual)
        reply.usual_tok_s = usual.tok_s if reply.slow_cause is not None and is_slower_than(reply.stats, usual) else None

    @Slot(object)
    def _end(self, run: ReplyRun) -> None:
        self._worst.pop(run, None)
        self._usual.pop(run, None)
        self._watch.set_needed("replies", bool(self._worst))


def _usual_here(target: Path, drafter: Path | None, mode: str) -> UsualSpeed:
    """Return the usual speed of a pair on this computer."""
    speeds, key = MeasuredSpeeds(), speed_key(target, drafter)
    return UsualSpeed.of(speeds.rates(key).get(mode, []), speeds.acceptance(key) if mode == "dflash" else [])
