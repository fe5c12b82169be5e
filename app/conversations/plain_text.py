"""Text as it may be stored, searched and tokenised: no NUL, no half of a surrogate pair."""

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
TITLE_CHARS = 60
NEW_CHAT = "New Chat"


def clean(text: str) -> str:
    """Two halves of a pair become the character they mean; a half alone and NUL become U+FFFD. Neither UTF-8 nor SQLite's search
    can hold them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", REPLACEMENT)


def title_from(text: str) -> str:
    """A chat's title from its first message: the first line with words in it, cut at a word."""
    lines = (" ".join(line.strip("#>*-`~ \t").split()) for line in text[:10_000].splitlines())
    line = next((line for line in lines if line), "")
    if not line:
        return NEW_CHAT
    if len(line) <= TITLE_CHARS:
        return line
    cut = line[:TITLE_CHARS]
    whole = cut.rsplit(" ", 1)[0]
    return (whole if len(whole) > TITLE_CHARS // 2 else cut).rstrip(" ,;:.") + "…"
