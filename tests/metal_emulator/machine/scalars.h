// half and bfloat, rounded to nearest even, with MSL's promotions: with an operand of the same type or an integer, the result has
// the 16-bit type, with a float it is float. Conversion from float is explicit.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

namespace msl {
inline float float_of_bits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
inline uint32_t bits_of_float(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}
inline float float_of_half(uint16_t h) {
  const uint32_t sign = (h & 0x8000u) << 16, exponent = (h >> 10) & 31, mantissa = h & 1023;
  if (exponent == 31) return float_of_bits(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {
    const float value = mantissa * 0x1p-24f;
    return sign ? -value : value;
  }
  return float_of_bits(sign | ((exponent + 112) << 23) | (mantissa << 13));
}
inline uint16_t half_of_float(float value) {
  uint32_t bits = bits_of_float(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  bits &= 0x7fffffffu;
  if (bits > 0x7f800000u) return sign | 0x7e00u;
  if (bits >= 0x477ff000u) return sign | 0x7c00u;
  if (bits < 0x38800000u)  // subnormal: adding 0.5 leaves the rounded mantissa in the low bits
    return sign | uint16_t(bits_of_float(float_of_bits(bits) + 0.5f) - 0x3f000000u);
  bits += 0xfffu + ((bits >> 13) & 1);
  return sign | uint16_t((bits - (112u << 23)) >> 13);
}
inline float float_of_bfloat(uint16_t b) { return float_of_bits(uint32_t(b) << 16); }
inline uint16_t bfloat_of_float(float value) {
  const uint32_t bits = bits_of_float(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (bits >> 16) | 0x40;
  return (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
}
}  // namespace msl

#define MSL_SMALL_FLOAT(NAME, TO_FLOAT, FROM_FLOAT)                                                 \
  struct NAME {                                                                                     \
    uint16_t bits;                                                                                  \
    NAME() = default;                                                                               \
    template <typename A, typename = std::enable_if_t<std::is_arithmetic<A>::value>>                \
    explicit constexpr NAME(A a) : bits(FROM_FLOAT(float(a))) {}                                    \
    template <typename A, typename = std::enable_if_t<std::is_integral<A>::value>>                  \
    NAME& operator=(A a) {                                                                          \
      bits = FROM_FLOAT(float(a));                                                                  \
      return *this;                                                                                 \
    }                                                                                               \
    operator float() const { return TO_FLOAT(bits); }                                               \
  };
#define MSL_ARITHMETIC(NAME, OP)                                                                    \
  inline NAME operator OP(NAME a, NAME b) { return NAME(float(a) OP float(b)); }                    \
  template <typename A, typename = std::enable_if_t<std::is_integral<A>::value>>                    \
  inline NAME operator OP(NAME a, A b) { return NAME(float(a) OP float(b)); }                       \
  template <typename A, typename = std::enable_if_t<std::is_integral<A>::value>>                    \
  inline NAME operator OP(A a, NAME b) { return NAME(float(a) OP float(b)); }                       \
  inline float operator OP(NAME a, float b) { return float(a) OP b; }                               \
  inline float operator OP(float a, NAME b) { return a OP float(b); }                               \
  template <typename A, typename = std::enable_if_t<std::is_arithmetic<A>::value || std::is_same<A, NAME>::value>> \
  inline NAME& operator OP##=(NAME & a, A b) { return a = NAME(float(a) OP float(b)); }             \
  inline float& operator OP##=(float& a, NAME b) { return a = a OP float(b); }
#define MSL_COMPARISON(NAME, OP)                                                                    \
  inline bool operator OP(NAME a, NAME b) { return float(a) OP float(b); }                          \
  template <typename A, typename = std::enable_if_t<std::is_arithmetic<A>::value>>                  \
  inline bool operator OP(NAME a, A b) { return float(a) OP float(b); }                             \
  template <typename A, typename = std::enable_if_t<std::is_arithmetic<A>::value>>                  \
  inline bool operator OP(A a, NAME b) { return float(a) OP float(b); }
#define MSL_OPERATORS(NAME)                                                                         \
  MSL_ARITHMETIC(NAME, +) MSL_ARITHMETIC(NAME, -) MSL_ARITHMETIC(NAME, *) MSL_ARITHMETIC(NAME, /)    \
  MSL_COMPARISON(NAME, <) MSL_COMPARISON(NAME, >) MSL_COMPARISON(NAME, <=)                          \
  MSL_COMPARISON(NAME, >=) MSL_COMPARISON(NAME, ==) MSL_COMPARISON(NAME, !=)                        \
  inline constexpr NAME operator-(NAME a) {                                                                 \
    a.bits ^= 0x8000;                                                                               \
    return a;                                                                                       \
  }                                                                                                 \
  inline NAME operator+(NAME a) { return a; }
MSL_SMALL_FLOAT(half, msl::float_of_half, msl::half_of_float)
MSL_SMALL_FLOAT(bfloat, msl::float_of_bfloat, msl::bfloat_of_float)
MSL_OPERATORS(half)
MSL_OPERATORS(bfloat)

inline half operator""h(long double value) { return half(float(value)); }
inline bfloat operator""bf(long double value) { return bfloat(float(value)); }

namespace msl {
template <typename T>
constexpr bool is_small_float = std::is_same<T, half>::value || std::is_same<T, bfloat>::value;
}
