"""The window with a server in place of a pair: real responses of servers, replayed."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtGui import Qt
from shiboken6 import isValid

from app.session.context_use import use_text
from app.storage import wording
from app.storage.comparison_record import ComparisonRecord
from app.views.chat.foot import ContextView
from app.views.compare.compare_view import CompareDialog
from app.views.machine.this_mac import ThisMacDialog
from app.views.tools.tools_button import ToolsButton
from mlx_engine.contract.requests import Endpoint, LoadPair
from mlx_engine.remote.saved_endpoints import SavedEndpoint
from tests.app.conftest import Begin, Session, Start
from tests.app.scripted_engine import PAIR, ScriptedEngine, commit, done
from tests.mlx_engine.remote.replay import Replay, Response, recorded, replaying

Responses = dict[tuple[str, str], Response]

CHAT = ("POST", "/v1/chat/completions")
MODELS = ("GET", "/v1/models")
JSON = (("content-type", "application/json"),)
VLLM = {
    MODELS: recorded("vllm_dflash/v1_models"),
    ("GET", "/version"): recorded("vllm_dflash/version"),
    ("GET", "/metrics"): recorded("vllm_dflash/metrics_start"),
    CHAT: recorded("vllm_dflash/stream_usage"),
}
LLAMA = {
    MODELS: recorded("llama_dflash/v1_models"),
    ("GET", "/slots"): recorded("llama_dflash/slots"),
    ("GET", "/props"): Response(200, JSON, json.dumps({"chat_template_caps": {"supports_tools": False}}).encode()),
    CHAT: recorded("llama_dflash/stream_usage"),
}
MLX_LM = {MODELS: recorded("mlx_lm/v1_models"), CHAT: recorded("mlx_lm/stream_usage")}


@contextmanager
def connected(app: Session, responses: Responses, **options: str) -> Iterator[Replay]:
    """Connect the app to a server."""
    with replaying(responses) as replay:
        app.activity.connect_to(SavedEndpoint("Office", Endpoint(replay.url, **options)))  # type: ignore[arg-type]
        app.until(lambda: not app.loader.running)
        yield replay


def replies_asked(replay: Replay) -> int:
    return sum(method == "POST" for method, *_ in replay.seen)


@pytest.mark.parametrize("use", ["52 tokens left", "12 older messages won't be read · 1,958 of 2,048 tokens used · 90 left"])
def test_no_note_below_the_composer_is_cut_off(start: Start, monkeypatch: pytest.MonkeyPatch, use: str) -> None:
    """At the window's first size, the meter left no room for the host."""
    monkeypatch.setattr(ContextView, "refresh", lambda view: isValid(view.label) and view.label.setText(use))
    app = start()
    labels = app.window.foot.goes_to, app.window.foot.context.label

    def whole() -> bool:
        return all(label.isVisible() and label.width() >= label.fontMetrics().horizontalAdvance(label.text()) for label in labels)

    with connected(app, VLLM):
        for width in (1000, 700, 1400, 700, 1000):
            app.window.resize(width, 760)
            app.until(lambda: whole() and app.window.foot.notes.geometry().width() == app.window.composer.width())


def test_the_window_shows_where_messages_go(start: Start) -> None:
    app = start()
    foot, welcome = app.window.foot, app.window.transcript.welcome
    assert foot.goes_to.isHidden()
    with connected(app, VLLM) as replay:
        host = replay.url.removeprefix("http://")
        assert foot.goes_to.text() == f"Messages go to a server on this computer ({host})"
        assert foot.goes_to.isVisible() and welcome.private.isHidden()
        server = app.loader.connected_to
        assert server is not None
        app.loader.connected_to = replace(server, endpoint=replace(server.endpoint, plain_url="http://192.0.2.1:8000"))
        app.loader.changed.emit()
        assert foot.goes_to.text() == f"Messages go to {host}", "another computer gets those for plain replies"
        app.loader.connected_to = server
        assert all(card.isHidden() for card in (welcome.calculation, *welcome.cards)), "they are questions for the demo pair"
        assert app.window.top_bar.name.text() == "Office · demo"
        assert app.window.top_bar.name.toolTip().splitlines()[0].endswith(f"Server: {host} (vLLM 0.32.0)")
        app.until(lambda: app.engine.unloaded)  # its memory is free
        app.ask("Hello")
        assert app.session.chat.turns[-1].reply.answer.startswith("I am only a small demo model")
        assert not app.engine.requests
        app.session.set_settings(replace(app.session.chat.settings, private=True))
        assert foot.goes_to.text() == f"This private chat isn't sent to {host}"
        app.session.set_settings(replace(app.session.chat.settings, private=False))
        app.activity.use()
        app.until(lambda: not app.loader.running)
        assert foot.goes_to.isHidden()
        app.ask("Hello again")
        assert len(app.engine.requests) == 1


def test_a_servers_names_are_shown_in_one_short_line(start: Start) -> None:
    app = start()
    model = "<b>model</b>\n\u202e" + "x" * 5000
    models = {"object": "list", "data": [{"id": model, "owned_by": "vllm", "max_model_len": 100}]}
    with connected(app, VLLM | {MODELS: Response(200, JSON, json.dumps(models).encode())}) as replay:
        name = app.window.top_bar.name
        assert name.text().startswith("Office · <b>model</b> ") and len(name.text()) < 100
        assert "\u202e" not in name.text() + name.toolTip()
        assert not Qt.mightBeRichText(name.toolTip())
        app.ask("Hello")
        assert json.loads(replay.seen[-1][3])["model"] == model


def test_a_failed_connection_leaves_the_pair_loaded(begin: Begin) -> None:
    app = begin()
    with connected(app, {MODELS: recorded("vllm_dflash/v1_models_nokey")}):
        assert app.notices[-1].endswith("Enter the correct key for this connection. Demo pair is still in use.")
        app.ask("Hello")
    assert len(app.engine.requests) == 1


def test_a_failed_load_leaves_the_server_in_use(begin: Begin) -> None:
    app = begin()
    with connected(app, VLLM) as replay:
        app.engine.load_error = ValueError("broken")
        app.activity.use()
        app.until(lambda: not app.loader.running)
        assert app.notices[-1].endswith("Office · demo is still in use.")
        app.ask("Hello")
        assert replies_asked(replay) == 1


class TestCapabilities:
    def test_without_a_plain_address_dflash_stays_on(self, start: Start) -> None:
        app = start()
        app.session.change(dflash=False)
        bar = app.window.top_bar
        with connected(app, VLLM):
            assert bar.dflash.isChecked() and not bar.dflash.isEnabled() and not bar.dflash.isVisible(), "it can't be turned"
            assert app.window.menus["dflash"].isChecked() and not app.can("dflash")
            assert "the connection has no address for plain replies" in bar.dflash.toolTip()
            app.ask("Hello")
            assert not bar.compare.isEnabled()
            app.window.dialogs.show_compare()
            dialog = app.dialog(CompareDialog)
            assert dialog.options.hint.text().startswith("Plain replies aren't available")
            dialog.close()

    def test_with_a_plain_address_both_modes_are_available(self, begin: Begin) -> None:
        app = begin()
        dialogs = app.window.dialogs
        with replaying(VLLM) as plain, connected(app, VLLM, plain_url=plain.url) as replay:
            assert app.can("dflash")
            app.session.change(dflash=False)
            app.ask("Hello")
            assert (replies_asked(plain), replies_asked(replay)) == (1, 0)
            assert app.can("compare")
            app.services.comparer.compare()
            dialog = dialogs.find(CompareDialog)
            app.until(lambda: not app.activity.busy)
            assert dialog is not None and dialog.record is not None and dialog.record.pair == "Office · demo"
            assert not dialog.options.exact.isEnabled()
            dialog.close()

    def test_a_server_is_compared_with_this_computer(self, begin: Begin) -> None:
        app = begin(ScriptedEngine([[commit("I am another model"), done()]]))
        with connected(app, VLLM) as replay:
            app.window.dialogs.show_compare()
            dialog = app.dialog(CompareDialog)
            dialog.prompt.setPlainText("Hello")
            assert not dialog.run_button.isEnabled()
            dialog.options.this_computer.setChecked(True)
            assert dialog.options.hint.text().endswith("The replies may differ.")
            app.engine.unloaded = False
            dialog.run_button.click()
            app.until(lambda: not app.activity.busy)
            record = dialog.record
            assert record is not None and [row.name for row in record.rows] == ["Demo pair on this computer", "Office · demo"]
            assert (record.replies[0].text, record.replies[1].text[:12]) == ("I am another model", "I am only a ")
            assert [side.name.text() for side in dialog.sides] == [row.name for row in record.rows]
            assert dialog.figures.rows[0].name.text() == record.rows[0].name
            assert dialog.headline.text() == "Demo pair on this computer is 1.3× as fast"
            assert dialog.verdict.text().startswith("The replies differ starting at character 6. ")
            assert app.engine.requests[0].seed == json.loads(replay.seen[-1][3])["seed"]
            assert ComparisonRecord.from_json(json.loads(json.dumps(record.to_json()))) == record
            app.until(lambda: app.engine.unloaded)
            dialog.close()
            app.ask("Hello")
            assert replies_asked(replay) == 2, "the server is still in use"

    def test_the_pair_to_compare_with_follows_the_model_folder(self, begin: Begin, tmp_path: Path) -> None:
        app = begin()
        app.activity.use(LoadPair(tmp_path / "old" / "target", tmp_path / "old" / "drafter"))
        app.until(lambda: not app.loader.running)
        with connected(app, VLLM):
            app.loader.moved(tmp_path / "old", tmp_path / "new")
            assert app.loader.here == LoadPair(tmp_path / "new" / "target", tmp_path / "new" / "drafter")

    def test_without_speculation_dflash_is_off(self, begin: Begin) -> None:
        app = begin()
        with connected(app, MLX_LM):
            assert app.session.next_mode == "plain" and not app.can("dflash")
            assert "the server doesn't report speculative decoding" in str(app.loader.pair.why_plain)

    def test_tools_are_off_if_the_server_cannot_call_them(self, begin: Begin) -> None:
        app = begin(ScriptedEngine(pair=replace(PAIR, can_call_tools=True)))
        tools = ToolsButton(app.theme, app.session, app.loader, app.tools, app.services.tool_tokens, app.services.passages)
        assert tools.isEnabled()
        with connected(app, LLAMA) as replay:
            assert not tools.isEnabled()
            assert f"{replay.url.removeprefix('http://')} can't call tools." in tools.toolTip()

    def test_this_computer_is_not_measured(self, begin: Begin) -> None:
        app = begin()
        with connected(app, VLLM):
            app.window.dialogs.show_this_mac()
            dialog = app.dialog(ThisMacDialog)
            assert not dialog.again.isEnabled() and not app.engine.measured
            assert dialog.state.text() == "A server is in use. To measure this computer, load a model."
            dialog.close()


class TestStatistics:
    def test_acceptance_counts_all_drafted_tokens(self, begin: Begin) -> None:
        app = begin()
        with connected(app, VLLM):
            app.ask("Hello")
        stats = app.session.chat.turns[-1].reply.stats
        assert wording.chip(app.reply) == "DFlash · 13.0 tokens/round · 87% accepted"
        assert stats is not None
        details = wording.details(stats).splitlines()
        assert {"Drafted: 120 tokens", "Accepted: 104 (87%)"} <= set(details)
        assert "Measured: by the server" in details
        assert not [line for line in details if "reused" in line or "checked per round" in line or "tested" in line]

    def test_rounds_that_are_not_reported_are_not_shown(self, begin: Begin) -> None:
        app = begin()
        with connected(app, LLAMA):
            app.ask("Hello")
        assert wording.chip(app.reply) == "DFlash · 16% accepted"

    def test_a_rate_that_was_measured_here_says_so(self, begin: Begin) -> None:
        app = begin()
        with connected(app, MLX_LM):
            app.ask("Hello")
        assert "tok/s (measured here)" in wording.facts(app.reply)
        assert wording.chip(app.reply) == "Plain", "the server can have no drafter"

    def test_parts_from_both_engines_have_one_acceptance(self, begin: Begin) -> None:
        app = begin(ScriptedEngine([[commit("One two"), done(reason="cancelled")]]))
        app.ask("Hello")
        with connected(app, VLLM):
            app.session.resume(app.session.chat.turns[-1])
            app.until(lambda: not app.activity.busy)
        stats = app.session.chat.turns[-1].reply.stats
        assert stats is not None and stats.measured_by == "server"
        assert stats.acceptance == (10 + 104) / (30 + 120)


class TestPrivateChats:
    def test_nothing_of_a_private_chat_is_sent(self, begin: Begin) -> None:
        app = begin()
        app.ask("Local first")
        app.session.set_settings(replace(app.session.chat.settings, private=True))
        with connected(app, VLLM) as replay:
            host = replay.url.removeprefix("http://")
            refusal = f"This chat is private, so it isn't sent to {host}. Choose a model on this computer."
            turn = app.session.chat.turns[-1]
            app.send("A secret")
            app.session.regenerate(turn)
            app.services.comparer.compare_turn(turn)
            app.services.compactor.start()
            assert [notice.text for notice in app.noticed[-4:]] == [refusal] * 4
            assert len(app.session.chat.turns) == 1
            assert replies_asked(replay) == 0
            app.session.set_settings(replace(app.session.chat.settings, private=False))
            app.ask("Not a secret")
            assert replies_asked(replay) == 1

    def test_a_chat_that_was_answered_here_is_not_sent_for_its_title(self, begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("app.session.pair_session.PairLoader.has_demo", False)
        app = begin()
        app.ask("Local first")
        titles = app.services.titles
        assert titles._waiting
        with connected(app, VLLM) as replay:
            titles._start()
            assert not titles._waiting and replies_asked(replay) == 0

    @pytest.mark.parametrize("private", (False, True))
    def test_nothing_is_sent_while_connecting(self, begin: Begin, private: bool, tmp_path: Path) -> None:
        app = begin()
        app.session.set_settings(replace(app.session.chat.settings, private=private))
        app.type("A draft")
        app.meter.count_now()
        app.until(lambda: not app.meter.counting)
        counted, gate = len(app.engine.counted), threading.Event()

        def models(_: bytes) -> Response:
            assert gate.wait(60)
            return recorded("vllm_dflash/v1_models")

        with replaying(VLLM | {MODELS: models}) as replay:
            app.activity.connect_to(SavedEndpoint("Office", Endpoint(replay.url)))
            app.until(lambda: bool(replay.seen))
            app.type("Another draft")
            (tmp_path / "notes.txt").write_text("Notes")
            app.attachments.attach([tmp_path / "notes.txt"])
            app.until(lambda: bool(app.attachments.files))
            app.meter.count_now()
            app.message.send()
            assert app.message.note
            gate.set()
            app.until(lambda: not app.loader.running and not app.activity.busy)
            app.until(lambda: not app.message.note)
            assert len(app.engine.counted) == counted and not app.engine.requests
            assert [path for method, path, *_ in replay.seen if method == "POST"] == ([] if private else [CHAT[1]])

    def test_drafts_are_not_sent_to_be_counted(self, begin: Begin) -> None:
        app = begin()
        with connected(app, VLLM | {("POST", "/tokenize"): recorded("vllm_dflash/tokenize")}) as replay:
            app.type("A draft that stays here")
            app.meter.count_now()
            assert replies_asked(replay) == 0
            app.type("")
            app.ask("Hello")
            app.meter.count_now()
            assert use_text(app.meter.use) == "~128 of 2,048 tokens used · 1,920 left"
            assert replies_asked(replay) == 1


class TestEstimates:
    WORDS = 300

    def body(self, body: bytes) -> Response:
        """A reply of words, and statistics at a token for each word sent, or an error if they are too many."""
        sent = sum(len(message["content"].split()) for message in json.loads(body)["messages"])
        if sent >= 1000:
            return recorded("vllm_dflash/err_too_long")
        choice = {"index": 0, "delta": {"content": "word " * self.WORDS}, "finish_reason": "stop"}
        usage = {"prompt_tokens": sent, "completion_tokens": self.WORDS, "total_tokens": sent + self.WORDS}
        chunks = ({"choices": [choice]}, {"choices": [], "usage": usage})
        text = "".join(f"data: {json.dumps({'model': 'demo', **chunk})}\n\n" for chunk in chunks)
        return Response(200, (("content-type", "text/event-stream"),), f"{text}data: [DONE]\n\n".encode())

    def small(self) -> Responses:
        models = {"object": "list", "data": [{"id": "demo", "owned_by": "vllm", "max_model_len": 1000}]}
        return VLLM | {MODELS: Response(200, JSON, json.dumps(models).encode()), CHAT: self.body}  # type: ignore[dict-item]

    def test_a_summary_that_comes_or_goes_changes_the_estimate(self, begin: Begin) -> None:
        """The meter stayed at what the server had reported before."""
        app = begin()
        with connected(app, self.small()):
            for _ in range(3):
                app.ask("word word")
            app.meter.count_now()
            assert app.meter.use is not None and app.meter.use.used == 906, "as reported"
            turns = app.session.chat.turns
            app.session.set_summary(turns[1].last, "word " * 50)
            app.meter.count_now()
            used = app.meter.use.used
            app.ask("word")
            stats = app.session.chat.turns[-1].reply.stats
            assert stats is not None and abs(stats.prompt_tokens - used) <= 5, "the new message, and longer words of the summary"
            app.session.set_summary(turns[1].last, "")
            app.meter.count_now()
            assert abs(app.meter.use.used - 1207) <= 5

    def test_the_estimate_says_how_many_messages_are_left_out(self, begin: Begin) -> None:
        app = begin()
        with connected(app, self.small()):
            for _ in range(3):
                app.ask("word " * 80)
            app.session.change(rolling=True)
            app.meter.count_now()
            assert app.meter.use is not None and app.meter.use.left_out == 2
            view = ContextView(app.theme, app.meter)
            assert view.toolTip() == "The oldest messages are left out when the chat fills the context"
            app.ask("word")
            assert app.session.chat.turns[-1].reply.left_out == 2


HTML = Response(502, (("content-type", "text/html"),), b"<html>Bad Gateway</html>")
BUSY = Response(429, (*JSON, ("retry-after", "7")), b'{"error": "busy"}')
WRONG_KEY = recorded("vllm_dflash/v1_models_nokey")
WHOLE = recorded("vllm_dflash/stream_usage")
NO_TOOLS = Response(400, JSON, b'{"error": {"message": "\\"auto\\" tool choice requires --tool-call-parser to be set"}}')


@pytest.mark.parametrize(
    ("response", "begins", "message"),
    (
        (recorded("vllm_2nodes/node1_killed_mid_stream"), "To count the divisors of 1", "failed: "),
        (recorded("llama_rpc/worker_killed_mid_stream", cut=True), "To count", "The connection to"),
        (replace(WHOLE, body=WHOLE.body[:2500]), "I am", ""),
        (recorded("vllm_dflash/err_too_long"), "", "The chat is too long for the model on"),
        (recorded("vllm_dflash/err_model"), "", "doesn't offer “demo” anymore"),
        (WRONG_KEY, "", "rejected the key. Enter the correct key for this connection."),
        (BUSY, "", "is busy. Try again in 7 seconds."),
        (Response(503, JSON, b'{"error": "loading the model"}'), "", "failed: loading the model"),
        (HTML, "", "responded with HTTP status 502 and no message. Check the address."),
        (NO_TOOLS, "", "isn't set up for tool calls. Turn off tools in this chat."),
    ),
)
def test_a_failure_keeps_the_text_and_has_one_message(begin: Begin, response: Response, begins: str, message: str) -> None:
    app = begin()
    with connected(app, VLLM | {CHAT: response}) as replay:
        before = app.notices
        app.ask("Hello")
        reply = app.session.chat.turns[-1].reply
        assert reply.answer.startswith(begins) and bool(reply.answer) == bool(begins)
        assert reply.error.count("127.0.0.1") == 1
        assert message in reply.error and "<" not in reply.error and "slipstream" not in reply.error
        assert app.notices == before
        assert app.can("regenerate") and app.can("resume") == bool(begins)
        kept, replay.responses[CHAT] = reply.answer, WHOLE
        if begins:
            app.session.resume(app.session.chat.turns[-1])
        else:
            app.session.regenerate(app.session.chat.turns[-1])
        app.until(lambda: not app.activity.busy)
        assert app.session.chat.turns[-1].reply.answer.startswith(kept + ("I am" if not begins else ""))
        assert not app.session.chat.turns[-1].reply.error


def test_a_server_that_cannot_continue_says_so_and_the_reply_stays(start: Start) -> None:
    app = start()
    whole = recorded("mlx_lm/stream_usage")
    with connected(app, MLX_LM | {CHAT: replace(whole, body=whole.body[:2500])}):
        app.ask("Hello")
        kept = app.session.chat.turns[-1].reply.answer
        assert kept and not app.can("resume")
        assert app.reply.buttons is not None and not app.reply.buttons.resume.isEnabled()
        assert app.reply.buttons.resume.toolTip() == "This server can't continue a reply."
        app.session.resume(app.session.chat.turns[-1])
        app.until(lambda: not app.activity.busy)
        assert app.notices == ["This server can't continue a reply. Regenerate the reply instead."]
        assert app.session.chat.turns[-1].reply.answer == kept
    app.activity.use()
    app.until(lambda: app.can("resume"))
    assert app.reply.buttons.resume.isEnabled() and not app.reply.buttons.resume.toolTip()
