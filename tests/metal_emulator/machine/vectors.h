// Metal's vectors: storage, the swizzles that kernels use, element-wise operators.
#pragma once
#include "scalars.h"

namespace metal {
template <typename T, int N>
struct vec {  // Metal's compiler also accepts sizes other than 2, 3 and 4
  T d[N];
  vec() = default;
  vec(T a) {
    for (int i = 0; i < N; i++) d[i] = a;
  }
  T& operator[](int i) { return d[i]; }
  T operator[](int i) const { return d[i]; }
};

template <typename T, int N, int... I>
struct swizzle {  // shares its storage with the vector it belongs to
  T d[N];
  operator vec<T, sizeof...(I)>() const { return vec<T, sizeof...(I)>(d[I]...); }
  swizzle& operator=(const vec<T, sizeof...(I)>& v) {
    int k = 0;
    ((d[I] = v[k++]), ...);
    return *this;
  }
};

template <typename T>
struct vec<T, 2> {
  union {
    T d[2];
    struct { T x, y; };
    struct { T r, g; };
    swizzle<T, 2, 0, 1> xy;
    swizzle<T, 2, 1, 0> yx;
  };
  vec() = default;
  vec(T a) : d{a, a} {}
  vec(T a, T b) : d{a, b} {}
  template <typename U>
  explicit vec(const vec<U, 2>& o) : d{T(o[0]), T(o[1])} {}
  T& operator[](int i) { return d[i]; }
  T operator[](int i) const { return d[i]; }
};
template <typename T>
struct vec<T, 3> {
  union {
    T d[4];  // the size of a vector of 4
    struct { T x, y, z; };
    swizzle<T, 4, 0, 1> xy;
    swizzle<T, 4, 1, 2> yz;
  };
  vec() = default;
  vec(T a) : d{a, a, a, T(0)} {}
  vec(T a, T b, T c) : d{a, b, c, T(0)} {}
  vec(vec<T, 2> ab, T c) : d{ab[0], ab[1], c, T(0)} {}
  template <typename U>
  explicit vec(const vec<U, 3>& o) : d{T(o[0]), T(o[1]), T(o[2]), T(0)} {}
  T& operator[](int i) { return d[i]; }
  T operator[](int i) const { return d[i]; }
};
template <typename T>
struct vec<T, 4> {
  union {
    T d[4];
    struct { T x, y, z, w; };
    swizzle<T, 4, 0, 1> xy;
    swizzle<T, 4, 2, 3> zw;
    swizzle<T, 4, 0, 1, 2> xyz;
  };
  vec() = default;
  vec(T a) : d{a, a, a, a} {}
  vec(T a, T b, T c, T e) : d{a, b, c, e} {}
  vec(vec<T, 2> ab, vec<T, 2> ce) : d{ab[0], ab[1], ce[0], ce[1]} {}
  template <typename U>
  explicit vec(const vec<U, 4>& o) : d{T(o[0]), T(o[1]), T(o[2]), T(o[3])} {}
  T& operator[](int i) { return d[i]; }
  T operator[](int i) const { return d[i]; }
};

#define MSL_VECTOR_OPERATOR(OP)                                                                                   \
  template <typename T, int N>                                                                                    \
  inline vec<T, N> operator OP(const vec<T, N>& a, const vec<T, N>& b) {                                          \
    vec<T, N> r;                                                                                                  \
    for (int i = 0; i < N; i++) r[i] = a[i] OP b[i];                                                              \
    return r;                                                                                                     \
  }                                                                                                               \
  template <typename T, int N, typename S, typename = std::enable_if_t<std::is_arithmetic<S>::value || std::is_same<S, T>::value>> \
  inline vec<T, N> operator OP(const vec<T, N>& a, S b) { return a OP vec<T, N>(T(b)); }                          \
  template <typename T, int N, typename S, typename = std::enable_if_t<std::is_arithmetic<S>::value || std::is_same<S, T>::value>> \
  inline vec<T, N> operator OP(S a, const vec<T, N>& b) { return vec<T, N>(T(a)) OP b; }                          \
  template <typename T, int N, typename S>                                                                        \
  inline vec<T, N>& operator OP##=(vec<T, N>& a, const S& b) { return a = a OP b; }
MSL_VECTOR_OPERATOR(+) MSL_VECTOR_OPERATOR(-) MSL_VECTOR_OPERATOR(*) MSL_VECTOR_OPERATOR(/)
template <typename T, int N>
inline T dot(vec<T, N> a, vec<T, N> b) {
  T sum = a[0] * b[0];
  for (int i = 1; i < N; i++) sum = sum + a[i] * b[i];
  return sum;
}
}  // namespace metal

#define MSL_VECTORS(T)                                                                              \
  typedef metal::vec<T, 2> T##2, packed_##T##2;                                                     \
  typedef metal::vec<T, 3> T##3;                                                                    \
  typedef metal::vec<T, 4> T##4, packed_##T##4;
MSL_VECTORS(bool) MSL_VECTORS(char) MSL_VECTORS(uchar) MSL_VECTORS(short) MSL_VECTORS(ushort) MSL_VECTORS(int)
MSL_VECTORS(uint) MSL_VECTORS(long) MSL_VECTORS(ulong) MSL_VECTORS(half) MSL_VECTORS(bfloat) MSL_VECTORS(float)
