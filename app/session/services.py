"""Everything behind the window."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QSettings, Slot

from app.session.activity import SessionActivity
from app.session.attachment_reader import AttachmentReader
from app.session.benchmark_run import BenchmarkRunner
from app.session.call_history import CallHistory
from app.session.chat_library import ChatLibrary
from app.session.chat_pages import ChatPages
from app.session.chat_session import ChatSession
from app.session.chat_titles import ChatTitles
from app.session.commands import Commands
from app.session.compaction import Compactor
from app.session.compare_run import CompareRunner, ComparisonHistory
from app.session.comparer import Comparer
from app.session.conditions_watch import ConditionsWatch
from app.session.connection_history import ConnectionHistory
from app.session.context_meter import ContextMeter
from app.session.drafts import Drafts
from app.session.engine_adapter import EngineAdapter
from app.session.help_pages import CONNECTING_PAGE, MCP_JSON_PAGE
from app.session.local_server import LocalServer
from app.session.measurements import RooflineRunner
from app.session.memory_reader import MemoryReader
from app.session.message_passages import MessagePassages
from app.session.new_replies import NewReplies
from app.session.next_message import NextMessage
from app.session.notice import Notice, Notices
from app.session.other_macs import OtherMacs
from app.session.outgoing import OutgoingMessages
from app.session.page_choice import PageChoice
from app.session.pair_session import PairLoader
from app.session.picker import Picker
from app.session.preferences import Look, Preferences
from app.session.projects import Projects
from app.session.quick_chat import QuickChat
from app.session.quiet_mode import QuietMode
from app.session.read_aloud import ReadAloud
from app.session.recent_models import RecentModels
from app.session.reply_runner import ALTERNATIVES, ReplyRunner
from app.session.reply_speeds import ReplySpeeds
from app.session.saved_prompts import SavedPrompts
from app.session.tool_box import ToolBox
from app.session.tool_tokens import ToolTokens
from app.session.tuning_run import TuningRunner
from app.session.updates import Updates, this_release
from app.storage.database import FILE, open_store
from app.storage.json_values import parse_json
from app.storage.settings import ChatSettings
from app.storage.store_thread import UNSAVED_PAGE, StoreThread
from app.system.browser_page import delete_pages
from app.system.data_paths import DataPaths
from app.text.language import tr
from mlx_engine.contract.requests import LoadPair
from mlx_engine.remote.switch import EngineSwitch


class Services(QObject):
    """The parts of the app that need no window."""

    def __init__(self, client: EngineSwitch, paths: DataPaths, look: Look, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.paths, self.client = paths, client
        data = paths.data if paths.data_writable else None
        self.settings = QSettings(str(paths.settings_file), QSettings.Format.IniFormat, self)
        self._settings_saved = True  # as last reported
        self._closed = False
        self.preferences = Preferences(look, self.settings, self)
        self.engine = EngineAdapter(client, self)
        self.store = StoreThread(lambda: open_store(paths.data, paths.data_writable), str(paths.log_file), self)
        self.tools = ToolBox(data, self)
        self.notices = notices = Notices(self)
        self.library = library = ChatLibrary(self.store, self)
        self.loader = loader = PairLoader(self.engine, self)
        self.reply_runner = reply_runner = ReplyRunner(self.engine, library, self.tools, self)
        self.compare_runner = CompareRunner(self.engine, self)
        self.comparisons = ComparisonHistory(self.store, self)
        self.roofline_runner = roofline_runner = RooflineRunner(self.engine, self)
        self.attachments = AttachmentReader(
            self.engine, lambda: loader.pair is not None and not loader.sent_to, lambda: loader.can_see, self
        )
        self.activity = activity = SessionActivity(
            loader, reply_runner, self.compare_runner, notices, lambda: self.session.chat, self
        )
        self.benchmark = BenchmarkRunner(self.engine, activity, loader, self)
        self.chat_pages = ChatPages(library, loader, self)
        self.session = session = ChatSession(library, loader, self.tools, reply_runner, activity, notices, self.chat_pages, self)
        self.new_replies = NewReplies(session, library, reply_runner, self.settings, self)
        self.passages = passages = MessagePassages(library, loader, self.tools, notices, self)
        session.turn_added.connect(passages.forget)
        counted = (self.tools, self.attachments, reply_runner, passages)
        self.meter = ContextMeter(self.engine, session, activity, loader, *counted, self)
        self.tool_tokens = ToolTokens(session, activity, loader, self.tools, self.engine, self)
        self.drafts = drafts = Drafts(library, self.store, self.settings, self)
        composed = (self.tools, self.attachments, self.meter, reply_runner, notices, drafts)
        parts = (session, activity, library, loader, self.tools, self.attachments, drafts, notices, self.engine, passages)
        self.message = NextMessage(session, activity, loader, *composed, OutgoingMessages(*parts, self), passages, self)
        reading = (self.tools, reply_runner, self.new_replies, drafts, self.message, passages)
        self.read_aloud = ReadAloud(session, library, self)
        self.quick = QuickChat(session, activity, library, loader, *reading, notices, self)
        self.quick.left.connect(self.read_aloud.stop_in)
        context = (self.engine, self.meter, self.message, self.preferences)
        self.compactor = Compactor(session, activity, loader, *context, notices, self)
        self.comparer = Comparer(session, activity, loader, self.compare_runner, notices, self)
        self.commands = Commands(session, activity, library, loader, self.comparer, self.compactor, notices, self)
        self.macs = macs = OtherMacs(self.settings, self)
        loader.workers = lambda: macs.in_use
        self.picker = Picker(loader, activity, reply_runner, roofline_runner, macs, self, data)
        self.recent_models = RecentModels(self.settings, loader, activity, self.picker, self)
        self.projects = Projects(library, session, self.tools, self.recent_models, notices, self)
        self.picker.storage.moved.connect(self.projects.follow_move)
        self.pages = PageChoice(self.attachments, self.meter, loader, self.picker.background, self)
        self.tuning = TuningRunner(paths.data / FILE if paths.data else None, paths.logs / "tuning.log", self)
        self.memory = MemoryReader(client, lambda: self.tuning.process_id, self)
        self.connections = ConnectionHistory(self)
        self.calls = CallHistory(self.store, library, reply_runner, self)
        self.saved_prompts = SavedPrompts(self.engine, self.preferences, self)
        self.server = LocalServer(client, loader, activity, self.preferences, self)
        self.updates = Updates(this_release(), self.preferences, self)
        self.conditions = conditions = ConditionsWatch(self)
        self.reply_speeds = ReplySpeeds(conditions, loader, reply_runner, self.picker.background, self)
        self.quiet_mode = quiet = QuietMode(self.engine, self.preferences, conditions, self)
        self.titles = ChatTitles(
            self.engine, library, loader, reply_runner, lambda: self.preferences.chat_titles, lambda: quiet.on, self
        )
        for signal in (library.notified, loader.notified, self.attachments.refused):
            signal.connect(notices.post)
        self.compare_runner.recorded.connect(self.comparisons.add)
        self.compare_runner.drafter_changed.connect(lambda: loader.load(loader.here))  # Auto may choose another one
        activity.changed.connect(roofline_runner.stop)
        for source in (roofline_runner, reply_runner):
            source.kernels_selected.connect(loader.calibration.use)
        for slot in (roofline_runner.forget, self.attachments.count_all):
            loader.loaded.connect(slot)
        library.removed.connect(self.saved_prompts.forget)
        library.became_private.connect(self.saved_prompts.forget)
        library.loaded.connect(lambda: self.saved_prompts.keep_only(library.cached_chats))
        for failed in (self.server.failed, self.preferences.failed):
            failed.connect(notices.post)
        self.tools.unreadable.connect(self._show_unreadable)
        self.picker.endpoints.own_server = lambda: self.server.url
        self.updates.notified.connect(lambda text: notices.post(Notice(text, stays=True)))
        self.compare_runner.started.connect(self._explain_wait)
        self._clear_outdated_notices()
        quiet.changed.connect(self._use_quiet_mode)
        self._use_quiet_mode()
        self.preferences.changed.connect(self._use_preferences)
        self._use_preferences()
        self._restore_state()

    @Slot()
    def _use_preferences(self) -> None:
        self.session.set_new_chats(self.preferences.new_chats)
        self.reply_runner.most_steps = int(self.preferences.tool_steps)
        self.reply_runner.logprobs = ALTERNATIVES if self.preferences.token_probabilities else None

    @Slot()
    def _use_quiet_mode(self) -> None:
        """Stop or continue background work."""
        self.loader.calibration.set_quiet(self.quiet_mode.on)
        if self.quiet_mode.on:
            self.tuning.pause_for_quiet_mode()

    def _clear_outdated_notices(self) -> None:
        """Clear notices once what they wait for has happened: see `Notice.until`."""
        activity, loader, endpoints = self.activity, self.loader, self.picker.endpoints
        session = self.session
        started = (loader.changed, loader.loaded, activity.changed, session.chat_changed)
        asked_again = (loader.loaded, session.turns_changed, session.turn_added, session.editing_changed)
        for until, signals, over in (
            ("chat", (session.chat_changed, session.turn_added), lambda: True),
            ("consent", asked_again, lambda: True),
            ("free", started, lambda: activity.refusal_here is None),
            ("idle", started, lambda: not activity.busy),
            ("loaded", started, lambda: not loader.running),
            ("pair", (loader.loaded,), lambda: loader.pair is not None),
            ("server", (self.server.changed,), lambda: not self.server.error),
            ("tools", (self.tools.changed,), lambda: not self.tools.problem),
            ("connections", (endpoints.changed,), lambda: not endpoints.problem),
        ):
            for signal in signals:
                signal.connect(partial(self._clear_if, until, over))

    def _clear_if(self, until: str, over: Callable[[], bool], *_: object) -> None:
        if over():
            self.notices.clear(until)

    @Slot()
    def _explain_wait(self) -> None:
        """Explain why a comparison, which runs alone, doesn't start yet."""
        if self.server.programs:
            self.notices.post(Notice(tr("The comparison will start when replies to other programs finish."), until="idle"))

    @Slot(str)
    def _show_unreadable(self, reason: str) -> None:
        text = tr("Can't use mcp.json. {reason}", reason=reason)
        self.notices.post(Notice(text, "error", until="tools", topic="mcp.json", help=MCP_JSON_PAGE))

    def start(self) -> None:
        """Read the chats, and load or connect to what was used last."""
        notices, activity, endpoints = self.notices, self.activity, self.picker.endpoints
        if self.paths.temporary:
            folder = self.paths.settings
            text = tr("Can't write to your home folder. Settings are stored in {folder} for now.", folder=folder)
            notices.post(Notice(text, stays=True, help=UNSAVED_PAGE))
        delete_pages()  # of an app that was killed
        self.updates.start()
        if self.preferences.serve_at_launch:
            self.server.set_on(True)
        self.library.load()
        self.saved_prompts.apply()
        if endpoints.problem:
            notices.post(Notice(endpoints.problem, "error", until="connections", help=CONNECTING_PAGE))
        if self.tools.problem:
            self._show_unreadable(self.tools.problem)
        self.loader.here = last_pair(self.settings)
        last = endpoints.find(str(self.settings.value("connection") or ""))
        if last is not None:
            activity.connect_to(last)
        else:
            activity.use(last_pair(self.settings))
        self.picker.start()

    @Slot()
    def close(self) -> None:
        """Stop generation, finish saving, and free the models. `engine.stopped` follows.

        This can take long, because the keychain can ask the user.
        """
        if self._closed:
            return
        self._closed = True
        self.read_aloud.stop()
        self.server.close()
        self.picker.close()
        self.macs.close()
        self.benchmark.close()
        self.conditions.close()
        self.tuning.close()
        self.connections.close()
        self.passages.close()
        delete_pages()
        self.save_chats()
        self.engine.close()
        self.tools.close()

    def save_chats(self) -> None:
        self.message.end()  # first: else the end of reading files and pages would send what waits for them
        self.quick.end()
        self.library.cancel_imports()
        self.chat_pages.stop()
        self.attachments.end()
        self.session.save_settings()
        self.drafts.end()
        self.reply_runner.interrupt_all()

    def save_state(self) -> bool:
        """Save what the next launch begins with, and return whether that worked."""
        settings, loader, chosen = self.settings, self.loader, self.session.switches
        if (loaded := loader.loaded_from) is not None:
            settings.setValue("target", str(loaded.target or ""))
            settings.setValue("drafter", str(loaded.drafter or ""))
            settings.setValue("auto_drafter", loaded.auto)
        if loader.pair is not None:
            settings.setValue("connection", loader.connected_to.name if loader.connected_to else "")
        self.drafts.save()
        settings.setValue("dflash", chosen.dflash)
        settings.setValue("thinking", chosen.thinking)
        tools = {name: getattr(chosen, name) for name in ("tool_servers", "tools_off")}
        settings.setValue("tools", json.dumps(tools))
        return self._sync_settings()

    @property
    def settings_refusal(self) -> str:
        """Why the settings can't be saved, and what to do."""
        folder = self.paths.settings
        return tr("Can't save your settings. Check that the disk isn't full and that {folder} is writable.", folder=folder)

    def _sync_settings(self) -> bool:
        """Write the settings file, and report when that fails and when it works again."""
        file = QSettings(self.settings.fileName(), QSettings.Format.IniFormat)  # shares unsaved values; a status never recovers
        file.sync()
        saved = file.status() == QSettings.Status.NoError
        if saved != self._settings_saved and saved:
            self.notices.post(Notice(tr("Your settings are being saved again."), topic="settings"))
        elif saved != self._settings_saved:
            self.notices.post(Notice(self.settings_refusal, "error", topic="settings", help=UNSAVED_PAGE))
        self._settings_saved = saved
        return saved

    def _restore_state(self) -> None:
        saved = ChatSettings.from_json(parse_json(str(self.settings.value("tools"))))
        chosen = replace(
            self.session.chat.settings,
            dflash=self.settings.value("dflash", True, bool) is not False,
            thinking=self.settings.value("thinking", False, bool) is True,
            tool_servers=saved.tool_servers,
            tools_off=saved.tools_off,
        )
        self.session.set_settings(chosen)


def last_pair(settings: QSettings) -> LoadPair:
    """Return the last used pair, even if its disk is currently unplugged."""
    target, drafter = (Path(name) if (name := str(settings.value(key) or "")) else None for key in ("target", "drafter"))
    return LoadPair(target, drafter if target else None, auto=bool(target and settings.value("auto_drafter", False, bool)))
