"""Check the text of a kernel against Metal's rules.

clang compiles the text as C++ for OpenCL, which has Metal's address spaces: `device` is `__global`, `constant` is `__constant`,
`threadgroup` is `__local`, and `thread` is `__private`. `double` stands for `bfloat`. The text's tokens and clang's syntax tree
reveal what C++ for OpenCL allows and Metal doesn't.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from clang.cindex import Cursor, CursorKind, Diagnostic, Index, TypeKind

from tests.metal_emulator.text import MetalText, location

_HEADER = Path(__file__).with_name("metal_stdlib.h")
_ARGUMENTS = [
    *"-x clcpp -cl-std=clc++ -cl-no-stdinc -target spir64 -ferror-limit=0 -Wno-everything".split(),
    *"-Wpre-c++17-compat -Werror=pre-c++17-compat".split(),  # Metal 3 is based on C++14
    f"-I{_HEADER.parent}",
]

_ADDRESS_SPACES = {"device", "constant", "thread", "threadgroup"}
_KEYWORDS = _ADDRESS_SPACES | {"vertex", "fragment", "kernel", "threadgroup_imageblock", "ray_data", "object_data"}
_MISSING = set("double new delete virtual dynamic_cast typeid throw try goto thread_local noexcept std assert main".split())

# Operands of these kinds may mix bfloat and float: in Metal the bfloat becomes a float.
_MIXING = {CursorKind.BINARY_OPERATOR, CursorKind.CONDITIONAL_OPERATOR}
_EXPLICIT_CASTS = {CursorKind.CSTYLE_CAST_EXPR, CursorKind.CXX_FUNCTIONAL_CAST_EXPR, CursorKind.CXX_STATIC_CAST_EXPR}


def findings(metal: MetalText) -> list[str]:
    """Return everything that Metal's compiler would reject, as `file:line: message`."""
    return list(dict.fromkeys([*_words(metal.text), *_compile(metal)]))


def _words(text: str) -> Iterator[str]:
    """Find Metal keywords used as names, and words that Metal doesn't have."""

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match[0])

    plain = re.sub(
        r"//[^\n]*|/\*.*?\*/|\[\[[^\]]*\]\]|^#(?:line|pragma|include)[^\n]*", blank, text, flags=re.DOTALL | re.MULTILINE
    )
    for word in re.finditer(r"\b[A-Za-z_]\w*\b", plain):
        name, after = word[0], plain[word.end() :].lstrip()[:1]
        if name in _MISSING:
            yield f"{location(text, word.start())}: Metal has no `{name}`"
        elif name in _KEYWORDS and (name not in _ADDRESS_SPACES or after in ".,;)=+-/[<>|^%:?("):
            yield f"{location(text, word.start())}: `{name}` is a keyword of Metal"
    if not text.isascii():
        yield f"{location(text, next(i for i, char in enumerate(text) if ord(char) > 127))}: not ASCII"


def _as_opencl(metal: MetalText) -> str:
    """Return the text without Metal's attributes, plus a use of the kernel.

    Line numbers stay the same.
    """
    text = re.sub(r"\[\[\w+(?:\([^\]]*\))?\]\]", "", metal.text)
    # In OpenCL float2(x, y) is written (float2)(x, y). Functions in metal_stdlib.h stand for the constructors that Metal has.
    text = re.sub(r"\b((?:u?(?:char|short|int|long)|half|float|bfloat)[234])\s*\((?!\s*[&*])", r"strict_\1(", text)
    start = text.index(f"void {metal.function}(")
    body = re.sub(
        r"\bthreadgroup\s+([\w:<>, ]+?)\s+(\w+)\[([^;]*)\];",
        r"threadgroup \1 (&\2)[\3] = *(threadgroup \1 (*)[\3])strict_shared();",
        text[start:],
    )
    instance = re.search(r"\ntemplate\s+decltype\((.+?)\) ", text, re.DOTALL)
    used = instance[1] if instance else metal.function
    use = f"#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable\nvoid strict_use() {{ {used}; }}\n"
    return f'#include "metal_stdlib.h"\n{text[:start]}{body}\n{use}'


@cache
def _index() -> Index:
    return Index.create()


def _compile(metal: MetalText) -> Iterator[str]:
    text = _as_opencl(metal)
    unit = _index().parse("kernel.clcpp", _ARGUMENTS, [("kernel.clcpp", text)])
    for diagnostic in unit.diagnostics:
        if diagnostic.severity >= Diagnostic.Error:
            where = diagnostic.location
            ours = where.file is not None and where.file.name == "kernel.clcpp"
            yield f"{location(text, where.offset) if ours else _HEADER.name}: {diagnostic.spelling}"
    for cursor, parent in _nodes(unit.cursor):
        if message := _rejected(cursor, parent, text):
            yield f"{location(text, cursor.location.offset)}: {message}"


def _nodes(top: Cursor) -> Iterator[tuple[Cursor, Cursor]]:
    """Yield all syntax nodes with their parents, including instantiated templates."""
    waiting = [(child, top) for child in top.get_children() if _in_text(child)]
    seen = set()
    while waiting:
        cursor, parent = waiting.pop()
        yield cursor, parent
        waiting += [(child, cursor) for child in cursor.get_children()]
        if cursor.kind in (CursorKind.DECL_REF_EXPR, CursorKind.MEMBER_REF_EXPR):
            # libclang visits the instance of a template only through a reference to it
            function = cursor.referenced
            if function and function.kind in (CursorKind.FUNCTION_DECL, CursorKind.CXX_METHOD) and function.hash not in seen:
                seen.add(function.hash)
                if _in_text(function):
                    waiting.append((function, top))


def _in_text(cursor: Cursor) -> bool:
    return cursor.location.file is not None and cursor.location.file.name == "kernel.clcpp"


def _rejected(cursor: Cursor, parent: Cursor, text: str) -> str:
    """Return why Metal rejects this node, or an empty string."""
    kind = cursor.kind
    if kind in (CursorKind.PARM_DECL, CursorKind.VAR_DECL, CursorKind.FIELD_DECL) and "__generic" in cursor.type.spelling:
        return f"`{cursor.spelling}` needs an address space"
    if kind == CursorKind.LAMBDA_EXPR:
        return "Metal 3 has no lambdas"
    if kind == CursorKind.UNEXPOSED_EXPR and _scalar(cursor) == TypeKind.DOUBLE and parent.kind not in _EXPLICIT_CASTS:
        (source,) = list(cursor.get_children())[-1:] or [cursor]
        if _scalar(source) in (TypeKind.FLOAT, TypeKind.HALF) and not (parent.kind in _MIXING and not _assigns(parent, text)):
            return "implicit conversion to bfloat"
    if kind in _MIXING and _is_float(cursor) and _takes_bfloat(parent, text):
        return "implicit conversion to bfloat"
    return ""


def _is_float(cursor: Cursor) -> bool:
    """Return whether a `double` mixes bfloat and float, which Metal computes in float."""
    if _scalar(cursor) != TypeKind.DOUBLE:
        return False
    operands = list(cursor.get_children())
    if cursor.kind == CursorKind.UNEXPOSED_EXPR:
        return bool(operands) and (_scalar(operands[-1]) == TypeKind.FLOAT or _is_float(operands[-1]))
    return cursor.kind in (*_MIXING, CursorKind.PAREN_EXPR) and any(map(_is_float, operands))


def _takes_bfloat(parent: Cursor, text: str) -> bool:
    """Return whether a child of type `double` becomes a bfloat here."""
    if parent.kind == CursorKind.VAR_DECL:
        return parent.type.kind != TypeKind.AUTO
    return parent.kind == CursorKind.RETURN_STMT or _assigns(parent, text)


def _scalar(cursor: Cursor) -> TypeKind:
    return cursor.type.get_canonical().kind


def _assigns(operator: Cursor, text: str) -> bool:
    """Return whether a binary operator is `=`."""
    if operator.kind != CursorKind.BINARY_OPERATOR:
        return False
    left, right = operator.get_children()
    return text[left.extent.end.offset : right.extent.start.offset].strip() == "="
