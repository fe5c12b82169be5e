// Metal's math functions, implemented by the C library's float functions. half and bfloat are computed in float and rounded once.
#pragma once
#include "vectors.h"

// Metal's constants. Those of C are double.
#define M_E_F 2.71828182845904523536f
#define M_LOG2E_F 1.44269504088896340736f
#define M_LN2_F 0.693147180559945309417f
#define M_PI_F 3.14159265358979323846f

namespace metal {
#define MSL_FUNCTION(NAME, ...)                                                                     \
  template <typename T>                                                                             \
  inline auto NAME(T given) {                                                                       \
    const float x = float(given);                                                                   \
    if constexpr (msl::is_small_float<T>) return T(__VA_ARGS__);                                    \
    else return __VA_ARGS__;                                                                        \
  }
#define MSL_FUNCTIONS                                                                               \
  MSL_FUNCTION(exp, ::expf(x)) MSL_FUNCTION(exp2, ::exp2f(x)) MSL_FUNCTION(exp10, ::powf(10.0f, x)) \
  MSL_FUNCTION(log, ::logf(x)) MSL_FUNCTION(log2, ::log2f(x)) MSL_FUNCTION(log10, ::log10f(x))      \
  MSL_FUNCTION(sqrt, ::sqrtf(x)) MSL_FUNCTION(rsqrt, 1.0f / ::sqrtf(x)) MSL_FUNCTION(sin, ::sinf(x)) \
  MSL_FUNCTION(cos, ::cosf(x)) MSL_FUNCTION(tan, ::tanf(x)) MSL_FUNCTION(asin, ::asinf(x))          \
  MSL_FUNCTION(acos, ::acosf(x)) MSL_FUNCTION(atan, ::atanf(x)) MSL_FUNCTION(sinh, ::sinhf(x))      \
  MSL_FUNCTION(cosh, ::coshf(x)) MSL_FUNCTION(tanh, ::tanhf(x)) MSL_FUNCTION(asinh, ::asinhf(x))    \
  MSL_FUNCTION(acosh, ::acoshf(x)) MSL_FUNCTION(atanh, ::atanhf(x)) MSL_FUNCTION(floor, ::floorf(x)) \
  MSL_FUNCTION(ceil, ::ceilf(x)) MSL_FUNCTION(rint, ::rintf(x)) MSL_FUNCTION(round, ::roundf(x))    \
  MSL_FUNCTION(trunc, ::truncf(x)) MSL_FUNCTION(fabs, ::fabsf(x))
MSL_FUNCTIONS
namespace precise {
MSL_FUNCTIONS
}
namespace fast {
MSL_FUNCTIONS
}
inline float pow(float a, float b) { return ::powf(a, b); }
inline float powr(float a, float b) { return ::powf(a, b); }
inline float atan2(float a, float b) { return ::atan2f(a, b); }
inline float fmod(float a, float b) { return ::fmodf(a, b); }
inline float fma(float a, float b, float c) { return ::fmaf(a, b, c); }
template <typename T, int N>
inline vec<T, N> fma(vec<T, N> a, vec<T, N> b, vec<T, N> c) {
  for (int i = 0; i < N; i++) c[i] = fma(a[i], b[i], c[i]);
  return c;
}
inline float fmax(float a, float b) { return ::fmaxf(a, b); }
inline float fmin(float a, float b) { return ::fminf(a, b); }
inline float copysign(float a, float b) { return ::copysignf(a, b); }
inline bool isnan(float x) { return x != x; }
inline bool isinf(float x) { return std::isinf(x); }
inline bool isfinite(float x) { return std::isfinite(x); }

template <typename T>
inline T abs(T a) { return a < T(0) ? T(-a) : a; }
template <bool small, typename T, typename U>
struct promoted { typedef std::common_type_t<T, U> type; };
template <typename T, typename U>
struct promoted<true, T, U> {
  typedef std::conditional_t<std::is_same<T, U>::value || std::is_integral<U>::value, T,
      std::conditional_t<std::is_integral<T>::value, U, float>> type;
};
template <typename T, typename U>
using promoted_t = typename promoted<msl::is_small_float<T> || msl::is_small_float<U>, T, U>::type;
template <typename T, typename U>
inline promoted_t<T, U> max(T a, U b) {
  typedef promoted_t<T, U> R;
  return R(a) < R(b) ? R(b) : R(a);
}
template <typename T, typename U>
inline promoted_t<T, U> min(T a, U b) {
  typedef promoted_t<T, U> R;
  return R(b) < R(a) ? R(b) : R(a);
}
template <typename T>
inline T clamp(T x, T low, T high) { return min(max(x, low), high); }
template <typename T>
inline T select(T no, T yes, bool which) { return which ? yes : no; }

template <typename T>
inline T popcount(T x) { return T(__builtin_popcountll(std::make_unsigned_t<T>(x))); }
template <typename T>
inline T ctz(T x) { return x ? T(__builtin_ctzll(std::make_unsigned_t<T>(x))) : T(sizeof(T) * 8); }
template <typename T>
inline T clz(T x) { return x ? T(__builtin_clzll(std::make_unsigned_t<T>(x)) - (64 - sizeof(T) * 8)) : T(sizeof(T) * 8); }
template <typename T>
inline T rotate(T x, T by) {
  constexpr int bits = sizeof(T) * 8;
  return T(x << (by % bits)) | T(x >> ((bits - by % bits) % bits));
}
template <typename T>
inline T mulhi(T a, T b) {
  if constexpr (sizeof(T) == 8) return T((__int128(a) * b) >> 64);
  else return T((int64_t(a) * int64_t(b)) >> (sizeof(T) * 8));
}
template <>
inline uint mulhi<uint>(uint a, uint b) { return uint((uint64_t(a) * b) >> 32); }

template <typename T>
struct numeric_limits : std::numeric_limits<T> {};
#define MSL_LIMITS(NAME, INFINITE, LARGEST, QUIET)                                                  \
  template <>                                                                                       \
  struct numeric_limits<NAME> {                                                                     \
    static constexpr NAME of(uint16_t bits) {                                                                 \
      NAME value{};                                                                                 \
      value.bits = bits;                                                                            \
      return value;                                                                                 \
    }                                                                                               \
    static constexpr NAME infinity() { return of(INFINITE); }                                                 \
    static constexpr NAME max() { return of(LARGEST); }                                                       \
    static constexpr NAME lowest() { return of(LARGEST | 0x8000); }                                           \
    static constexpr NAME quiet_NaN() { return of(QUIET); }                                                   \
  };
MSL_LIMITS(half, 0x7c00, 0x7bff, 0x7e00)
MSL_LIMITS(bfloat, 0x7f80, 0x7f7f, 0x7fc0)

using std::conditional_t;
using std::enable_if;
using std::enable_if_t;
using std::integral_constant;
using std::is_same;
using std::is_same_v;
template <typename T>
struct is_floating_point : std::integral_constant<bool, std::is_floating_point<T>::value || msl::is_small_float<T>> {};
template <typename T>
constexpr bool is_floating_point_v = is_floating_point<T>::value;
}  // namespace metal

template <typename R, typename S>
inline R as_type(S given) {
  static_assert(sizeof(R) == sizeof(S), "as_type requires types of the same size");
  R r;
  std::memcpy(static_cast<void*>(&r), &given, sizeof r);
  return r;
}
#ifndef INFINITY
#define INFINITY __builtin_inff()
#endif
