"""Each violation of a Metal rule in a small kernel is found."""

import mlx.core as mx
import pytest

from tests.metal_emulator.text import MetalText
from tests.strict_metal.compiler import findings
from tests.strict_metal.recorder import Recorder

# Rule: header, body and part of the message.
FAULTS = {
    "keyword as a name": (
        "inline float f(float fragment) { return fragment; }",
        "y[0] = f(1.0f);",
        "`fragment` is a keyword",
    ),
    "address space as a name": ("inline float f(float thread) { return 0; }", "y[0] = f(1.0f);", "`thread` is a keyword"),
    "pointer without an address space": (
        "inline float f(const float* x) { return x[0]; }",
        "float a[2]; y[0] = f(a);",
        "`x` needs an address space",
    ),
    "reference without an address space": (
        "inline void f(float& x) { x = 1; }",
        "float a; f(a); y[0] = a;",
        "`x` needs an address space",
    ),
    "field without an address space": ("struct S { const float* p; };", "y[0] = x[0];", "`p` needs an address space"),
    "device as thread": ("inline float f(const thread float* x) { return x[0]; }", "y[0] = f(x);", "no matching function"),
    "constant as device": ("inline float f(const device float* x) { return x[0]; }", "y[0] = f(few);", "no matching function"),
    "threadgroup as device": (
        "inline float f(const device float* x) { return *x; }",
        "threadgroup float s[4]; y[0] = f(s);",
        "no matching function",
    ),
    "double": ("", "double a = x[0]; y[0] = float(a);", "Metal has no `double`"),
    "standard library": ("", "y[0] = std::max(x[0], x[1]);", "Metal has no `std`"),
    "float to bfloat": ("", "bfloat b = x[0]; y[0] = float(b);", "implicit conversion to bfloat"),
    "float to bfloat in an assignment": ("", "bfloat b; b = x[0]; y[0] = float(b);", "implicit conversion to bfloat"),
    "float to bfloat in a template": (
        "template <typename U> inline U f(float x) { return x; }",
        "y[0] = float(f<T>(x[0]));",
        "implicit conversion to bfloat",
    ),
    "product of bfloat and float to bfloat": ("", "bfloat b = bfloat(x[0]) * x[1]; y[0] = b;", "implicit conversion to bfloat"),
    "sum of bfloat and float returned as T": (
        "template <typename U> inline U f(U b, float x) { return b + x; }",
        "y[0] = f(T(x[0]), x[1]);",
        "implicit conversion to bfloat",
    ),
    "max of half and float": ("", "y[0] = metal::max(half(x[0]), x[1]);", "ambiguous"),
    "simd_sum of 64 bits": ("", "y[0] = float(simd_sum(ulong(x[0])));", "ambiguous"),
    "name that metal:: has": (
        "template <int N> inline float decay(float x) { return x * N; }",
        "y[0] = decay<2>(x[0]);",
        "reference to 'decay' is ambiguous",
    ),
    "lambda": ("", "auto f = [](float a) { return a; }; y[0] = f(x[0]);", "lambda"),
    "if constexpr": (
        "template <int N> inline float f() { if constexpr (N > 1) return 1; else return 0; }",
        "y[0] = f<2>();",
        "constexpr if",
    ),
    "matrix that is not 8 × 8": (
        "",
        "simdgroup_matrix<float, 4, 4> m; y[0] = m.thread_elements()[0];",
        "simdgroup_matrix is 8 x 8",
    ),
    "write to constant": ("", "few[0] = 1.0f;", "read-only"),
}


def text_of(header: str, source: str) -> MetalText:
    recorder = Recorder()
    kernel = recorder(
        name="example",
        input_names=["x", "few"],  # `few` arrives as constant
        output_names=["y"],
        header=f'#line 1 "metal/example.metal"\n{header}\n',
        source=source,
    )
    kernel(
        inputs=[mx.zeros((64,)), mx.zeros((2,))],
        template=[("T", mx.bfloat16)],
        grid=(32, 1, 1),
        threadgroup=(32, 1, 1),
        output_shapes=[(64,)],
        output_dtypes=[mx.float32],
    )
    (text,) = recorder.texts.values()
    return text


@pytest.mark.parametrize("rule", FAULTS)
def test_every_fault_is_found(rule: str) -> None:
    header, source, message = FAULTS[rule]
    found = findings(text_of(header, source))
    assert any(message in line for line in found), found


def test_a_finding_names_file_and_line() -> None:
    found = findings(text_of("\ninline float f(const float* x) { return x[0]; }", "float a[2]; y[0] = f(a);"))
    assert found == ["metal/example.metal:2: `x` needs an address space"]


@pytest.mark.parametrize(
    "source",
    [
        "threadgroup float s[32]; s[thread_index_in_simdgroup] = x[0]; y[0] = s[0];",
        "bfloat b = bfloat(x[0]); y[0] = float(b) + b * few[0];",
        "T b = T(x[0] * 2.0f), c = b * b; auto d = c * x[0]; y[0] = x[0] > 0 ? d : c * x[1];",
        "const device float* p = x; thread float* q = nullptr; y[0] = p[0]; // double, fragment",
        "y[0] = simd_sum(metal::max(x[0], 0.0f));",
    ],
)
def test_valid_code_has_no_findings(source: str) -> None:
    assert findings(text_of("", source)) == []
