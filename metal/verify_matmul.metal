// Matrix product for a verify pass: y[m, n] = sum over k of x[m, k] * W[n, k]. For up to 16 rows m, W is read once.
//
// A threadgroup computes 8 * COLUMNS columns of y for 8 * TILES rows. For more than 16 rows, neighboring threadgroups compute the same
// columns for other rows, so that they find W in a cache. A threadgroup's SPLIT simdgroups split the sum over k: each takes every
// SPLIT-th block of 8 * STEPS consecutive k. Together they read contiguous parts of W's rows, without a barrier until their sums
// are added.
//
// A product of fragments sums over 8 values of k in any order, so the order is chosen for the loads: step s multiplies
// k = STEPS * i + s for i = 0..7. A lane then needs 2 * STEPS consecutive elements of one row of W and STEPS of each of two rows
// of x. It loads them directly, without threadgroup memory.
//
// A row of y doesn't depend on the other rows, their number, or its place: a pass over one row gives the same bits. It may be
// compiled for another number of rows, so every product that is added to is an explicit fma: the compiler has no choice.
//
// The kernel can include the steps that follow the product in a layer. GATED: the first half of W's rows are gates, and y has half
// the columns, silu(gate) * other. A threadgroup then handles its gates and the matching rows in the second half of W. RESIDUAL: the
// product is added to the residual.

// Returns W's row for fragment j of a threadgroup whose columns of y start at `first`, out of `outputs`.
template <int COLUMNS, bool GATED>
inline uint weight_row(uint first, int j, uint outputs, uint lane) {
  constexpr int OWN = GATED ? COLUMNS / 2 : COLUMNS;
  return (j < OWN ? 0 : outputs) + metal::min(first + 8 * (j % OWN) + fragment_row(lane), outputs - 1);
}

// Loads N elements of a row. If not WHOLE, only `left` of them exist, and the others are zero.
template <bool WHOLE, typename T, int N>
inline void load_run(const device T* from, int left, thread float (&run)[N]) {
  if (WHOLE) load_floats<4>(reinterpret_cast<const device metal::vec<T, 4>*>(from), run);
  else UNROLL for (int i = 0; i < N; ++i) run[i] = i < left ? float(from[i]) : 0.0f;
}

// Loads one block of x as right-hand operands. Rows that don't exist repeat the last one; their results are never stored.
template <bool WHOLE, int TILES, int STEPS, typename T>
inline void load_rows(
    const device T* x, uint first_row, uint rows, uint stride, int left, uint lane, thread float2 (&run)[TILES][STEPS]) {
  const int own = STEPS * fragment_row(lane);
  UNROLL for (int tile = 0; tile < TILES; ++tile)
    UNROLL for (uint e = 0; e < 2; ++e) {
      const uint m = metal::min(first_row + 8 * tile + fragment_column(lane) + e, rows - 1);
      float row[STEPS];
      load_run<WHOLE>(x + m * stride + own, left - own, row);
      UNROLL for (int s = 0; s < STEPS; ++s) run[tile][s][e] = row[s];
    }
}

template <int SPLIT, uint SIZE>
inline float total(threadgroup float* sums, uint at) {
  float all = 0.0f;
  for (uint part = 0; part < SPLIT; ++part) all += sums[part * SIZE + at];
  return all;
}

// Adds the simdgroups' sums in a fixed order, applies GATED and RESIDUAL, and rounds once to T.
template <typename T, bool GATED, bool RESIDUAL, int SPLIT, int TILES, int COLUMNS, typename R>
inline void add_and_store(
    thread float2 (&sum)[TILES][COLUMNS],
    threadgroup float* sums,  // [SPLIT, 8 * TILES, 8 * COLUMNS + 4]
    R residual,               // [rows, outputs] T, if RESIDUAL
    device T* y,              // [rows, outputs]
    uint first_row, uint rows, uint outputs, uint first, uint simdgroup, uint lane) {
  // Rows are 4 elements longer than needed, so that the 32 lanes store to 32 different banks.
  constexpr uint WIDTH = 8 * COLUMNS, STRIDE = WIDTH + 4, SIZE = 8 * TILES * STRIDE, OWN = GATED ? WIDTH / 2 : WIDTH;
  UNROLL for (int tile = 0; tile < TILES; ++tile)
    UNROLL for (int j = 0; j < COLUMNS; ++j)
      UNROLL for (uint e = 0; e < 2; ++e)
        sums[simdgroup * SIZE + (8 * tile + fragment_column(lane) + e) * STRIDE + 8 * j + fragment_row(lane)] = sum[tile][j][e];
  metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);
  for (uint own = 32 * simdgroup + lane; own < 8 * TILES * OWN; own += 32 * SPLIT) {
    const uint m = first_row + own / OWN, n = first + own % OWN, at = own / OWN * STRIDE + own % OWN;
    if (m >= rows || n >= outputs) continue;
    const float added = RESIDUAL ? float(residual[size_t(m) * outputs + n]) : 0.0f;
    float result = total<SPLIT, SIZE>(sums, at);
    if (GATED) result = metal::fma(result / (1.0f + metal::precise::exp(-result)), total<SPLIT, SIZE>(sums, at + OWN), added);
    else if (RESIDUAL) result += added;
    y[size_t(m) * outputs + n] = T(result);
  }
}

// Affine weights: W[n, k] = scale * q + bias, with one scale and bias per GROUP of consecutive k, and q of BITS (4 or 8) bits.
//
// Multiplies x by q, which is exact in float, and applies scale and bias once per block, as MLX does for one row. That is faster
// and more accurate than dequantizing every weight.
template <
    typename T, int BITS, int GROUP, bool GATED, bool RESIDUAL, int TILES, int COLUMNS, int SPLIT, typename W, typename S,
    typename R>
inline void verify_matmul_affine(
    const device T* x,          // [rows, depth]
    W weight,                   // [columns, depth * BITS / 32] uint32, first q in the lowest bits
    S scales, S biases,         // [columns, depth / GROUP] T
    R residual,                 // [rows, outputs] T, if RESIDUAL
    device T* y,                // [rows, outputs]: outputs = columns, or half of that if GATED
    threadgroup float* sums,    // [SPLIT, 8 * TILES, 8 * COLUMNS + 4]
    uint rows, uint columns, uint depth, uint threadgroup_index, uint simdgroup, uint lane) {
  constexpr int STEPS = (GROUP < 64 ? GROUP : 64) / 8, BLOCK = 8 * STEPS, WORDS = 2 * STEPS * BITS / 32;
  const uint blocks = (rows + 8 * TILES - 1) / (8 * TILES), first_row = 8 * TILES * (threadgroup_index % blocks);
  const uint outputs = GATED ? columns / 2 : columns, first = (GATED ? 4 : 8) * COLUMNS * (threadgroup_index / blocks);
  float2 sum[TILES][COLUMNS];
  UNROLL for (int tile = 0; tile < TILES; ++tile)
    UNROLL for (int j = 0; j < COLUMNS; ++j) sum[tile][j] = float2(0.0f);

  for (uint k = BLOCK * simdgroup; k < depth; k += BLOCK * SPLIT) {
    float2 run[TILES][STEPS];
    load_rows<true>(x + k, first_row, rows, depth, BLOCK, lane, run);

    // For the biases, sum each row of x over the block; a product with ones adds across lanes.
    Fragment row_sums[TILES];
    UNROLL for (int tile = 0; tile < TILES; ++tile) {
      float2 own = float2(0.0f);
      UNROLL for (int s = 0; s < STEPS; ++s) own += run[tile][s];
      row_sums[tile] = metal::make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
      multiply_add(row_sums[tile], float2(1.0f), own);
    }

    UNROLL for (int j = 0; j < COLUMNS; ++j) {
      const uint n = weight_row<COLUMNS, GATED>(first, j, outputs, lane);
      const size_t at = (size_t(n) * depth + k + STEPS * fragment_column(lane)) * BITS / 32;
      uint words[WORDS];
      UNROLL for (int i = 0; i < WORDS; ++i) words[i] = weight[at + i];
      const size_t group = size_t(n) * (depth / GROUP) + k / GROUP;
      const float scale = float(scales[group]), bias = float(biases[group]);

      Fragment product[TILES];
      UNROLL for (int tile = 0; tile < TILES; ++tile) product[tile] = metal::make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
      UNROLL for (int s = 0; s < STEPS; ++s) {
        const int low = BITS * s, high = BITS * (STEPS + s);
        constexpr uint ALL = (1u << BITS) - 1;
        const float2 q = float2(float((words[low / 32] >> (low % 32)) & ALL), float((words[high / 32] >> (high % 32)) & ALL));
        UNROLL for (int tile = 0; tile < TILES; ++tile) multiply_add(product[tile], q, run[tile][s]);
      }
      UNROLL for (int tile = 0; tile < TILES; ++tile)
        sum[tile][j] = metal::fma(
            float2(scale), elements(product[tile]), metal::fma(float2(bias), elements(row_sums[tile]), sum[tile][j]));
    }
  }
  add_and_store<T, GATED, RESIDUAL, SPLIT>(sum, sums, residual, y, first_row, rows, outputs, first, simdgroup, lane);
}

// Weights of the same type as x. WHOLE: the depth is a multiple of the block.
template <typename T, bool WHOLE, bool GATED, bool RESIDUAL, int TILES, int COLUMNS, int SPLIT, typename R>
inline void verify_matmul_dense(
    const device T* x,          // [rows, depth]
    const device T* weight,     // [columns, depth]
    R residual,                 // [rows, outputs] T, if RESIDUAL
    device T* y,                // [rows, outputs]: outputs = columns, or half of that if GATED
    threadgroup float* sums,    // [SPLIT, 8 * TILES, 8 * COLUMNS + 4]
    uint rows, uint columns, uint depth, uint threadgroup_index, uint simdgroup, uint lane) {
  constexpr int STEPS = 4, BLOCK = 8 * STEPS;
  const uint blocks = (rows + 8 * TILES - 1) / (8 * TILES), first_row = 8 * TILES * (threadgroup_index % blocks);
  const uint outputs = GATED ? columns / 2 : columns, first = (GATED ? 4 : 8) * COLUMNS * (threadgroup_index / blocks);
  Fragment product[TILES][COLUMNS];
  UNROLL for (int tile = 0; tile < TILES; ++tile)
    UNROLL for (int j = 0; j < COLUMNS; ++j) product[tile][j] = metal::make_filled_simdgroup_matrix<float, 8, 8>(0.0f);

  for (uint k = BLOCK * simdgroup; k < depth; k += BLOCK * SPLIT) {
    float2 run[TILES][STEPS];
    load_rows<WHOLE>(x + k, first_row, rows, depth, depth - k, lane, run);
    UNROLL for (int j = 0; j < COLUMNS; ++j) {
      const uint n = weight_row<COLUMNS, GATED>(first, j, outputs, lane);
      const uint own = k + STEPS * fragment_column(lane);
      float w[2 * STEPS];
      load_run<WHOLE>(weight + size_t(n) * depth + own, depth - own, w);
      UNROLL for (int s = 0; s < STEPS; ++s)
        UNROLL for (int tile = 0; tile < TILES; ++tile) multiply_add(product[tile][j], float2(w[s], w[STEPS + s]), run[tile][s]);
    }
  }
  float2 sum[TILES][COLUMNS];
  UNROLL for (int tile = 0; tile < TILES; ++tile)
    UNROLL for (int j = 0; j < COLUMNS; ++j) sum[tile][j] = elements(product[tile][j]);
  add_and_store<T, GATED, RESIDUAL, SPLIT>(sum, sums, residual, y, first_row, rows, outputs, first, simdgroup, lane);
}
