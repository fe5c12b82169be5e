"""Muse: messages as in Harmony, and calls as `<atem:invoke name="NAME">`."""

import re

from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine.formats.channels import ChannelMarkers
from mlx_engine.formats.harmony import header_markers
from mlx_engine.formats.tagged import TaggedFormat
from mlx_engine.formats.typed_values import KINDS

_NAMED = r'\b[^>]*?\bname="([^"]+)"[^>]*>\s*'


class Muse(TaggedFormat):
    names = ("muse_spark",)
    start, end = "<atem:function_calls>", "</atem:function_calls>"
    pattern = re.compile(
        rf"(?:{start}\s*)?<atem:invoke{_NAMED}(?P<arguments>(?:(?><atem:parameter\b.*?</atem:parameter>)\s*)*+)"
        rf"</atem:invoke>\s*(?:{end}\s*)?",
        re.DOTALL,
    )
    argument = re.compile(rf"<atem:parameter{_NAMED}(.*?)</atem:parameter>\s*", re.DOTALL)
    untyped = KINDS

    def markers(self, tokenizer: TokenizerWrapper) -> ChannelMarkers | None:
        return header_markers(tokenizer, thinking=" to=self<|message|>", answer=" to=user<|message|>")
