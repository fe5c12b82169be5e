// Access to the elements of a simdgroup's 8 x 8 matrices.
//
// Each of the 32 lanes holds two adjacent elements of one row. The layout is the same on every Apple GPU, and MLX's own matrix
// kernels rely on it (mlx/backend/metal/kernels/steel/gemm/mma.h). As in MLX, operands are float for all input types: nothing is
// rounded before the sum, and 16-bit operands would not be faster.

// Unrolls a loop over an array that must stay in registers: a variable index would move the array to memory.
#define UNROLL _Pragma("clang loop unroll(full)")

typedef metal::simdgroup_matrix<float, 8, 8> Fragment;

inline uint fragment_row(uint lane) { return lane / 16 * 4 + lane / 2 % 4; }

// Returns the first of the lane's two columns.
inline uint fragment_column(uint lane) { return lane / 8 % 2 * 4 + lane % 2 * 2; }

inline thread float2& elements(thread Fragment& matrix) { return reinterpret_cast<thread float2&>(matrix.thread_elements()); }

// sum += a * b
inline void multiply_add(thread Fragment& sum, float2 a, float2 b) {
  Fragment left, right;
  elements(left) = a;
  elements(right) = b;
  metal::simdgroup_multiply_accumulate(sum, left, right, sum);
}

// Converts N elements to float, loaded as vectors of SIZE elements.
template <int SIZE, typename P, int N>
inline void load_floats(P vectors, thread float (&to)[N]) {
  UNROLL for (int i = 0; i < N; i += SIZE) {
    const auto loaded = vectors[i / SIZE];
    UNROLL for (int e = 0; e < SIZE; ++e) to[i + e] = float(loaded[e]);
  }
}
