"""Access tokens: where they come from, who receives them, and what a refusal says."""

import io
import json
import re
import sys

import keyring
import pytest
from huggingface_hub import constants
from keyring.backends.fail import Keyring as NoKeychain

from mlx_engine.cli.main import main
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import data_folder
from mlx_engine.models.downloads.hub import Hub, delete_token, mirror, save_mirror, store_token, stored_token
from mlx_engine.models.files.hub_cache import HubCache
from tests.hub.local_hub import LocalHub
from tests.hub.repos import drafter_files, target_files
from tests.mlx_engine.models.downloads import expect_whole, fetch


@pytest.fixture
def gated(local_hub: LocalHub) -> LocalHub:
    local_hub.repo("owner/target", target_files(100_000))
    local_hub.repo("owner/drafter", drafter_files(50_000), gated=True, admitted=frozenset({"hf_mine"}))
    local_hub.accounts = {"hf_mine": "me", "hf_other": "another"}
    return local_hub


def bearers(local: LocalHub) -> set[str | None]:
    return {bearer for _, _, bearer in local.asked}


def test_the_keychain_is_used_only_if_a_repo_requires_a_token(gated: LocalHub, cache: HubCache) -> None:
    assert store_token(gated.url, " hf_mine\n") == "me"
    gated.asked.clear()
    assert Hub(gated.url).listing("owner/target").files
    assert bearers(gated) == {None}, "what needs no token is asked for without"
    fetch(gated, cache)
    expect_whole(gated, cache)
    assert bearers(gated) == {None, "Bearer hf_mine"}


def test_a_private_repo_is_downloaded_with_a_token(gated: LocalHub, cache: HubCache) -> None:
    gated.repos["owner/target"].private = True
    gated.repos["owner/target"].admitted = frozenset({"hf_mine"})
    store_token(gated.url, "hf_mine")
    fetch(gated, cache)
    expect_whole(gated, cache)


def test_the_environment_and_the_hubs_login_take_precedence(
    gated: LocalHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    store_token(gated.url, "hf_mine")
    login = tmp_path_factory.mktemp("login") / "token"
    login.write_text("hf_other")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(login))
    assert Hub(gated.url).token == "hf_other"
    with pytest.raises(UserError, match="Your account can't access"):
        fetch(gated, cache)
    monkeypatch.setenv("HF_TOKEN", "hf_mine")
    fetch(gated, cache)
    expect_whole(gated, cache)


def test_a_stored_token_without_access_is_reported(gated: LocalHub, cache: HubCache) -> None:
    store_token(gated.url, "hf_other")
    with pytest.raises(UserError, match=re.escape(f"Request access at {gated.url}/owner/drafter")):
        fetch(gated, cache)


def test_a_token_is_never_sent_to_another_hub(gated: LocalHub) -> None:
    store_token(gated.url, "hf_mine")
    with LocalHub() as mirror:
        mirror.repo("owner/drafter", drafter_files(50_000), gated=True)
        hub = Hub(mirror.url)
        with pytest.raises(UserError, match=r"is gated\. .*slipstream models login"):
            hub.read_json(hub.listing("owner/drafter"), "config.json")
        assert bearers(mirror) == {None}


@pytest.mark.parametrize("token", ["", "  ", "hf mine", "hf_\0", "hf_ä", "x" * 2000])
def test_invalid_tokens_are_not_stored(gated: LocalHub, token: str) -> None:
    with pytest.raises(UserError, match="isn't a valid access token"):
        store_token(gated.url, token)
    assert not gated.asked


def test_an_unknown_token_is_not_stored(gated: LocalHub) -> None:
    with pytest.raises(UserError, match="rejected this access token"):
        store_token(gated.url, "hf_wrong")
    assert stored_token(gated.url) is None


def test_without_a_keychain(gated: LocalHub, cache: HubCache) -> None:
    keyring.set_keyring(NoKeychain())
    with pytest.raises(UserError, match=r"Can't store the token in the keychain .* “hf auth login”"):
        store_token(gated.url, "hf_mine")
    with pytest.raises(UserError, match="is gated"):
        fetch(gated, cache)
    assert not delete_token(gated.url)


def test_login_in_the_terminal(gated: LocalHub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", gated.url)
    monkeypatch.setattr(sys, "stdin", io.StringIO("hf_mine\n"))
    assert main(["models", "login", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"endpoint": gated.url, "account": "me"}
    assert stored_token(gated.url) == "hf_mine"
    assert main(["models", "login", "--forget"]) == 0
    assert "Removed the token" in capsys.readouterr().out and stored_token(gated.url) is None
    monkeypatch.setattr(sys, "stdin", io.StringIO("hf_wrong"))
    assert main(["models", "login"]) == 1
    assert "rejected this access token" in capsys.readouterr().err


def test_a_mirror_replaces_the_hub_unless_the_environment_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    usual = Hub().endpoint
    save_mirror("https://mirror.example/")
    assert Hub().endpoint == "https://mirror.example" and Hub("https://other.example").endpoint == "https://other.example"
    monkeypatch.setenv("HF_ENDPOINT", constants.ENDPOINT)
    assert Hub().endpoint == usual
    monkeypatch.delenv("HF_ENDPOINT")
    for address in ("mirror.example", "file:///etc", "https://"):
        with pytest.raises(UserError, match="isn't a web address"):
            save_mirror(address)
    for content in ("[]", "{", '{"mirror": 7}', '{"mirror": "ftp://a"}'):
        (data_folder() / "hub.json").write_text(content)
        assert mirror() == "" and Hub().endpoint == usual
