"""MiniMax M2: `<invoke name="NAME">`, `<parameter name="NAME">VALUE</parameter>`."""

import re

from mlx_engine.formats.tagged import TaggedFormat

_QUOTED = r"""\s*["']?([^<>\n]+?)["']?\s*>"""


class MiniMax(TaggedFormat):
    names = ("minimax_m2",)
    start, end = "<minimax:tool_call>", "</minimax:tool_call>"
    value = ("<parameter name=", "</parameter>")
    layout = '("\\n" call){more} "\\n" {end}'
    pattern = re.compile(
        rf"<invoke name={_QUOTED}\s*(?P<arguments>(?:(?><parameter name=[^<>\n]+>.*?</parameter>)\s*)*+)</invoke>\s*", re.DOTALL
    )
    argument = re.compile(rf"<parameter name={_QUOTED}(.*?)</parameter>\s*", re.DOTALL)
    written = ('<invoke name="{}">\n', '<parameter name="{}">', "</parameter>", "</invoke>")
