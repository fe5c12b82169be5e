"""Qwen3-Coder and Qwen3.5: `<function=NAME>`, `<parameter=NAME>VALUE</parameter>`."""

import re

from mlx_engine.formats.tagged import TaggedFormat


class Qwen3Coder(TaggedFormat):
    names = ("qwen3_coder",)
    start, end = "<tool_call>", "</tool_call>"
    value = ("<parameter=", "</parameter>")
    layout = '"\\n" call "\\n" {end}'
    pattern = re.compile(
        r"<function=(?P<name>[^\s<>]+)>?\s*(?P<arguments>(?:(?><parameter=.*?</parameter>)\s*)*+)</function>\s*", re.DOTALL
    )
    argument = re.compile(r"<parameter=\s*([^\s<>]+)>?\n?(.*?)\n?</parameter>\s*", re.DOTALL)
    written = ("<function={}>\n", "<parameter={}>\n", "\n</parameter>", "</function>")
    untyped = frozenset(("string", "object", "array", "null"))
    trimmed = ""
