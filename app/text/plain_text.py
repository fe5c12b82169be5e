"""Text that can be stored, searched and tokenized: valid UTF-8 without NUL."""

import re

from mlx_engine.contract.visible import visible

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
TITLE_CHARS = 60
TITLE_WORDS = 6
_AROUND_TITLE = " \t#>*_-`~\"'“”‘’«»„.,:;。，"
NEW_CHAT = "New Chat"


def clean(text: str) -> str:
    """Join surrogate pairs, and replace NUL and lone surrogates with U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", REPLACEMENT)


# The beginning of a refusal
_REFUSAL = re.compile(
    r"(i['’]m|i am) (sorry|unable|not able|only|just|a small|an ai)|(i|we) (can['’]t|cannot|don['’]t|do not)|sorry\b|"
    r"as an ai\b|unfortunately|this small demo model|es tut mir|tut mir leid|leider|ich kann|als ki\b|"
    r"抱歉|对不起|很抱歉|我无法|我不能|作为",
    re.IGNORECASE,
)


def short_title(text: str) -> str:
    """Return the title in a model's output, or "" if it is a refusal."""
    line = next((line for line in (" ".join(line.split()) for line in clean(text).splitlines()) if line), "")
    line = line.removeprefix("Title:").strip(_AROUND_TITLE)
    if _REFUSAL.match(line):
        return ""
    words = line.split()[:TITLE_WORDS]
    return " ".join(words)[:TITLE_CHARS].strip(_AROUND_TITLE)


def title_from(text: str) -> str:
    """Return a chat title: the first line that has words, cut at a word boundary."""
    lines = (" ".join(line.strip("#>*-`~ \t").split()) for line in text[:10_000].splitlines())
    line = next((line for line in lines if line), NEW_CHAT)
    if len(line) <= TITLE_CHARS:
        return line
    cut = line[:TITLE_CHARS]
    whole = cut.rsplit(" ", 1)[0]
    return (whole if len(whole) > TITLE_CHARS // 2 else cut).rstrip(" ,;:.") + "…"


def fenced(text: str) -> str:
    """Return text as a Markdown code block that the text can't end."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def one_line(text: str, limit: int) -> str:
    """Return untrusted text as one line, truncated, with hidden characters visible."""
    shown = visible(" ".join(text[: 4 * limit].split()))
    return shown if len(shown) <= limit else shown[: limit - 1].rstrip() + "…"
