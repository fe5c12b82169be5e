"""A remote engine on Slipstream's own server: what the local engine does, the remote one does too."""

from collections.abc import Iterator

import pytest

from mlx_engine.cli import generate
from mlx_engine.cli.main import main
from mlx_engine.contract.client import EngineClient, Run
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import CompareResult, CompletedReply, Event, Finished, PairInfo
from mlx_engine.contract.requests import Compare, CountTokens, GenerationRequest, LoadPair, Message, Mode, Sampling
from mlx_engine.contract.token_counts import TokenCount
from mlx_engine.engine.bridge import to_iter
from mlx_engine.remote.endpoint import Endpoint
from mlx_engine.remote.remote_engine import RemoteEngine
from tests.mlx_engine.api_server.serving import Serving, serving

ASKED = (Message("user", "How many positive whole-number divisors does 36 have?"),)


@pytest.fixture(scope="module")
def server() -> Iterator[Serving]:
    with serving(key="sk-test-key") as found:
        yield found


@pytest.fixture(scope="module")
def remote(server: Serving) -> Iterator[RemoteEngine]:
    engine = RemoteEngine(Endpoint(f"{server.url}/v1", key="sk-test-key"))
    yield engine
    assert engine.wait(120)


def reply(client: EngineClient, request: GenerationRequest) -> CompletedReply:
    return generate.show(to_iter(client, request), printing=False)


def test_the_pair_is_described(server: Serving, remote: RemoteEngine) -> None:
    (info,) = [event for event in to_iter(remote, LoadPair()) if isinstance(event, PairInfo)]
    assert info.family == "Slipstream"
    assert (info.can_think, info.can_call_tools) == (server.pair.can_think, server.pair.can_call_tools)
    assert info.why_plain is None
    assert (info.block_size, info.context_limit) == (server.pair.block_size, server.pair.context_limit)


@pytest.mark.parametrize("mode", ("dflash", pytest.param("plain", marks=pytest.mark.long)))
@pytest.mark.parametrize("sampling", (Sampling(), Sampling(0.8, top_p=0.9, top_k=40, min_p=0.01, repetition_penalty=1.1)))
def test_text_and_statistics_are_those_of_the_engine(server: Serving, remote: RemoteEngine, mode: Mode, sampling: Sampling) -> None:
    request = GenerationRequest(ASKED, mode=mode, sampling=sampling, seed=7, width=8, max_tokens=30)
    there, here = reply(remote, request), reply(server.engine, request)
    assert there.text == here.text
    assert there.reason == here.reason
    stats, expected = there.stats, here.stats
    assert stats.mode == mode
    assert stats.measured_by == "server"
    for name in (
        "drafter",
        "drafter_kind",
        "tokens",
        "prompt_tokens",
        "rounds",
        "drafted",
        "accepted",
        "tokens_per_round",
        "acceptance",
    ):
        assert getattr(stats, name) == getattr(expected, name), name
    assert stats.why_plain == expected.why_plain, "with its code, which has a translation"


def test_thinking_and_stop_strings(server: Serving, remote: RemoteEngine) -> None:
    request = GenerationRequest((Message("user", "What is 5 times 7?"),), thinking=True, stop=("35**",), max_tokens=60)
    there, here = reply(remote, request), reply(server.engine, request)
    assert here.thinking and (there.text, there.thinking) == (here.text, here.thinking)
    assert here.reason == there.reason == "stop_string"


@pytest.mark.parametrize("thinking", (False, True))
def test_a_cut_reply_is_continued(server: Serving, remote: RemoteEngine, thinking: bool) -> None:
    whole = reply(server.engine, GenerationRequest(ASKED, thinking=thinking, max_tokens=20))
    started = {"continue_from": "" if thinking else whole.text[:20], "continue_thinking": whole.thinking[:20] if thinking else ""}
    rest = reply(remote, GenerationRequest(ASKED, thinking=thinking, max_tokens=20, **started))
    here = reply(server.engine, GenerationRequest(ASKED, thinking=thinking, max_tokens=20, **started))
    assert (rest.text, rest.thinking) == (here.text, here.thinking)


def test_a_reply_without_a_seed_reports_the_one_that_was_sent(remote: RemoteEngine) -> None:
    drawn = reply(remote, GenerationRequest(ASKED, sampling=Sampling(0.9), max_tokens=40))
    again = reply(remote, GenerationRequest(ASKED, sampling=Sampling(0.9), max_tokens=40, seed=drawn.stats.seed))
    assert drawn.text == again.text


def test_tokens_are_counted_before_a_reply(server: Serving, remote: RemoteEngine) -> None:
    request = CountTokens(GenerationRequest((Message("system", "Be brief."), *ASKED), thinking=True))
    (counted,) = to_iter(server.engine, request)
    assert isinstance(counted, TokenCount)
    assert list(to_iter(remote, request)) == [TokenCount(counted.tokens, counted.limit)]


def test_both_modes_are_compared(remote: RemoteEngine) -> None:
    (result,) = [
        event for event in to_iter(remote, Compare((GenerationRequest(ASKED, max_tokens=24),))) if isinstance(event, CompareResult)
    ]
    assert [(one.verdict, one.runs[0].mode) for one in result.results] == [("identical", "plain"), ("identical", "dflash")]
    with pytest.raises(UserError) as refused:
        list(to_iter(remote, Compare((GenerationRequest(ASKED),), together=True)))
    assert refused.value.text.code == "server_not_together"


def test_a_canceled_reply_keeps_its_beginning(remote: RemoteEngine) -> None:
    found: list[Event] = []
    runs: list[Run] = []
    for event in to_iter(remote, GenerationRequest(ASKED, ignore_eos=True, max_tokens=1000), runs.append):
        found.append(event)
        if len(found) == 3:
            runs[0].cancel()
    assert isinstance(found[-1], Finished)
    assert found[-1].reason == "cancelled"


def test_a_benchmark_reports_the_server_and_nothing_about_this_computer(
    server: Serving, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--remote", server.url, "--remote-key", "sk-test-key", "--runs", "1", "--limit", "1", "--max-tokens", "8"]
    assert main(["bench", *options, "--widths", "4"]) == 0
    out = capsys.readouterr().out
    assert f"Server: {server.url.removeprefix('http://')}\n" in out
    assert "CPU" not in out and "– MB" in out and " 0 MB" not in out
