// Metal's standard library as declarations for clang's C++ for OpenCL. Like Metal, it declares sets of overloads rather than templates
// (metal::max, metal::exp, simd_sum), so a call that is ambiguous in Metal is ambiguous here.
#pragma once
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#define device __global
#define constant __constant
#define threadgroup __local
#define thread __private
threadgroup void* strict_shared();  // the memory of a threadgroup
// Function specifiers in Metal, not names.
#define vertex __attribute__((annotate("vertex")))
#define fragment __attribute__((annotate("fragment")))
#define kernel __attribute__((annotate("kernel")))
// Keywords of OpenCL that are ordinary names in Metal.
#define local strict_name_local
#define global strict_name_global
#define generic strict_name_generic
#define pipe strict_name_pipe
#define read_only strict_name_read_only
#define write_only strict_name_write_only
#define read_write strict_name_read_write

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef signed char int8_t;
typedef uchar uint8_t;
typedef short int16_t;
typedef ushort uint16_t;
typedef int int32_t;
typedef uint uint32_t;
typedef long int64_t;
typedef ulong uint64_t;
typedef ulong size_t;
typedef long ptrdiff_t;
// bfloat converts to float implicitly, but nothing converts to bfloat. double stands for it; the test finds implicit conversions in the
// syntax tree. sizeof(bfloat) is 8 here.
typedef double bfloat;
typedef bfloat bfloat16_t;
typedef half float16_t;

#define STRICT_VECTORS(type) \
  typedef type type##2 __attribute__((ext_vector_type(2))); \
  typedef type type##3 __attribute__((ext_vector_type(3))); \
  typedef type type##4 __attribute__((ext_vector_type(4)));
STRICT_VECTORS(char) STRICT_VECTORS(uchar) STRICT_VECTORS(short) STRICT_VECTORS(ushort) STRICT_VECTORS(int) STRICT_VECTORS(uint)
STRICT_VECTORS(long) STRICT_VECTORS(ulong) STRICT_VECTORS(half) STRICT_VECTORS(float) STRICT_VECTORS(bfloat)

// Constructors such as float2(x, y). compiler.py adds the prefix.
#define STRICT_MAKE(type) \
  type##2 strict_##type##2(type, type); type##2 strict_##type##2(type); \
  type##3 strict_##type##3(type, type, type); type##3 strict_##type##3(type); \
  type##4 strict_##type##4(type, type, type, type); type##4 strict_##type##4(type); type##4 strict_##type##4(type##2, type##2);
STRICT_MAKE(char) STRICT_MAKE(uchar) STRICT_MAKE(short) STRICT_MAKE(ushort) STRICT_MAKE(int) STRICT_MAKE(uint) STRICT_MAKE(long)
STRICT_MAKE(ulong) STRICT_MAKE(half) STRICT_MAKE(float) STRICT_MAKE(bfloat)
float2 strict_float2(int2); float2 strict_float2(uint2); float2 strict_float2(half2); float2 strict_float2(bfloat2);
float4 strict_float4(int4); float4 strict_float4(uint4); float4 strict_float4(half4); float4 strict_float4(bfloat4);
half2 strict_half2(float2); half4 strict_half4(float4); uint2 strict_uint2(uchar2); float4 strict_float4(uchar4);

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define MAXFLOAT 3.402823466e+38f
#define M_LOG2E_F 1.44269504088896340736f
#define M_LN2_F 0.693147180559945309417f
#define M_PI_F 3.14159265358979323846f
#define METAL_FUNC inline
#define __METAL__ 1

namespace metal {

#define STRICT_INTEGERS(of) of(char) of(uchar) of(short) of(ushort) of(int) of(uint) of(long) of(ulong)
#define STRICT_SMALL(of) of(char) of(uchar) of(short) of(ushort) of(int) of(uint)
#define STRICT_FLOATS(of) of(half) of(float) of(half2) of(half3) of(half4) of(float2) of(float3) of(float4)
#define STRICT_BFLOAT(of) of(bfloat)  // declared by MLX's bf16_math.h

#define STRICT_ONE(name) \
  half name(half); half2 name(half2); half3 name(half3); half4 name(half4); \
  float name(float); float2 name(float2); float3 name(float3); float4 name(float4); bfloat name(bfloat);
#define STRICT_TWO(name) \
  half name(half, half); half2 name(half2, half2); half4 name(half4, half4); \
  float name(float, float); float2 name(float2, float2); float4 name(float4, float4); bfloat name(bfloat, bfloat);
#define STRICT_MATHS \
  STRICT_ONE(acos) STRICT_ONE(acosh) STRICT_ONE(asin) STRICT_ONE(asinh) STRICT_ONE(atan) STRICT_ONE(atanh) STRICT_ONE(ceil) \
  STRICT_ONE(cos) STRICT_ONE(cosh) STRICT_ONE(cospi) STRICT_ONE(exp) STRICT_ONE(exp2) STRICT_ONE(exp10) STRICT_ONE(fabs) \
  STRICT_ONE(floor) STRICT_ONE(fract) STRICT_ONE(log) STRICT_ONE(log2) STRICT_ONE(log10) STRICT_ONE(rint) STRICT_ONE(round) \
  STRICT_ONE(rsqrt) STRICT_ONE(sin) STRICT_ONE(sinh) STRICT_ONE(sinpi) STRICT_ONE(sqrt) STRICT_ONE(tan) STRICT_ONE(tanh) \
  STRICT_ONE(trunc) STRICT_TWO(atan2) STRICT_TWO(divide) STRICT_TWO(fmod) STRICT_TWO(fmax) STRICT_TWO(fmin) STRICT_TWO(pow) \
  STRICT_TWO(powr) STRICT_TWO(max) STRICT_TWO(min) STRICT_ONE(abs)
STRICT_MATHS
namespace precise { STRICT_MATHS }
namespace fast { STRICT_MATHS }
#define STRICT_INTEGER(type) type max(type, type); type min(type, type); type abs(type); type clamp(type, type, type);
STRICT_INTEGERS(STRICT_INTEGER)
#define STRICT_THREE(type) type fma(type, type, type); type clamp(type, type, type); type mix(type, type, type);
STRICT_FLOATS(STRICT_THREE) STRICT_BFLOAT(STRICT_THREE)
bool isnan(float); bool isinf(float); bool isfinite(float); bool isnan(half);
float dot(float2, float2); float dot(float3, float3); float dot(float4, float4); half dot(half4, half4);
float select(float, float, bool); int select(int, int, bool); uint select(uint, uint, bool);
uint popcount(uint); uint clz(uint); uint ctz(uint); uint extract_bits(uint, uint, uint); uint rotate(uint, uint); uint mulhi(uint, uint);

// Simdgroup functions. Metal has none for 64-bit integers or bool.
#define STRICT_SIMD(type) \
  type simd_sum(type); type simd_product(type); type simd_min(type); type simd_max(type); \
  type simd_prefix_exclusive_sum(type); type simd_prefix_inclusive_sum(type); \
  type simd_shuffle(type, ushort); type simd_shuffle_xor(type, ushort); type simd_shuffle_up(type, ushort); \
  type simd_shuffle_down(type, ushort); type simd_broadcast(type, ushort); type simd_broadcast_first(type); \
  type quad_shuffle_xor(type, ushort); type quad_sum(type); type quad_max(type);
STRICT_SMALL(STRICT_SIMD) STRICT_FLOATS(STRICT_SIMD) STRICT_BFLOAT(STRICT_SIMD)
bool simd_any(bool); bool simd_all(bool); bool simd_is_first();
struct simd_vote { typedef ulong vote_t; explicit operator vote_t() const; bool all() const; bool any() const; };
simd_vote simd_ballot(bool);
uint simd_xor(uint); uint simd_or(uint); uint simd_and(uint);

enum class mem_flags { mem_none, mem_device, mem_threadgroup, mem_texture, mem_device_and_threadgroup };
void threadgroup_barrier(mem_flags);
void simdgroup_barrier(mem_flags);

template <typename T, int Cols, int Rows = Cols>
struct simdgroup_matrix {
  static_assert(Cols == 8 && Rows == 8, "simdgroup_matrix is 8 x 8");
  simdgroup_matrix() = default;
  explicit simdgroup_matrix(T);
  thread T (&thread_elements() thread)[2];
  T strict_storage[2];
};
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;
template <typename T, int Cols, int Rows> simdgroup_matrix<T, Cols, Rows> make_filled_simdgroup_matrix(T);
template <typename T, int C, int R>
void simdgroup_load(thread simdgroup_matrix<T, C, R>&, const device T*, ulong = C, ulong2 = ulong2{}, bool = false);
template <typename T, int C, int R>
void simdgroup_load(thread simdgroup_matrix<T, C, R>&, const threadgroup T*, ulong = C, ulong2 = ulong2{}, bool = false);
template <typename T, int C, int R>
void simdgroup_store(simdgroup_matrix<T, C, R>, device T*, ulong = C, ulong2 = ulong2{}, bool = false);
template <typename T, int C, int R>
void simdgroup_store(simdgroup_matrix<T, C, R>, threadgroup T*, ulong = C, ulong2 = ulong2{}, bool = false);
template <typename D, typename A, typename B, typename S>
void simdgroup_multiply_accumulate(
    thread simdgroup_matrix<D, 8, 8>&, thread simdgroup_matrix<A, 8, 8>&, thread simdgroup_matrix<B, 8, 8>&,
    thread simdgroup_matrix<S, 8, 8>&);
template <typename D, typename A, typename B>
void simdgroup_multiply(thread simdgroup_matrix<D, 8, 8>&, thread simdgroup_matrix<A, 8, 8>&, thread simdgroup_matrix<B, 8, 8>&);

// Types in metal::. MLX opens the namespace, so a global function of the same name is ambiguous. `decay` and the other traits are taken
// from the C++ standard, which <metal_type_traits> follows.
struct bias { explicit bias(float); };
struct level { explicit level(float); };
struct min_lod_clamp { explicit min_lod_clamp(float); };
template <typename T, int N> struct array;
template <typename T> struct uniform;
template <typename T, int N> using vec = T __attribute__((ext_vector_type(N)));
template <typename T> struct atomic;
struct sampler;
template <typename T> struct decay { typedef T type; };
template <typename T> struct rank;
template <typename T> struct extent;
template <bool B, typename T, typename F> struct conditional { typedef T type; };
template <typename T, typename F> struct conditional<false, T, F> { typedef F type; };
template <bool B, typename T, typename F> using conditional_t = typename conditional<B, T, F>::type;
template <typename T, typename U> constexpr constant bool is_same_v = false;
template <typename T> constexpr constant bool is_same_v<T, T> = true;
enum memory_order { memory_order_relaxed };
enum class access { read, write, read_write, sample };
template <typename T> struct numeric_limits {
  static constexpr T max() { return T(0); }
  static constexpr T min() { return T(0); }
  static constexpr T infinity() { return T(INFINITY); }
  static constexpr T lowest() { return T(0); }
};

}  // namespace metal

template <typename To, typename From> To as_type(From);

// From MLX's utils.h, which MLX puts before every kernel: what is used or can clash.
using namespace metal;
#define MLX_MTL_PRAGMA_UNROLL _Pragma("clang loop unroll(full)")
#define MTL_CONST constant
template <typename U> struct Limits {
  static constexpr U max() { return U(0); }
};
template <typename T, typename U> inline T ceildiv(T N, U M) { return (N + M - 1) / M; }
struct complex64_t { float real; float imag; };
float log1p(float x);
bfloat16_t log1p(bfloat16_t x);
template <bool condition, typename T, typename U> struct ConditionalType { using type = U; };
template <typename T, typename U> struct ConditionalType<true, T, U> { using type = T; };
uint64_t simd_shuffle_down(uint64_t data, uint16_t delta);
bool simd_shuffle_down(bool data, uint16_t delta);
