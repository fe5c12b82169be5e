"""All reply formats, and which of them a target has."""

import re
from functools import lru_cache
from itertools import chain

from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine.formats.channels import ChannelMarkers
from mlx_engine.formats.gemma import Gemma
from mlx_engine.formats.glm import Glm
from mlx_engine.formats.harmony import Harmony
from mlx_engine.formats.hermes import Hermes
from mlx_engine.formats.kimi import Kimi
from mlx_engine.formats.llama import Llama
from mlx_engine.formats.minimax import MiniMax
from mlx_engine.formats.mistral import Mistral
from mlx_engine.formats.mlx_lm_calls import MlxLmCalls
from mlx_engine.formats.muse import Muse
from mlx_engine.formats.qwen3_coder import Qwen3Coder
from mlx_engine.formats.reply_format import ReplyFormat

# If a tokenizer fits several, the first
FORMATS: tuple[ReplyFormat, ...] = (
    Harmony(), Muse(), Hermes(), Qwen3Coder(), MiniMax(), Glm(), Gemma(), Mistral(), Kimi(), Llama(),
)  # fmt: skip
# Pairs of families whose calls have no module here
_OTHER_THINKING = (
    ("<longcat_think>", "</longcat_think>"),
    ("<|think:start|>", "<|think:end|>"),
    ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
    ("<seed:think>", "</seed:think>"),
)


def markers_of(tokenizer: TokenizerWrapper) -> ChannelMarkers | None:
    """Return a tokenizer's channel markers, or None if the tokenizer has none."""
    others = (ChannelMarkers.of_pair(tokenizer, *pair) for pair in _OTHER_THINKING)
    return next(filter(None, chain((form.markers(tokenizer) for form in FORMATS), others)), None)


def call_format(tokenizer: TokenizerWrapper) -> ReplyFormat | None:
    """Return the format of a target's tool calls, or None if it can't call tools.

    A target can't call tools if its chat template takes no tools or the format is unknown.
    """
    if not template_reads(tokenizer, "tools"):
        return None
    if tokenizer.has_tool_calling:
        name = tokenizer.init_kwargs.get("tool_parser_type")
        return next((form for form in FORMATS if name in form.names), None) or MlxLmCalls(tokenizer)
    return next((form for form in FORMATS if form.recognizes(tokenizer)), None)


def template_reads(tokenizer: TokenizerWrapper, option: str) -> bool:
    """Return whether a chat template reads a variable of this name."""
    text = tokenizer.chat_template
    text = text.get("default") if isinstance(text, dict) else text
    if getattr(tokenizer, "_chat_template", None) is not None or not isinstance(text, str):
        return False  # mlx-lm renders this target's chats itself, and rejects unknown options
    return re.search(rf"(?<![\w.'\"]){option}(?![\w'\"])", _statements(text)) is not None


@lru_cache(8)
def _statements(template: str) -> str:
    return " ".join(re.split(r"[%}]\}", part)[0] for part in re.split(r"\{[%{]", template)[1:])
