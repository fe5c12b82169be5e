// Barriers, simdgroup operations and simdgroup matrices. All threads of a simdgroup wait for each other at each of them.
#pragma once
#include "threads.h"

namespace metal {
enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2, mem_texture = 4 };
inline mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(int(a) | int(b)); }

inline void threadgroup_barrier(mem_flags flags, MSL_SITE) {
  msl::current->argument = int(flags);
  msl::wait(msl::State::barrier, "threadgroup_barrier", file, line);
}
inline void simdgroup_barrier(mem_flags flags, MSL_SITE) {
  msl::current->argument = int(flags);
  msl::wait(msl::State::simd_barrier, "simdgroup_barrier", file, line);
}

// ---- reductions
template <typename T, typename Op>
inline void reduce(msl::Thread** lanes, int count) {
  T all = msl::given<T>(lanes[0]);
  for (int i = 1; i < count; i++) all = Op()(all, msl::given<T>(lanes[i]));
  for (int i = 0; i < count; i++) msl::result<T>(lanes[i]) = all;
}
// MSL doesn't specify the order of a sum. This is the ascending butterfly that Apple's GPUs are known to use.
template <typename T, typename Op>
inline void butterfly(msl::Thread** lanes, int count) {
  T value[msl::SIMD];
  bool there[msl::SIMD] = {};
  for (int i = 0; i < count; i++) {
    value[lanes[i]->lane] = msl::given<T>(lanes[i]);
    there[lanes[i]->lane] = true;
  }
  for (int step = 1; step < msl::SIMD; step *= 2)
    for (int i = 0; i < msl::SIMD; i++) {
      const int other = i ^ step;
      if (i > other) continue;
      if (there[i] && there[other]) value[i] = value[other] = Op()(value[i], value[other]);
      else if (there[other]) value[i] = value[other];
      else if (there[i]) value[other] = value[i];
      there[i] = there[other] = there[i] || there[other];
    }
  for (int i = 0; i < count; i++) msl::result<T>(lanes[i]) = value[lanes[i]->lane];
}
#define MSL_REDUCTION(NAME, HOW, ...)                                                               \
  struct NAME##_of_two {                                                                            \
    template <typename T>                                                                           \
    T operator()(T a, T b) { return __VA_ARGS__; }                                                  \
  };                                                                                                \
  template <typename T>                                                                             \
  inline T NAME(T value, MSL_SITE) {                                                                \
    return msl::exchange<T, T>(#NAME, value, 0, HOW<T, NAME##_of_two>, file, line);                 \
  }
MSL_REDUCTION(simd_sum, butterfly, T(a + b))
MSL_REDUCTION(simd_product, butterfly, T(a * b))
MSL_REDUCTION(simd_max, reduce, a < b ? b : a)
MSL_REDUCTION(simd_min, reduce, b < a ? b : a)
MSL_REDUCTION(simd_or, reduce, a | b)
MSL_REDUCTION(simd_and, reduce, a & b)
MSL_REDUCTION(simd_xor, reduce, a ^ b)

template <typename T>
inline void inclusive_sums(msl::Thread** lanes, int count) {
  T sum = T(0);
  for (int i = 0; i < count; i++) msl::result<T>(lanes[i]) = sum = sum + msl::given<T>(lanes[i]);
}
template <typename T>
inline void exclusive_sums(msl::Thread** lanes, int count) {
  T sum = T(0);
  for (int i = 0; i < count; i++) {
    const T value = msl::given<T>(lanes[i]);
    msl::result<T>(lanes[i]) = sum;
    sum = sum + value;
  }
}
template <typename T>
inline T simd_prefix_inclusive_sum(T value, MSL_SITE) {
  return msl::exchange<T, T>("simd_prefix_inclusive_sum", value, 0, inclusive_sums<T>, file, line);
}
template <typename T>
inline T simd_prefix_exclusive_sum(T value, MSL_SITE) {
  return msl::exchange<T, T>("simd_prefix_exclusive_sum", value, 0, exclusive_sums<T>, file, line);
}
template <typename T>
inline void quad_sums(msl::Thread** lanes, int count) {
  for (int i = 0; i < count; i++) {
    T sum = T(0);
    for (int j = 0; j < count; j++)
      if (lanes[j]->lane / 4 == lanes[i]->lane / 4) sum = sum + msl::given<T>(lanes[j]);
    msl::result<T>(lanes[i]) = sum;
  }
}
template <typename T>
inline T quad_sum(T value, MSL_SITE) { return msl::exchange<T, T>("quad_sum", value, 0, quad_sums<T>, file, line); }

// ---- votes
struct simd_vote {
  uint64_t bits;
  explicit operator uint64_t() const { return bits; }
};
inline void ballot(msl::Thread** lanes, int count) {
  uint64_t bits = 0;
  for (int i = 0; i < count; i++) bits |= uint64_t(msl::given<bool>(lanes[i])) << lanes[i]->lane;
  for (int i = 0; i < count; i++) msl::result<uint64_t>(lanes[i]) = bits;
}
inline simd_vote simd_ballot(bool value, MSL_SITE) {
  return {msl::exchange<bool, uint64_t>("simd_ballot", value, 0, ballot, file, line)};
}
inline bool simd_any(bool value, MSL_SITE) {
  return msl::exchange<bool, uint64_t>("simd_any", value, 0, ballot, file, line) != 0;
}
inline bool simd_all(bool value, MSL_SITE) {
  return msl::exchange<bool, uint64_t>("simd_all", !value, 0, ballot, file, line) == 0;
}

// ---- shuffles
template <typename T>
inline void fetch(msl::Thread** lanes, int count) {
  const T* source[msl::SIMD] = {};
  for (int i = 0; i < count; i++) source[lanes[i]->lane] = &msl::given<T>(lanes[i]);
  for (int i = 0; i < count; i++) {
    const int from = lanes[i]->argument;
    if (from < 0 || from >= msl::SIMD || !source[from])
      msl::fail("%s:%d: %s reads lane %d, which does not exist", lanes[i]->file, lanes[i]->line, lanes[i]->operation, from);
    msl::result<T>(lanes[i]) = *source[from];
  }
}
template <typename T>
inline void fetch_first(msl::Thread** lanes, int count) {
  for (int i = 0; i < count; i++) msl::result<T>(lanes[i]) = msl::given<T>(lanes[0]);
}
#define MSL_SHUFFLE(NAME, FROM)                                                                     \
  template <typename T>                                                                             \
  inline T NAME(T value, ushort by, MSL_SITE) {                                                     \
    const int lane = msl::current->lane;                                                            \
    return msl::exchange<T, T>(#NAME, value, FROM, fetch<T>, file, line);                           \
  }
MSL_SHUFFLE(simd_shuffle, by)
MSL_SHUFFLE(simd_broadcast, by)
MSL_SHUFFLE(simd_shuffle_xor, lane ^ by)
// Past the end, a lane keeps its own value. MSL leaves the result undefined there, so a kernel must not use it.
MSL_SHUFFLE(simd_shuffle_down, lane + by < msl::SIMD ? lane + by : lane)
MSL_SHUFFLE(simd_shuffle_up, lane >= int(by) ? lane - by : lane)
MSL_SHUFFLE(simd_shuffle_rotate_down, (lane + by) % msl::SIMD)
MSL_SHUFFLE(simd_shuffle_rotate_up, (lane + msl::SIMD - by % msl::SIMD) % msl::SIMD)
MSL_SHUFFLE(quad_shuffle_xor, (lane & ~3) | ((lane ^ by) & 3))
MSL_SHUFFLE(quad_broadcast, (lane & ~3) | (by & 3))
template <typename T>
inline T simd_broadcast_first(T value, MSL_SITE) {
  return msl::exchange<T, T>("simd_broadcast_first", value, 0, fetch_first<T>, file, line);
}
template <typename T>
inline T simd_shuffle_and_fill_down(T value, T filling, ushort by, MSL_SITE) {
  const int lane = msl::current->lane, from = lane + by;
  const T moved = msl::exchange<T, T>("simd_shuffle_and_fill_down", value, from < msl::SIMD ? from : lane, fetch<T>, file, line);
  return from < msl::SIMD ? moved : filling;
}
template <typename T>
inline T simd_shuffle_and_fill_up(T value, T filling, ushort by, MSL_SITE) {
  const int lane = msl::current->lane, from = lane - by;
  const T moved = msl::exchange<T, T>("simd_shuffle_and_fill_up", value, from >= 0 ? from : lane, fetch<T>, file, line);
  return from >= 0 ? moved : filling;
}

// ---- 8x8 matrices, two elements per lane, in Apple's layout (also used by mlx/backend/metal/kernels/steel/gemm/mma.h)
struct Corner {
  int row, column;
};
inline Corner corner(uint lane) {
  const int quad = lane / 4;
  return {(quad & 4) + int(lane / 2) % 4, (quad & 2) * 2 + int(lane % 2) * 2};
}
template <typename T, int R, int C>
struct simdgroup_matrix {
  static_assert(R == 8 && C == 8, "Metal has 8x8 matrices only");
  typedef vec<T, 2> storage_type;
  storage_type e;
  simdgroup_matrix() = default;
  explicit simdgroup_matrix(T diagonal) {
    const Corner at = corner(msl::current->lane);
    e[0] = at.row == at.column ? diagonal : T(0);
    e[1] = at.row == at.column + 1 ? diagonal : T(0);
  }
  storage_type& thread_elements() { return e; }
  const storage_type& thread_elements() const { return e; }
};
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;

template <typename T, int R = 8, int C = R>
inline simdgroup_matrix<T, R, C> make_filled_simdgroup_matrix(T value) {
  simdgroup_matrix<T, R, C> m;
  m.e[0] = m.e[1] = value;
  return m;
}
template <typename T, typename P>
inline __attribute__((always_inline)) void simdgroup_load(
    simdgroup_matrix<T, 8, 8>& m, const P* p, ulong stride = 8, vec<ulong, 2> origin = vec<ulong, 2>(0, 0), bool transposed = false) {
  const Corner at = corner(msl::current->lane);
  for (int k = 0; k < 2; k++) {
    const ulong row = transposed ? at.column + k : at.row, column = transposed ? at.row : at.column + k;
    m.e[k] = T(p[(origin[1] + row) * stride + origin[0] + column]);
  }
}
template <typename T, typename P>
inline __attribute__((always_inline)) void simdgroup_store(
    const simdgroup_matrix<T, 8, 8>& m, P* p, ulong stride = 8, vec<ulong, 2> origin = vec<ulong, 2>(0, 0), bool transposed = false) {
  const Corner at = corner(msl::current->lane);
  for (int k = 0; k < 2; k++) {
    const ulong row = transposed ? at.column + k : at.row, column = transposed ? at.row : at.column + k;
    p[(origin[1] + row) * stride + origin[0] + column] = P(m.e[k]);
  }
}
template <typename T>
inline void gather_matrix(msl::Thread** lanes, int operand, float (&full)[8][8]) {
  for (int i = 0; i < msl::SIMD; i++) {
    const Corner at = corner(lanes[i]->lane);
    auto m = static_cast<const simdgroup_matrix<T, 8, 8>*>(lanes[i]->operands[operand]);
    for (int k = 0; k < 2; k++) full[at.row][at.column + k] = float(m->e[k]);
  }
}
template <typename D, typename A, typename B, typename C>
inline void multiply_matrices(msl::Thread** lanes, int count) {
  if (count != msl::SIMD) msl::fail("%s:%d: a simdgroup matrix needs 32 threads", lanes[0]->file, lanes[0]->line);
  float a[8][8], b[8][8], c[8][8] = {};
  gather_matrix<A>(lanes, 0, a);
  gather_matrix<B>(lanes, 1, b);
  if (lanes[0]->operands[2]) gather_matrix<C>(lanes, 2, c);
  for (int row = 0; row < 8; row++)
    for (int k = 0; k < 8; k++)
      for (int column = 0; column < 8; column++) c[row][column] += a[row][k] * b[k][column];
  for (int i = 0; i < msl::SIMD; i++) {
    const Corner at = corner(lanes[i]->lane);
    auto& d = msl::result<simdgroup_matrix<D, 8, 8>>(lanes[i]);
    for (int k = 0; k < 2; k++) d.e[k] = D(c[at.row][at.column + k]);
  }
}
template <typename D, typename A, typename B, typename C>
inline void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8>& d, const simdgroup_matrix<A, 8, 8>& a,
    const simdgroup_matrix<B, 8, 8>& b, const simdgroup_matrix<C, 8, 8>& c, MSL_SITE) {
  simdgroup_matrix<D, 8, 8> product;
  msl::Thread* t = msl::current;
  t->operands[0] = &a, t->operands[1] = &b, t->operands[2] = &c, t->out = &product;
  t->combine = multiply_matrices<D, A, B, C>;
  msl::wait(msl::State::simd_operation, "simdgroup_multiply_accumulate", file, line);
  d = product;
}
template <typename D, typename A, typename B>
inline void simdgroup_multiply(simdgroup_matrix<D, 8, 8>& d, const simdgroup_matrix<A, 8, 8>& a,
    const simdgroup_matrix<B, 8, 8>& b, MSL_SITE) {
  simdgroup_matrix<D, 8, 8> product;
  msl::Thread* t = msl::current;
  t->operands[0] = &a, t->operands[1] = &b, t->operands[2] = nullptr, t->out = &product;
  t->combine = multiply_matrices<D, A, B, float>;
  msl::wait(msl::State::simd_operation, "simdgroup_multiply", file, line);
  d = product;
}
}  // namespace metal
