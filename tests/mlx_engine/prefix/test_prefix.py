"""Reuse changes nothing but the time: tokens and rounds are the same for every kind of cache; only new tokens are prefilled."""

import dataclasses
import threading
from collections.abc import Iterator

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.events import Commit, CompletedReply, PrefillProgress
from mlx_engine.contract.requests import GenerationRequest
from mlx_engine.decoding import prefill
from mlx_engine.decoding.costs import ASSUMED
from mlx_engine.engine.engine import Engine
from mlx_engine.hardware import device
from tests.examples import sampled
from tests.mlx_engine.asking import events, reply, tokens
from tests.mlx_engine.conftest import WINDOW
from tests.mlx_engine.prefix.prefix_pairs import BLOCK, LONGEST, PAIRS, PROMPT, SHORT, WORDS, on, running
from tests.mlx_engine.targets.target_passes import before_each_pass


class Rows:
    """Records the rows of each pass of an engine's target."""

    def __init__(self, engine: Engine, patch: pytest.MonkeyPatch) -> None:
        self.passes: list[int] = []
        before_each_pass(engine.pair.target, patch, self.passes.append)


# What depends little on the kind of caches and contexts is tested with some of them
in_few = on("kept", "growing", "windows", "rotating", "recurrent", "assistant")
in_two = on("kept", "growing", "recurrent")


@pytest.fixture(scope="module", params=list(PAIRS))
def kept(request, tmp_path_factory) -> Iterator[Engine]:
    """One engine for all examples, so that they find the snapshots of earlier ones; only a few chats fit."""
    with running(request.param, tmp_path_factory.mktemp(request.param)) as engine:
        engine.snapshots.budget = 6 << 20
        yield engine


def reusing(request: GenerationRequest) -> GenerationRequest:
    return dataclasses.replace(request, reuse=True)


def stopped(engine: Engine, request: GenerationRequest, after: int, kind: type, close: bool) -> CompletedReply | None:
    """Stop a reply by cancelling or closing it after `after` events of a kind."""
    cancel, count = threading.Event(), 0
    running = engine.generate(request, cancel)
    for event in running:
        count += isinstance(event, kind)
        if count > after:
            if close:
                running.close()
                return None
            cancel.set()
    return None


@sampled(2)
@given(data=st.data())
def test_reuse_does_not_change_a_chat(kept, data):
    """Turns, edits, regenerations, chats with the same beginning, changes of mode, stops during prefill and reply.

    Its rounds are queued ahead or not; those of the chat without are not.
    """
    ahead = data.draw(st.booleans(), "queued ahead")
    kept.pair.use_costs(dataclasses.replace(ASSUMED, queued=ahead))

    def again(request: GenerationRequest) -> CompletedReply:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(device, "runs_beside_host", lambda: True)
            return reply(kept, reusing(request))

    head = data.draw(WORDS, "head")
    prompt = head + data.draw(WORDS, "first question")
    for _ in range(data.draw(st.integers(2, 5), "turns")):
        request = tokens(
            prompt,
            data.draw(st.sampled_from([0.0, 0.0, 0.8]), "temperature"),
            seed=data.draw(st.integers(0, 99), "seed"),
            mode=data.draw(st.sampled_from(["dflash", "dflash", "plain"]), "mode"),
            width=data.draw(st.sampled_from([None, kept.pair.info.block_size, 3]), "width"),
            max_tokens=data.draw(st.integers(1, LONGEST), "limit"),
            ignore_eos=data.draw(st.booleans(), "past the end"),
        )
        stop = data.draw(st.sampled_from(["", "", "", "prefill", "reply"]), "stop in")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(device, "runs_beside_host", lambda: True)
            if stop == "prefill":
                stopped(kept, reusing(request), data.draw(st.integers(0, 3)), PrefillProgress, data.draw(st.booleans()))
            elif stop:
                stopped(kept, reusing(request), data.draw(st.integers(0, 6)), Commit, data.draw(st.booleans()))
        expected, got = reply(kept, request), again(request)
        assert got.tokens == expected.tokens
        assert got.reason == expected.reason
        if request.width:  # an automatic width depends on the clock
            assert got.stats.accepted_per_round == expected.stats.accepted_per_round
            assert got.stats.widths == expected.stats.widths
        assert expected.stats.reused_tokens == 0
        assert kept.snapshots.nbytes <= kept.snapshots.budget
        match data.draw(st.sampled_from(["next turn", "next turn", "edit", "regenerate", "another chat"]), "then"):
            case "next turn":
                prompt = prompt + list(got.tokens) + data.draw(WORDS, "question")
            case "edit":
                prompt = prompt[: data.draw(st.integers(1, len(prompt)), "kept")] + data.draw(WORDS, "edited")
            case "another chat":
                prompt = head + data.draw(WORDS, "another question")


@in_few
def test_the_next_turn_prefills_only_new_tokens(kept, monkeypatch):
    kept.free_memory()
    rows = Rows(kept, monkeypatch)
    seen = events(kept, tokens(PROMPT * 3, max_tokens=20, ignore_eos=True, reuse=True))
    assert seen[-1].stats.reused_tokens == 0
    history = [*PROMPT * 3]
    for question in (PROMPT, PROMPT[:4]):
        said = [event for event in seen if isinstance(event, Commit)]
        # the target's last choice is new, like the question; drafts were read when they were verified
        unread = [source for event in said for source in event.sources][-1] == "target"
        history += [token for event in said for token in event.tokens]
        prompt = [*history, *question]
        rows.passes.clear()
        seen = events(kept, tokens(prompt, max_tokens=20, ignore_eos=True, reuse=True))
        new = len(question) + unread
        progress = [event for event in seen if isinstance(event, PrefillProgress)]
        assert progress[0] == PrefillProgress(len(prompt) - new, len(prompt), len(prompt) - new)
        assert seen[-1].stats.reused_tokens == len(prompt) - new
        assert sum(rows.passes[: rows.passes.index(1) + 1]) == new
        history = prompt


@in_two
def test_regenerating_prefills_one_token(kept, monkeypatch):
    kept.free_memory()
    for _ in range(2):
        reply(kept, tokens(PROMPT * 3, max_tokens=20, reuse=True))
    rows = Rows(kept, monkeypatch)
    assert reply(kept, tokens(PROMPT * 3, max_tokens=1, reuse=True)).stats.reused_tokens == len(PROMPT * 3) - 1
    assert rows.passes == [1]


@in_few
@pytest.mark.parametrize("mode", ["dflash", pytest.param("plain", marks=pytest.mark.long)])
def test_the_next_turn_continues_from_the_end_of_the_reply(kept, mode):
    """Even if the last round accepted tokens after the end."""
    kept.free_memory()
    ends = kept.pair.tokenizer.eos_token_ids
    prompts = [*(PROMPT[at:] + PROMPT for at in range(3)), *SHORT.values()]
    replies = [(asked, reply(kept, tokens(asked, mode=mode, max_tokens=30, reuse=True))) for asked in prompts]
    ended = [(asked, got) for asked, got in replies if got.reason == "eos"]
    assert any(len(got.tokens) > BLOCK for _, got in ended)
    for asked, got in ended:
        assert got.tokens[-1] in ends
        prompt = [*asked, *got.tokens, 5, 6, 7]
        assert reply(kept, tokens(prompt, mode=mode, max_tokens=1, reuse=True)).stats.reused_tokens >= len(prompt) - 4


@in_few
def test_a_cancelled_prefill_is_not_repeated(kept):
    kept.free_memory()
    prompt = PROMPT * 6
    stopped(kept, tokens(prompt, reuse=True), 4, PrefillProgress, close=False)  # after 0, 8, 16, 24, and 32 tokens
    assert reply(kept, tokens(prompt, max_tokens=1, reuse=True)).stats.reused_tokens == 32


@in_few
def test_a_branch_cut_back_to_a_mark_has_the_drafters_windows(kept):
    """As after each turn whose drafter needs them: the branch goes on far beyond the mark, so its own windows are later ones."""
    kept.free_memory()
    snapshots, pair = kept.snapshots, kept.pair
    prompt, at = PROMPT * 9, 3 * WINDOW
    branch = snapshots.new_branch(prompt)
    for _ in prefill.prefill(pair.target, branch.caches, prompt, pair.drafter, branch.context, (at,)):
        if branch.caches.length == at:
            branch.mark()
            states = [(kind.first, kind.rows, kind.rows_between(kind.first, at)) for kind in branch.context.freeze()]
    snapshots.put(branch)
    for follows in ((5, 6), (7, 8)):  # the second time from the copy that the first time left
        cut = snapshots.take((*prompt[:at], *follows))
        assert cut.reused == at == cut.context.position == cut.caches.length
        found = [(kind.first, kind.rows, kind.rows_between(kind.first, at)) for kind in cut.context.kinds.values() if kind.window]
        assert [each[:2] for each in found] == [each[:2] for each in states]
        for (*_, rows), (*_, wanted) in zip(found, states, strict=True):
            assert mx.array_equal(rows, wanted)
