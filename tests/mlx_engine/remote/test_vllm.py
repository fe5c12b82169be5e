"""A remote engine on vLLM's CPU build with the demo pair, on one node and on two."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from mlx_engine.cli import generate
from mlx_engine.contract.client import EngineClient, Run
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Commit, CompareResult, CompletedReply, Event, Finished, PairInfo
from mlx_engine.contract.requests import Compare, CountTokens, GenerationRequest, LoadPair, Message, Mode, Sampling
from mlx_engine.contract.token_counts import TokenCount
from mlx_engine.engine.bridge import to_iter
from mlx_engine.engine.host import EngineHost
from mlx_engine.models.library.pair import demo_pair
from mlx_engine.remote.endpoint import Endpoint
from mlx_engine.remote.remote_engine import RemoteEngine
from tests.demo_pair.corpus.questions import fresh_questions
from tests.golden.__main__ import HERE as GOLDEN
from tests.mlx_engine.mcp.running_servers import wait_until
from tests.mlx_engine.remote.vllm_servers import VllmServer, vllm_server

pytestmark = pytest.mark.long

REQUESTS = [
    GenerationRequest(tuple(Message(**turn) for turn in question.messages), thinking=question.thinking, max_tokens=400)  # type: ignore[arg-type]
    for question in fresh_questions(60, seed=20261123)
]
ENDLESS = replace(REQUESTS[0], ignore_eos=True, max_tokens=1900)


@dataclass
class Connected:
    """An engine, and its servers with and without DFlash."""

    engine: RemoteEngine
    dflash: VllmServer
    plain: VllmServer


@pytest.fixture(scope="module")
def local() -> Iterator[EngineHost]:
    host = EngineHost()
    list(to_iter(host, LoadPair()))
    yield host
    assert host.wait(60)


@pytest.fixture(scope="module")
def plain() -> Iterator[VllmServer]:
    with vllm_server(demo_pair()[0]) as server:
        yield server


@pytest.fixture(scope="module", params=[1, 2], ids=["one node", "two nodes"])
def remote(plain: VllmServer, request: pytest.FixtureRequest) -> Iterator[Connected]:
    with vllm_server(*demo_pair(), nodes=request.param) as dflash:
        engine = RemoteEngine(Endpoint(dflash.url, plain_url=f"{plain.url}/v1"))
        yield Connected(engine, dflash, plain)
        assert engine.wait(60)


def reply(client: EngineClient, request: GenerationRequest) -> CompletedReply:
    return generate.show(to_iter(client, request), printing=False)


def contents(found: CompletedReply) -> tuple[object, ...]:
    return found.tokens, found.thinking, found.text, found.reason, found.stats.tokens, found.stats.prompt_tokens


def started(client: EngineClient, request: GenerationRequest, found: list[Event]) -> tuple[Run, Iterator[Event]]:
    """Start a reply, and wait for its first events."""
    runs: list[Run] = []
    rest = to_iter(client, request, runs.append)
    found += (next(rest) for _ in range(3))
    return runs[0], rest


def test_the_server_is_recognized(remote: Connected) -> None:
    (info,) = [event for event in to_iter(remote.engine, LoadPair()) if isinstance(event, PairInfo)]
    assert (info.family, info.name, info.context_limit, info.why_plain) == ("vLLM 0.32.0", "demo", 2048, None)


def test_tokens_with_dflash_equal_the_local_engines(remote: Connected, local: EngineHost) -> None:
    check_replies(remote, local, "dflash")


@pytest.mark.parametrize("remote", [1], indirect=True, ids=["one node"])
def test_tokens_without_dflash_equal_the_local_engines(remote: Connected, local: EngineHost) -> None:
    check_replies(remote, local, "plain")


def check_replies(remote: Connected, local: EngineHost, mode: Mode) -> None:
    """Check the tokens and texts of all requests, and that their statistics add up to those of the right server."""
    servers = {"dflash": remote.dflash, "plain": remote.plain}
    before = {name: server.metrics() for name, server in servers.items()}
    requests = [replace(request, mode=mode) for request in REQUESTS]
    replies = [reply(remote.engine, request) for request in requests]
    different = [
        request.messages[-1].content
        for request, there in zip(requests, replies, strict=True)
        if contents(there) != contents(reply(local, request))
    ]
    assert not different

    stats = [each.stats for each in replies]
    reported = Counter(
        request_success_total=len(replies),
        prompt_tokens_total=sum(each.prompt_tokens for each in stats),
        generation_tokens_total=sum(each.tokens for each in stats),
        spec_decode_num_drafts_total=sum(each.rounds for each in stats),
        spec_decode_num_draft_tokens_total=sum(each.drafted for each in stats),
        spec_decode_num_accepted_tokens_total=sum(each.accepted for each in stats),
    )
    wait_until(lambda: {name: servers[mode].metrics()[name] - before[mode][name] for name in reported} == reported)
    other = next(name for name in servers if name != mode)
    assert servers[other].metrics()["request_success_total"] == before[other]["request_success_total"]
    for each in stats:
        assert each.rounds == len(each.accepted_per_round)
        assert each.accepted == sum(each.accepted_per_round)
        assert each.drafted == sum(width - 1 for width in each.widths)
        assert each.measured_by == "server"


def test_both_modes_are_compared(remote: Connected) -> None:
    results = [event for event in to_iter(remote.engine, Compare((REQUESTS[1],))) if isinstance(event, CompareResult)]
    ((plain, drafted),) = [result.results for result in results]
    assert drafted.verdict == "identical" and drafted.runs[0].rounds > plain.runs[0].rounds == 0


def test_two_replies_at_once_are_those_of_one_at_a_time(remote: Connected, local: EngineHost) -> None:
    found: list[Event] = []
    run, rest = started(remote.engine, ENDLESS, found)
    second = reply(remote.engine, REQUESTS[30])
    run.cancel()
    found += rest
    assert isinstance(found[-1], Finished)
    assert found[-1].reason == "cancelled"  # it was still running
    tokens = tuple(token for event in found if isinstance(event, Commit) for token in event.tokens)
    first = reply(local, REQUESTS[0]).tokens
    assert tokens
    assert tokens[: len(first)] == first[: len(tokens)]
    assert contents(second) == contents(reply(local, REQUESTS[30]))


def test_a_canceled_reply_ends_on_the_server_too(remote: Connected) -> None:
    found: list[Event] = []
    run, rest = started(remote.engine, ENDLESS, found)
    run.cancel()
    found += rest
    assert isinstance(found[-1], Finished)
    assert found[-1].reason == "cancelled"
    wait_until(lambda: not remote.dflash.metrics()["num_requests_running"])
    assert reply(remote.engine, REQUESTS[0]).reason == "eos"


def test_a_reply_is_continued(remote: Connected, local: EngineHost) -> None:
    whole = reply(local, REQUESTS[0])
    beginning = whole.text[: len(whole.text) // 2]
    there, here = (reply(client, replace(REQUESTS[0], continue_from=beginning)) for client in (remote.engine, local))
    assert contents(there) == contents(here)


def test_a_prompt_that_is_too_long_is_refused(remote: Connected) -> None:
    with pytest.raises(UserError) as error:
        reply(remote.engine, GenerationRequest((Message("user", "word " * 3000),)))
    assert error.value.text.code == "remote_context_exceeded"
    assert "2048" in str(error.value)


def test_a_setting_that_speculation_does_not_allow_is_refused(remote: Connected) -> None:
    with pytest.raises(UserError) as error:
        reply(remote.engine, replace(REQUESTS[0], sampling=Sampling(0.8, min_p=0.1)))
    assert error.value.text.code == "remote_refused"
    assert "min_p" in str(error.value)


def test_tokens_are_counted_before_a_reply(remote: Connected, local: EngineHost) -> None:
    request = CountTokens(GenerationRequest(REQUESTS[0].messages))
    assert list(to_iter(remote.engine, request)) == list(to_iter(local, request))
    assert isinstance(next(to_iter(remote.engine, request)), TokenCount)


def test_a_lost_node_ends_the_reply_with_an_error() -> None:
    found: list[Event] = []
    with vllm_server(*demo_pair(), nodes=2) as server:
        engine = RemoteEngine(Endpoint(server.url))
        _, rest = started(engine, ENDLESS, found)
        server.kill(1)
        with pytest.raises(UserError) as error:
            found += rest
        assert error.value.text.code in ("remote_failed", "remote_cut", "remote_lost")
        assert any(isinstance(event, Commit) and event.text for event in found)
        with pytest.raises(UserError):  # the server has ended
            reply(engine, REQUESTS[0])
        assert engine.wait(60)


def test_rounds_equal_the_reference() -> None:
    folder = GOLDEN / "e2e_qwen3"
    cases = json.loads((folder / "cases.json").read_text(encoding="utf-8"))["cases"]
    with vllm_server(folder / "target", folder / "drafter", drafted=7) as server:
        engine = RemoteEngine(Endpoint(server.url))
        replies = [reply(engine, GenerationRequest(prompt_tokens=tuple(case["prompt_ids"]), max_tokens=64)) for case in cases]
        assert engine.wait(60)
    assert [list(each.tokens) for each in replies] == [case["output_ids"] for case in cases]
    for case, each in zip(cases, replies, strict=True):
        # Near the token limit, vLLM's drafts aren't shortened, so its last rounds may differ.
        whole = [one["accepted"] for one in case["rounds"] if one["block_len"] == 8]
        assert list(each.stats.accepted_per_round[: len(whole)]) == whole
