"""The window's engine behind Slipstream's own server, with a remote engine in front."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace

from mlx_engine.api_server.app import Api
from mlx_engine.api_server.guard import Guard
from mlx_engine.api_server.listener import Listener
from mlx_engine.api_server.served_models import ServedModels
from mlx_engine.contract.client import Deliver, Run
from mlx_engine.contract.events import Event, PairInfo
from mlx_engine.contract.requests import Connect, Endpoint, LoadPair, Request
from mlx_engine.engine.host import EngineHost
from mlx_engine.remote.remote_engine import RemoteEngine
from mlx_engine.remote.switch import EngineSwitch

# Tests that make no sense with replies from a server, and why
LOCAL_ONLY = {
    "drafts and files aren't sent to a server to be counted": (
        "test_accessibility.py::test_every_control_has_a_name_and_is_reachable_by_keyboard",
        "test_attachments.py::test_a_dropped_file_shows_its_size_and_tokens_and_is_sent_with_the_message",
        "test_attachments.py::test_a_file_stays_with_the_chat_it_was_attached_in",
        "test_context_meter.py",
        "test_counted_prompts.py",
        "test_full_context.py",
        "test_several_replies.py::test_a_message_that_does_not_fit_is_a_draft_again_and_says_why",
        "test_several_replies.py::test_a_long_message_that_fits_is_counted_and_sent",
        "views/tools/test_tools_button.py::test_the_menu_and_the_tooltip_say_what_tools_cost_and_where_calls_go",
    ),
    "requests to a server don't say how they are run here: priority, exact mode, saved prompts, rolling window": (
        "views/compare/test_compare.py::test_a_comparison_can_be_exact",
        "views/server/test_local_server.py::test_a_chat_reply_starts_while_programs_get_theirs",
        "views/settings/test_saved_prompts.py::test_replies_name_their_chat_and_whether_it_is_private",
        "test_chat_titles.py::test_the_model_writes_a_title_after_the_first_reply",
        "test_tool_turns.py::test_a_call_is_made_once_the_user_allows_it_and_its_result_is_sent",
        "test_tool_turns.py::test_rolling_steps_leave_out_as_much_as_the_first",
        "views/transcript/test_call_cards.py::test_a_card_keeps_a_result_of_which_the_model_got_only_a_part",
    ),
    "errors and reasons name the server": (
        "views/compare/test_compare.py::test_a_failed_comparison_shows_the_error",
        "test_accessibility.py::test_a_finished_reply_is_announced_once",
        "test_several_replies.py::test_a_reply_that_cannot_be_continued_says_so_for_its_chat",
        "test_tool_turns.py::test_continue_sends_the_finished_calls",
        "test_window.py::test_errors_are_shown_with_what_the_user_can_do",
        "test_window.py::test_the_dflash_switch_applies_to_the_next_reply_and_is_off_without_a_drafter",
        "test_with_engine.py::test_a_model_without_a_chat_template_offers_another_one",
        "test_with_engine.py::test_a_prompt_longer_than_the_context_is_reported",
        "views/tools/test_tools_button.py::test_the_button_is_disabled_with_the_reason_if_the_model_cannot_call_tools",
    ),
    "a server doesn't report where tokens come from, each round, or stop strings, and calls only at the end": (
        "rendering/test_token_sources.py",
        "test_tool_turns.py::test_an_error_after_a_call_makes_no_call",
        "test_tool_turns.py::test_calls_of_a_step_that_was_cut_off_are_not_made",
        "test_tool_turns.py::test_stopping_during_generation_after_a_call_makes_no_call",
        "test_window.py::test_a_reply_streams_in_and_ends_with_its_statistics",
        "views/transcript/test_call_cards.py::test_a_finished_call_is_between_the_texts_of_its_steps_and_opens",
        "views/transcript/test_reply_charts.py::test_details_show_one_bar_per_round_and_merge_bars_of_many_rounds",
        "views/transcript/test_unreadable_call_view.py::test_unreadable_call_is_a_folded_card_between_the_texts_around_it",
    ),
    "drafters are compared, chosen, and tuned on this computer": (
        "views/compare/test_all_drafters.py",
        "views/tuning/test_tune_dialog.py",
    ),
    "replies of a server are compared here": (
        "views/compare/test_compare.py::test_compare_runs_the_last_prompt_in_both_modes_and_shows_a_verdict",
        "views/compare/test_compare.py::test_comparisons_are_listed_by_pair_shown_again_and_deleted",
        "views/compare/test_difference.py::test_the_first_difference_is_underlined_described_and_in_view",
        "test_with_engine.py::test_comparing_with_the_real_engine_ends_with_a_verdict",
    ),
    "a server's replies are compared one after the other": ("views/compare/test_compared_together.py",),
    "the server's pair can't see images, whatever the window's can": (
        "views/compare/test_compare.py::test_files_of_the_prompt_are_shown_with_what_is_not_read_of_them",
    ),
    "this computer isn't measured": ("views/machine/test_this_mac.py",),
    "a server's replies aren't slowed down by this computer": ("test_reply_speeds.py",),
    "a server's GPU errors and kernels aren't shown here": (
        "test_reply_runner.py::test_details_name_an_error_of_the_gpu_and_this_mac_shows_which_kernels_are_off",
    ),
    "a server stays in use until a pair has loaded": (
        "views/models/test_picker.py::test_a_load_that_fails_later_or_is_canceled_says_that_no_models_are_loaded",
        "test_language.py::test_notices_are_joined_as_in_chinese",
        "test_sending.py::test_a_reply_is_not_generated_again_while_models_load",
        "test_sending.py::test_editing_a_message_keeps_another_from_being_sent_when_the_models_have_loaded",
    ),
    "other Macs run pairs that are loaded here": ("views/models/test_macs_dialog.py",),
    "these tests connect to servers of their own": ("test_remote.py", "test_send_consent.py"),
    "the start page names the server, and doesn't say that messages stay on this computer": (
        "test_first_run.py::test_the_start_page_keeps_its_layout_when_the_pair_is_loaded",
        "test_first_run.py::test_the_start_page_says_that_this_is_a_demo_and_recommends_a_pair",
        "views/tools/test_tools_button.py::test_the_start_page_says_where_calls_go_and_its_example_waits_for_the_calculator",
    ),
    "responses are UTF-8, which has no halves of characters": (
        "test_chats_window.py::test_nul_surrogates_and_a_pasted_megabyte_are_sent_and_saved",
    ),
}


class ServedEngine(EngineSwitch):
    """An `EngineSwitch` that connects to a server of the local engine whenever a pair has loaded."""

    def __init__(self, local: EngineHost) -> None:
        super().__init__(local)
        self._api = Api(ServedModels(local, None), Guard("127.0.0.1", None))
        listener, ready = Listener("127.0.0.1", 0), threading.Event()
        self._url, self._loop, self._stop = listener.url, asyncio.new_event_loop(), asyncio.Event()
        serve = lambda: self._loop.run_until_complete(listener.serve(self._api, self._stop, ready.set))  # noqa: E731
        self._thread = threading.Thread(target=serve, daemon=True)
        self._thread.start()
        assert ready.wait(60)

    def submit(self, request: Request, deliver: Deliver) -> Run:
        if isinstance(request, LoadPair):
            return self._local.submit(request, self._then_connect(deliver))
        return super().submit(request, deliver)

    def wait(self, seconds: float) -> bool:
        ended = super().wait(seconds)
        if ended and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(seconds)
        return ended

    def _then_connect(self, deliver: Deliver) -> Deliver:
        """Return a `deliver` for loading that connects to the server before the pair is reported."""
        connecting = False

        def follow(event: Event | None) -> None:
            nonlocal connecting
            if isinstance(event, PairInfo):
                connecting, self._api.models.pair = True, event
                remote = RemoteEngine(Endpoint(self._url))
                remote.submit(Connect(Endpoint(self._url)), self._connected(remote, event, deliver))
            elif event is not None or not connecting:
                deliver(event)

        return follow

    def _connected(self, remote: RemoteEngine, pair: PairInfo, deliver: Deliver) -> Callable[[Event | None], None]:
        def follow(event: Event | None) -> None:
            if isinstance(event, PairInfo):
                self._use(remote)
                names = ("name", "target", "drafter", "target_bytes", "drafter_bytes", "drafter_weights", "calibrated")
                deliver(replace(event, **{name: getattr(pair, name) for name in names}))
            elif event is None:
                deliver(None)

        return follow
