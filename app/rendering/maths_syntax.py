"""Maths in Markdown: `$x$` and `\\(x\\)` in a line, `$$x$$` and `\\[x\\]` on lines of their own.

The rules are written so that text which arrives in pieces can be frozen: a block of maths that is never closed ends at the next
empty line, so nothing that stands further down changes what is above it.
"""

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

MOST_CHARS = 2000  # of one formula; a longer one is text

_closers = {"$$": "$$", "\\[": "\\]"}


def maths_plugin(parser: MarkdownIt) -> None:
    """Adds the tokens `math_block` and `math_inline`; `markup` is the opening delimiter, `content` the LaTeX, and `meta` has
    `closed`."""
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
        token.markup, token.content, token.meta = opener, latex.strip(), {"closed": True}
    state.pos = end + len(opener)
    return True


def _dollars(source: str, start: int, limit: int) -> tuple[str, int] | None:
    """A price is no formula: no space inside the dollars, no digit after the second."""
    opener = "$$" if source.startswith("$$", start) else "$"
    inside = start + len(opener)
    end = source.find("$", inside, min(limit, inside + MOST_CHARS))
    while end > 0 and source[end - 1] == "\\":
        end = source.find("$", end + 1, min(limit, inside + MOST_CHARS))
    if end < 0 or not source.startswith(opener, end):
        return None
    if opener == "$":
        before, after = source[end - 1], source[end + 1 : end + 2]
        if source[inside : inside + 1].isspace() or before.isspace() or after.isdigit():
            return None
    return opener, end


def _brackets(source: str, start: int, limit: int) -> tuple[str, int] | None:
    opener = source[start : start + 2]
    end = source.find("\\)" if opener == "\\(" else "\\]", start + 2, min(limit, start + MOST_CHARS))
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
            return False  # text goes on behind it: maths in a line
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
