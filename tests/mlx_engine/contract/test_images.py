"""Images of messages keep their places when messages are cut."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.attached_images import FORMATS, unsupported
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.limits import check_images, cut_results
from mlx_engine.contract.requests import AttachedImage, GenerationRequest, Message

LARGE = b"\x89PNG" * 1000


@st.composite
def messages(draw: st.DrawFn) -> Message:
    content = draw(st.text("ab ", max_size=12))
    places = sorted(draw(st.lists(st.integers(0, len(content)), max_size=3)))
    images = tuple(AttachedImage(at, bytes([at]), str(number)) for number, at in enumerate(places))
    return Message(draw(st.sampled_from(("system", "user", "assistant", "tool"))), content, images=images)


def before(message: Message) -> list[tuple[str, str]]:
    """Return each image with the text before it."""
    return [(image.name, message.content[: image.at]) for image in message.images]


@given(st.lists(messages(), max_size=5), st.integers(0, 12))
def test_cut_results_keep_every_image_after_the_text_that_is_left(chat: list[Message], length: int) -> None:
    for whole, cut in zip(chat, cut_results(chat, length), strict=True):
        if whole.role != "tool" or len(whole.content) <= length:
            assert cut is whole
            continue
        assert [image.data for image in cut.images] == [image.data for image in whole.images]
        for (_, text), (_, shown) in zip(before(whole), before(cut), strict=True):
            assert shown == (text if len(text) <= length else cut.content)


def test_a_refused_file_gets_the_list_of_all_formats() -> None:
    for format in ("BMP", None):
        assert all(name in str(unsupported("a", format)) for name in FORMATS)


def test_an_image_is_shown_without_its_bytes() -> None:
    image = AttachedImage(0, LARGE, "chart.png")
    assert len(repr(GenerationRequest((Message("user", "", images=(image,)),)))) < 2000
    assert image.digest == AttachedImage(3, LARGE).digest != AttachedImage(0, LARGE[1:]).digest
    assert image != replace(image, data=LARGE[1:])


def test_a_model_that_cannot_see_names_the_image() -> None:
    with pytest.raises(UserError, match=r"chart\.png.*can't see images"):
        check_images((Message("user", ""), Message("tool", "a", images=(AttachedImage(0, LARGE, "chart.png"),))))
    check_images((Message("user", "a"),))
