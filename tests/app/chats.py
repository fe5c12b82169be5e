"""Hypothesis strategies for chats: trees of any shape, any text, replies in every state."""

from dataclasses import fields, replace
from typing import get_args

from hypothesis import strategies as st

from app.storage.chat_tree import Chat, Node
from app.storage.project import Project
from app.storage.recent_model import RecentModel
from app.storage.records import chat_to_json
from app.storage.reply import Ending, Reply
from app.storage.settings import ChatSettings
from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import MeasuredBy, Stats
from mlx_engine.contract.requests import GenerationRequest, Message, Sampling, ToolCall
from mlx_engine.mcp.record import CallRecord, CallState

# Without lone surrogates and NUL, which are cleaned where text comes in.
texts = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=40)
counts = st.integers(0, 2**53)
rates = st.one_of(st.none(), st.floats(0, 1e6))
shares = st.floats(-2, 2).map(lambda value: round(value, 3))
times = st.integers(0, 4_000_000_000).map(float)
modes = st.sampled_from(["dflash", "plain"])
samplings = st.builds(Sampling, shares, shares, st.integers(0, 1000), shares, shares, shares, shares)
seeds = st.one_of(st.none(), st.integers(0, 2**64 - 1))
settings = st.builds(ChatSettings, texts, st.one_of(st.none(), samplings), seeds, st.integers(1, 10**6), *[st.booleans()] * 3)
names = texts.map(str.strip).filter(bool)
projects = st.builds(
    Project,
    st.uuids().map(str),
    names,
    times,
    st.one_of(st.none(), st.builds(replace, settings, tool_servers=st.lists(names, max_size=2).map(tuple))),
    st.lists(names.map(lambda name: f"/{name}"), max_size=2, unique=True).map(tuple),
    st.one_of(st.none(), st.builds(RecentModel, names, texts, texts, st.booleans(), texts)),
)
requests = st.builds(
    GenerationRequest,
    messages=st.one_of(st.just(()), texts.filter(bool).map(lambda text: (Message("system", text),))),
    mode=modes,
    width=st.one_of(st.none(), st.integers(1, 16)),
    sampling=samplings,
    seed=seeds,
    max_tokens=st.integers(1, 10**6),
    thinking=st.booleans(),
    effort=st.one_of(st.none(), st.sampled_from(["low", "high"])),
    stop=st.lists(texts, max_size=2).map(tuple),
    rolling=st.one_of(st.none(), counts),
)
reasons = st.builds(
    EngineText,
    st.from_regex("[a-z_]*", fullmatch=True),
    texts.filter(bool),
    st.lists(st.tuples(texts, st.one_of(texts, counts)), max_size=2).map(tuple),
)
_kinds = {"mode": modes, "ttft_s": rates, "prompt_tok_s": rates, "decode_tok_s": rates, "why_plain": st.one_of(st.none(), reasons)}
_kinds |= {"accepted_per_round": st.lists(counts, max_size=3).map(tuple), "widths": st.lists(counts, max_size=3).map(tuple)}
_kinds |= {"plain_because": st.lists(st.tuples(reasons, counts), max_size=2).map(tuple), "exact": st.booleans()}
_kinds |= {"measured_by": st.sampled_from(get_args(MeasuredBy)), "few_accepted": st.one_of(st.none(), reasons)}
_kinds |= {"gpu_error": st.one_of(st.none(), reasons)}
_kinds |= {"drafter": texts, "drafter_kind": texts, "tuned": st.booleans()}
stats = st.builds(Stats, **{one.name: _kinds.get(one.name, counts) for one in fields(Stats)})


@st.composite
def calls(draw: st.DrawFn, answer: str, thinking: str) -> tuple[CallRecord, ...]:
    """Calls of up to three steps, with lengths that grow up to those of the texts."""
    steps = draw(st.integers(0, 3))
    ends = [sorted(draw(st.lists(st.integers(0, len(text)), min_size=steps, max_size=steps))) for text in (answer, thinking)]
    states: st.SearchStrategy = st.sampled_from([state for state in get_args(CallState) if state not in ("waiting", "running")])
    made = []
    for step in range(steps):
        for _ in range(draw(st.integers(1, 2))):
            call = ToolCall(f"call_{len(made)}", draw(texts), draw(texts))
            rest = draw(texts), draw(texts), step, ends[0][step], ends[1][step], draw(states), draw(texts), draw(rates)
            made.append(CallRecord(call, *rest))
    return tuple(made)


@st.composite
def nodes(draw: st.DrawFn) -> Node:
    if draw(st.booleans()):
        return Node("user", text=draw(texts), created=draw(times))
    request = draw(requests)
    reply = Reply(
        draw(modes),
        request.max_tokens,
        answer=draw(texts),
        thinking=draw(texts),
        error=draw(texts),
        reason=draw(st.sampled_from([ending for part in get_args(Ending) for ending in get_args(part)])),
        stats=draw(st.one_of(st.none(), stats)),
        origin=draw(texts),
        tokens=draw(counts),
        rounds=draw(counts),
        drafted=draw(counts),
        accepted=draw(counts),
        left_out=draw(counts),
        result_length=draw(counts),
        tokens_before=draw(counts),
        thinking_s=draw(st.one_of(st.none(), st.floats(0, 1e6))),
        step_stats=draw(st.lists(stats, max_size=2).map(tuple)),
    )
    reply.calls = draw(calls(reply.answer, reply.thinking))
    cuts = sorted(draw(st.sets(st.integers(0, len(reply.answer)), max_size=4)))
    reply.unreadable_calls = tuple(zip(cuts[::2], cuts[1::2], strict=False))
    if not reply.origin:
        for by, text in ((reply.answer_by, reply.answer), (reply.thinking_by, reply.thinking)):
            cut = draw(st.integers(0, len(text)))
            by.add(cut, (("drafter", cut),))
            by.add(len(text) - cut, draw(st.sampled_from([(), (("target", len(text) - cut),)])))
    return Node("assistant", reply=reply, request=request, created=draw(times))


@st.composite
def chats(draw: st.DrawFn) -> Chat:
    title = draw(texts.map(str.strip).filter(bool))
    chat = Chat(title, draw(settings), created=draw(times), changed=draw(times))
    made = [chat.root]
    for node in draw(st.lists(nodes(), max_size=8)):
        made.append(draw(st.sampled_from(made)).add(node))
    for node in made:
        if node.children:
            node.chosen = draw(st.sampled_from(node.children))
    return chat


def same(one: Chat, other: Chat) -> bool:
    """Whether two chats are equal in everything that is stored, including the order of versions."""
    return chat_to_json(one) == chat_to_json(other)
