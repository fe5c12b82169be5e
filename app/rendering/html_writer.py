"""Markdown as HTML, for other apps and for paper."""

from collections.abc import Callable, Sequence
from html import escape

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from app.rendering.markdown import is_safe_link, parse_tokens

_options = MarkdownIt("commonmark").options  # without HTML from replies: the parser makes no tokens of it


def formula_source(latex: str, display: bool) -> str:
    """Return a formula as code."""
    return f"<code>{escape(latex)}</code>"


def to_html(source: str, formula: Callable[[str, bool], str] = formula_source) -> str:
    """Return Markdown as HTML that loads nothing, and whose links are web addresses.

    Args:
        formula: returns the HTML of a formula, given its LaTeX and whether it has its own line.
    """
    tokens = parse_tokens(source)
    for token in tokens:
        if style := token.attrGet("style"):  # of a cell; Qt draws no borders of a cell with a style
            token.attrs = {"align": str(style).removeprefix("text-align:")}
        if token.type == "fence":
            token.content = token.content.removesuffix("\n")
    return _Renderer(formula).render(tokens, _options, {})


class _Renderer(RendererHTML):
    """A renderer with formulas, and without images, which could load anything."""

    def __init__(self, formula: Callable[[str, bool], str]) -> None:
        super().__init__()
        self._formula = formula

    def math_inline(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return self._formula(tokens[idx].content, False)

    def math_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"<p>{self._formula(tokens[idx].content, True)}</p>\n"

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return escape(tokens[idx].content)

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        address = str(tokens[idx].attrGet("href"))
        return f'<a href="{escape(address)}">' if is_safe_link(address) else "<a>"
