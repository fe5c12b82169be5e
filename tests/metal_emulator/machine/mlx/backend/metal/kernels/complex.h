// Replaces MLX's header, whose overloads differ only in address spaces. Declares what utils.h uses.
#pragma once
template <typename T>
struct complex_t {
  T real, imag;
  complex_t() = default;
  constexpr complex_t(T real, T imag) : real(real), imag(imag) {}
  constexpr complex_t(T real) : real(real), imag(0) {}
};
typedef complex_t<float> complex64_t;
