"""A model without a chat template is recognized before it is used, and the checks agree with chats."""

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import mlx_lm.models
import pytest
from huggingface_hub import constants
from hypothesis import example, given
from hypothesis import strategies as st

from mlx_engine.cli.main import main
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import Message
from mlx_engine.formats import chat_prompt
from mlx_engine.formats.tokenizer_files import read_tokenizer
from mlx_engine.models.downloads.download import inspect_pair
from mlx_engine.models.downloads.hub import Hub
from mlx_engine.models.files.chat_template import _RENDERED_BY_MLX_LM, folder_template_problem
from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.models.library.pair import Pair
from tests.golden.__main__ import HERE
from tests.hub.local_hub import LocalHub
from tests.hub.repos import TEMPLATE, config, target_files

TARGET = HERE / "e2e_qwen3" / "target"
named = st.dictionaries(st.sampled_from(["default", "tool_use"]), st.sampled_from([TEMPLATE, ""]), min_size=1)
fields = st.one_of(
    st.none(),
    st.sampled_from([TEMPLATE, ""]),
    named,
    named.map(lambda found: [{"name": name, "template": text} for name, text in found.items()]),
)


@given(field=fields, file=st.sampled_from([None, "", TEMPLATE]), processor=st.booleans(), settings=st.booleans())
@example(field=None, file=None, processor=False, settings=False)
@example(field=None, file="", processor=True, settings=True)
@example(field=None, file=None, processor=True, settings=False)
@example(field={"tool_use": TEMPLATE}, file=None, processor=True, settings=True)
def test_the_check_agrees_with_chats(field: object, file: str | None, processor: bool, settings: bool) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("config.json", "tokenizer.json"):
            shutil.copy(TARGET / part, folder)
        if settings:
            kept = json.loads((TARGET / "tokenizer_config.json").read_text())
            kept.pop("chat_template", None)
            (folder / "tokenizer_config.json").write_text(json.dumps(kept | ({} if field is None else {"chat_template": field})))
        if file is not None:
            (folder / "chat_template.jinja").write_text(file)
        if processor:
            (folder / "chat_template.json").write_text(json.dumps({"chat_template": TEMPLATE}))
        about = json.loads((folder / "config.json").read_text())
        problem = folder_template_problem(folder, about)
        try:
            chat_prompt.template(read_tokenizer(folder, about), [Message("user", "Hi")])
        except UserError as error:
            assert error.text.code == "no_chat_template" and problem is not None
        else:
            assert problem is None


def test_families_that_mlx_lm_renders_itself_can_chat() -> None:
    sources = {file.stem: file.read_text() for file in sorted(Path(mlx_lm.models.__path__[0]).glob("*.py"))}
    assert tuple(name for name, text in sources.items() if "chat_template_type" in text) == _RENDERED_BY_MLX_LM


def test_the_hub_is_asked_about_the_template(local_hub: LocalHub, cache: HubCache) -> None:
    base = target_files(1000) | {"tokenizer_config.json": config(tokenizer_class="Qwen2Tokenizer")}
    local_hub.repo("owner/base", base)
    local_hub.repo("owner/chat", target_files(1000))
    local_hub.repo("owner/jinja", base | {"chat_template.jinja": TEMPLATE.encode()})
    problems = [inspect_pair(Hub(local_hub.url), cache, Pair(f"owner/{name}")).chat_problem for name in ("base", "chat", "jinja")]
    assert problems[1:] == [None, None] and "To chat, choose an instruction-tuned model." in str(problems[0])


def test_the_terminal_says_it_before_and_after_the_download(
    local_hub: LocalHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", local_hub.url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", local_hub.url + "/{repo_id}/resolve/{revision}/{filename}")
    local_hub.repo("owner/base", target_files(1000) | {"tokenizer_config.json": config(tokenizer_class="Qwen2Tokenizer")})
    for command in ("fit", "pull", "check"):
        assert main(["models", command, "--target", "owner/base", *(["--plain"] if command != "check" else [])]) == 0
        printed = capsys.readouterr()
        assert "This model has no chat template, so it can't chat." in printed.out + printed.err, command
    assert printed.out.startswith("! owner/base\n")
    main(["models", "check", "--json"])
    (found,) = json.loads(capsys.readouterr().out)["repos"]
    assert found["complete"] and found["faults"] == [] and "can't chat" in found["notes"][0]
