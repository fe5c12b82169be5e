// Attention for a verify pass: the rows of one block over a long K/V cache.
//
// Query heads that share a K/V head form a group. The rows of a group, (heads in the group) * block of them, form one matrix, so
// each tile of K and V is loaded once for the group. The keys are split into parts, one per threadgroup, and a second kernel merges
// the parts. The number of keys is read on the device, so the grid doesn't depend on it.
//
// With PART > 0, each part has PART keys, counted from the buffer's first row. A row then adds the same keys in the same order,
// alone or in a block: keys and parts that it doesn't see add exact zeros. It may be compiled for another number of rows, so every
// product that is added to something is an explicit fma: the compiler has no choice.
//
// A simdgroup handles 8 * TILES rows. As in verify_matmul, the order of a sum in a fragment is chosen for the loads: step s of RUN
// takes head dims RUN * i + s for i = 0..7, so a lane reads consecutive elements.
//
// Scores, weights, and sums are float32. Weights are computed with exp2, so scores include the factor log2(e).

// Number of consecutive head dims per lane and step. All supported head dims except 80 are multiples of 32.
template <int DIM>
constexpr int run_length() { return DIM % 32 == 0 ? 4 : 2; }

// Reductions over the four lanes that hold one row of a fragment. Their indices differ in the bits 1 and 8.
inline float row_max(float x) {
  x = metal::max(x, metal::simd_shuffle_xor(x, ushort(1)));
  return metal::max(x, metal::simd_shuffle_xor(x, ushort(8)));
}
inline float row_sum(float x) {
  x += metal::simd_shuffle_xor(x, ushort(1));
  return x + metal::simd_shuffle_xor(x, ushort(8));
}

// Copies `count` rows of DIM elements to threadgroup memory, and zeros up to KEYS rows: the unwritten part of a cache is undefined.
template <typename T, int DIM, int KEYS>
inline void fetch(const device T* source, threadgroup uint4* tile, uint count, uint thread_index, uint threads) {
  constexpr uint PIECES = DIM * sizeof(T) / sizeof(uint4);  // per row; rows in the tile are one piece longer
  const device uint4* from = reinterpret_cast<const device uint4*>(source);
  const uint filled = count * PIECES;
  for (uint at = thread_index; at < filled; at += threads) tile[at + at / PIECES] = from[at];
  for (uint at = filled + thread_index; at < KEYS * PIECES; at += threads) tile[at + at / PIECES] = uint4(0);
}

// Attention over one part of the keys, for 8 * TILES * simdgroups rows. A row sees at most WINDOW keys, including its own (0: all).
template <typename T, int DIM, int KEYS, int TILES, bool CAUSAL, uint WINDOW, uint PART>
inline void verify_attention_part(
    const device T* queries,    // [kv_heads, rows, DIM]       for each head of the group, the rows of the block
    const device T* keys,       // [kv_heads, capacity, DIM]
    const device T* values,     // [kv_heads, capacity, DIM]
    uint length,                //                             number of keys; the last `block` of them belong to the block
    float scale,
    device float* sums,         // [kv_heads, parts, rows, DIM]   sum of weight * value
    device float* weights,      // [kv_heads, parts, rows, 2]     largest score, and sum of the weights relative to it
    threadgroup uint4* key_tile,    // [KEYS, DIM + 16 bytes]
    threadgroup uint4* value_tile,  // [KEYS, DIM + 16 bytes]
    uint rows, uint block, uint capacity, uint parts, uint3 place, uint simdgroup, uint simdgroups, uint lane) {
  constexpr uint RUN = run_length<DIM>(), STRIDE = DIM + 16 / sizeof(T);
  const uint part = place.x, head = place.y, row = fragment_row(lane), column = fragment_column(lane);
  const uint first_row = 8 * TILES * (place.z * simdgroups + simdgroup);
  const float factor = scale * M_LOG2E_F;

  // The parts start at the first key that any row sees. All but the last have the same number of whole tiles.
  const uint seen = block + WINDOW - 1;
  const uint first = WINDOW > 0 && length > seen ? length - seen : 0;
  const uint share = PART > 0 ? PART : (length - first + parts * KEYS - 1) / (parts * KEYS) * KEYS;
  const uint start = PART > 0 ? part * PART : first + part * share, end = metal::min(length, start + share);
  const uint begin = PART > 0 ? metal::max(start, first / KEYS * KEYS) : metal::min(length, start);  // in whole tiles

  const threadgroup T* key_rows = reinterpret_cast<const threadgroup T*>(key_tile);
  const threadgroup T* value_rows = reinterpret_cast<const threadgroup T*>(value_tile);
  uint own[TILES];
  int position[TILES];
  float largest[TILES], total[TILES];
  float2 sum[TILES][DIM / 8];
  UNROLL for (uint t = 0; t < TILES; ++t) {
    own[t] = metal::min(first_row + 8 * t + row, rows - 1);
    position[t] = int(length) - int(block) + int(own[t] % block);
    largest[t] = -INFINITY;
    total[t] = 0.0f;
    UNROLL for (uint f = 0; f < DIM / 8; ++f) sum[t][f] = float2(0.0f);
  }

  for (uint from = begin; from < end; from += KEYS) {
    const size_t at = (size_t(head) * capacity + from) * DIM;
    const uint count = metal::min(uint(KEYS), end - from);
    metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);
    fetch<T, DIM, KEYS>(keys + at, key_tile, count, 32 * simdgroup + lane, 32 * simdgroups);
    fetch<T, DIM, KEYS>(values + at, value_tile, count, 32 * simdgroup + lane, 32 * simdgroups);
    metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);

    Fragment score[TILES][KEYS / 8];
    UNROLL for (uint t = 0; t < TILES; ++t)
      UNROLL for (uint f = 0; f < KEYS / 8; ++f) score[t][f] = metal::make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    for (uint d = 0; d < DIM; d += 8 * RUN) {
      float q[TILES][2 * RUN];
      UNROLL for (uint t = 0; t < TILES; ++t) {
        const device T* from_row = queries + (size_t(head) * rows + own[t]) * DIM + d + RUN * column;
        load_floats<4>(reinterpret_cast<const device metal::vec<T, 4>*>(from_row), q[t]);
      }
      UNROLL for (uint f = 0; f < KEYS / 8; ++f) {
        const threadgroup T* k = key_rows + (8 * f + column) * STRIDE + d + RUN * row;
        float left[RUN], right[RUN];
        load_floats<RUN>(reinterpret_cast<const threadgroup metal::vec<T, RUN>*>(k), left);
        load_floats<RUN>(reinterpret_cast<const threadgroup metal::vec<T, RUN>*>(k + STRIDE), right);
        UNROLL for (uint s = 0; s < RUN; ++s)
          UNROLL for (uint t = 0; t < TILES; ++t)
            multiply_add(score[t][f], float2(q[t][s], q[t][RUN + s]), float2(left[s], right[s]));
      }
    }

    UNROLL for (uint t = 0; t < TILES; ++t) {
      float top = largest[t];
      UNROLL for (uint f = 0; f < KEYS / 8; ++f)
        UNROLL for (uint e = 0; e < 2; ++e) {
          const int key = int(from + 8 * f + column + e);
          const bool in_window = WINDOW == 0 || position[t] - key < int(WINDOW);
          const bool seen_by_row = key < int(end) && (!CAUSAL || key <= position[t]) && in_window;
          const float x = seen_by_row ? metal::fma(elements(score[t][f])[e], factor, 0.0f) : -INFINITY;
          elements(score[t][f])[e] = x;
          top = metal::max(top, x);
        }
      top = row_max(top);
      const float base = top == -INFINITY ? 0.0f : top;  // the row has not seen a key yet
      const float shrink = metal::precise::exp2(largest[t] - base);
      largest[t] = top;
      float added = 0.0f;
      UNROLL for (uint f = 0; f < DIM / 8; ++f) sum[t][f] *= shrink;
      UNROLL for (uint f = 0; f < KEYS / 8; ++f)
        UNROLL for (uint e = 0; e < 2; ++e) {
          const float weight = metal::precise::exp2(elements(score[t][f])[e] - base);
          elements(score[t][f])[e] = weight;
          added += weight;
        }
      total[t] = metal::fma(total[t], shrink, added);
    }

    UNROLL for (uint d = 0; d < DIM / 8; d += RUN)
      UNROLL for (uint f = 0; f < KEYS / 8; ++f) {
        const threadgroup T* v = value_rows + (8 * f + row) * STRIDE + 8 * d + RUN * column;
        float pairs[2 * RUN];
        load_floats<4>(reinterpret_cast<const threadgroup metal::vec<T, 4>*>(v), pairs);
        UNROLL for (uint s = 0; s < RUN; ++s) {
          UNROLL for (uint t = 0; t < TILES; ++t) {
            Fragment added;
            elements(added) = sum[t][d + s];
            multiply_add(added, elements(score[t][f]), float2(pairs[2 * s], pairs[2 * s + 1]));
            sum[t][d + s] = elements(added);
          }
        }
      }
  }

  UNROLL for (uint t = 0; t < TILES; ++t) {
    const float all = row_sum(total[t]);
    const uint m = first_row + 8 * t + row;
    if (m < rows) {
      const size_t at = (size_t(head) * parts + part) * rows + m;
      UNROLL for (uint d = 0; d < DIM / 8; d += RUN)
        UNROLL for (uint s = 0; s < RUN; ++s)
          UNROLL for (uint e = 0; e < 2; ++e) sums[at * DIM + 8 * d + RUN * column + 2 * s + e] = sum[t][d + s][e];
      if (column == 0) {
        weights[2 * at] = largest[t];
        weights[2 * at + 1] = all;
      }
    }
  }
}

// Merges the parts of one row, with one simdgroup per row. A sink is a score without a value.
template <typename T, int DIM, bool SINKS, typename W, typename S>
inline void verify_attention_merge(
    const device float* sums,     // [kv_heads, parts, rows, DIM]
    W weights,                    // [kv_heads, parts, rows, 2] float32, `constant` below 8 elements
    S sinks,                      // [heads] T; unused without SINKS
    device T* out,                // [block, heads, DIM]
    uint rows, uint block, uint parts, uint kv_heads, uint index, uint lane) {
  const uint head = index / rows, m = index % rows, group = rows / block;
  const uint heads = kv_heads * group, query_head = head * group + m / block;
  const size_t at = size_t(head) * parts * rows + m;
  float largest = SINKS ? float(sinks[query_head]) * M_LOG2E_F : -INFINITY;
  for (uint part = lane; part < parts; part += 32) largest = metal::max(largest, weights[2 * (at + part * rows)]);
  largest = metal::simd_max(largest);

  // In the order of the parts, so that empty parts change nothing
  float total = SINKS ? metal::precise::exp2(metal::fma(float(sinks[query_head]), M_LOG2E_F, -largest)) : 0.0f;
  float sum[(DIM + 31) / 32] = {};
  for (uint part = 0; part < parts; ++part) {
    const float share = metal::precise::exp2(weights[2 * (at + part * rows)] - largest);
    total = metal::fma(share, weights[2 * (at + part * rows) + 1], total);
    UNROLL for (uint i = 0; i < (DIM + 31) / 32; ++i)
      if (lane + 32 * i < DIM) sum[i] = metal::fma(share, sums[(at + part * rows) * DIM + lane + 32 * i], sum[i]);
  }
  UNROLL for (uint i = 0; i < (DIM + 31) / 32; ++i)
    if (lane + 32 * i < DIM) out[(size_t(m % block) * heads + query_head) * DIM + lane + 32 * i] = T(sum[i] / total);
}
