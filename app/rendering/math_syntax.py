"""Math in Markdown: `$x$` and `\\(x\\)` inline, `$$x$$` and `\\[x\\]` on lines of their own.

A math block that is never closed ends at the next empty line. Text further down then never changes the blocks above it, so
blocks of a streaming reply can be frozen.
"""

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

MAX_CHARS = 2000  # of one formula; anything longer is text

_closers = {"$$": "$$", "\\[": "\\]"}


def math_plugin(parser: MarkdownIt) -> None:
    """Add the tokens `math_inline` and `math_block`.

    `content` is the LaTeX, `markup` the opening delimiter, and `meta["closed"]` tells whether a block has a closing one.
    """
    parser.inline.ruler.before("escape", "math_inline", _inline)
    parser.block.ruler.before("fence", "math_block", _block, {"alt": ["paragraph", "reference", "blockquote", "list"]})


def _inline(state: StateInline, silent: bool) -> bool:
    source, start = state.src, state.pos
    if source.startswith("$", start):
        found = _dollars(source, start, state.posMax)
    elif source.startswith(("\\(", "\\["), start):
        found = _brackets(source, start, state.posMax)
    else:
        return False
    if found is None:
        return False
    opener, end = found
    latex = source[start + len(opener) : end]
    if not latex.strip():
        return False
    if not silent:
        token = state.push("math_inline", "math", 0)
        token.markup, token.content = opener, latex.strip()
    state.pos = end + len(opener)
    return True


def _dollars(source: str, start: int, limit: int) -> tuple[str, int] | None:
    """Return the delimiter and its end. Prices are not math: no space inside the dollars, no digit after the second."""
    opener = "$$" if source.startswith("$$", start) else "$"
    inside = start + len(opener)
    end = source.find("$", inside, min(limit, inside + MAX_CHARS))
    while end > 0 and source[end - 1] == "\\":
        end = source.find("$", end + 1, min(limit, inside + MAX_CHARS))
    if end < 0 or not source.startswith(opener, end):
        return None
    if opener == "$":
        before, after = source[end - 1], source[end + 1 : end + 2]
        if source[inside : inside + 1].isspace() or before.isspace() or after.isdigit():
            return None
    return opener, end


def _brackets(source: str, start: int, limit: int) -> tuple[str, int] | None:
    opener = source[start : start + 2]
    end = source.find("\\)" if opener == "\\(" else "\\]", start + 2, min(limit, start + MAX_CHARS))
    return None if end < 0 else (opener, end)


def _block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    if state.is_code_block(first):
        return False
    begin, end = state.bMarks[first] + state.tShift[first], state.eMarks[first]
    opener = state.src[begin : begin + 2]
    closer = _closers.get(opener)
    if closer is None:
        return False
    line, content, closed = first, state.src[begin + 2 : end], False
    place = content.find(closer)
    if place >= 0:
        if content[place + 2 :].strip():
            return False  # text follows on the same line: inline math
        closed, content = True, content[:place]
    if silent:
        return True
    lines = [content]
    while not closed:
        line += 1
        if line >= last or state.isEmpty(line) or state.sCount[line] < state.blkIndent:
            line -= 1
            break
        text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
        if text.rstrip().endswith(closer):
            closed, text = True, text.rstrip()[:-2]
        lines.append(text)
    token = state.push("math_block", "math", 0)
    token.block, token.markup, token.content = True, opener, "\n".join(lines).strip()
    token.map, token.meta = [first, line + 1], {"closed": closed}
    state.line = line + 1
    return True
