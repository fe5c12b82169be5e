"""Custom pairs and the bandwidth limit are saved; damaged files are ignored."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mlx_engine.contract.errors import UserError
from mlx_engine.models.downloads import bandwidth
from mlx_engine.models.downloads.bandwidth import download_limit, save_download_limit
from mlx_engine.models.library import pair as pair_module
from mlx_engine.models.library.pair import CustomPair, Pair, add_custom_pair, custom_pairs, remove_custom_pair


def test_custom_pairs_are_unique_and_latest_first() -> None:
    folders, repos, plain = CustomPair("/models/a", "/models/b"), CustomPair("lab/x", "lab/y"), CustomPair("lab/x")
    for pair in (folders, repos, plain, folders):
        add_custom_pair(pair)
    assert custom_pairs() == (folders, plain, repos)
    assert folders.folders == (Path("/models/a"), Path("/models/b")) and repos.pair == Pair("lab/x", "lab/y")
    remove_custom_pair(plain)
    remove_custom_pair(plain)
    assert custom_pairs() == (folders, repos)


@pytest.mark.parametrize(
    ("target", "drafter"), [("models/a/b", None), ("../x", None), ("/a\0b", None), ("/a", "lab/y"), ("lab/x", "/b"), ("", None)]
)
def test_names_that_are_none(target: str, drafter: str | None) -> None:
    with pytest.raises(UserError):
        CustomPair(target, drafter)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["target", "drafter", "bytes_per_s"]) | st.text(), inner),
)


@given(JSON)
@example([{"target": "lab/x"}])
@example([{"target": "/models/a", "drafter": ""}])
def test_any_file_content_is_parsed_or_ignored(raw: object) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pair_module, "read_json", lambda path: raw)
        patched.setattr(bandwidth, "read_json", lambda path: raw)
        assert all(isinstance(one, CustomPair) for one in custom_pairs())
        rate = download_limit()
        assert rate is None or 0 < rate < float("inf")


def test_the_limit_is_saved_until_it_is_removed() -> None:
    assert download_limit() is None
    save_download_limit(2.5e6)
    assert download_limit() == 2.5e6
    save_download_limit(None)
    assert download_limit() is None
