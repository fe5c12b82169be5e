// Gated delta net, one block: first the kept rows of the block before are made part of the state, then the new rows run on a copy.
//
// Per value head, with the state S [DV, DK] and for each row t:
//   S = g_t S;   delta_t = beta_t (v_t - S k_t);   S = S + delta_t k_t';   y_t = S q_t
//
// A rejected row cannot be taken out of S again. So what is written is the state before the new rows; those of them that are kept run
// once more at the beginning of the next block, by the very operations that ran them first, and give the same bits.
//
// A simdgroup serves 8 rows of S, four lanes a row; a lane holds DK / 4 successive elements in registers from the first row to the
// last, so that S is read once and written once. The sums run as in mlx-lm's kernel for one head dim in 32 lanes: chains of DK / 32
// elements, then pairs, pairs of pairs and so on, the last two steps between lanes.

// S k or S q of one row of S, from what its lanes hold.
template <int DK>
inline float row_dot(thread float (&state)[DK / 4], thread float (&x)[DK / 4]) {
  constexpr int CHAIN = DK / 32;
  float sum[8];
  UNROLL for (int i = 0; i < 8; ++i) {
    sum[i] = state[CHAIN * i] * x[CHAIN * i];
    UNROLL for (int j = 1; j < CHAIN; ++j) sum[i] = metal::fma(state[CHAIN * i + j], x[CHAIN * i + j], sum[i]);
  }
  float all = ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
  all += metal::simd_shuffle_xor(all, ushort(1));
  return all + metal::simd_shuffle_xor(all, ushort(2));
}

template <int N, typename P>
inline void load_run(P from, thread float (&run)[N]) {
  UNROLL for (int i = 0; i < N; ++i) run[i] = float(from[i]);
}

// What a row adds. The fused operation is written out, so that no compiler chooses one here and another there.
template <int N>
inline void add_outer(thread float (&state)[N], thread float (&k)[N], float delta) {
  UNROLL for (int i = 0; i < N; ++i) state[i] = metal::fma(k[i], delta, state[i]);
}

template <int N>
inline void decay(thread float (&state)[N], float g) {
  UNROLL for (int i = 0; i < N; ++i) state[i] *= g;
}

// One row: decays S and adds what the row writes.
template <int DK, typename K>
inline void run_row(thread float (&state)[DK / 4], K k, float v, float g, float beta) {
  float x[DK / 4];
  load_run(k, x);
  decay(state, g);
  add_outer(state, x, (v - row_dot<DK>(state, x)) * beta);
}

template <typename T, int DK, typename V, typename G, typename B, typename OV, typename OG, typename OB>
inline void gated_delta_replay(
    const device T* q,             // [rows, key_heads, DK]
    const device T* k,             // [rows, key_heads, DK]
    V v,                           // [rows, value_heads, DV] T
    G g,                           // [rows, value_heads]       float32
    B beta,                        // [rows, value_heads] T
    const device float* before,    // [value_heads, DV, DK]     the state before the block before
    const device T* old_k,         // [.., key_heads, DK]       of the block before, like the four that follow
    OV old_v,                      // [.., value_heads, DV] T
    OG old_g,                      // [.., value_heads]         float32
    OB old_beta,                   // [.., value_heads] T
    uint kept,                     //                           rows of the block before that count
    device T* y,                   // [rows, value_heads, DV]
    device float* after,           // [value_heads, DV, DK]     the state after the kept rows
    uint rows, uint key_heads, uint value_heads, uint DV, uint head, uint eight, uint lane) {
  constexpr int HELD = DK / 4;
  const uint key_head = head / (value_heads / key_heads), own = HELD * (lane % 4), wanted = 8 * eight + lane / 4;
  const uint dv = metal::min(wanted, DV - 1);  // lanes beyond the last row compute it once more and write nothing
  const size_t at = (size_t(head) * DV + dv) * DK + own;

  float state[HELD];
  load_run(before + at, state);
  for (uint t = 0; t < kept; ++t) {
    const uint here = t * value_heads + head;
    const device T* row = old_k + (t * key_heads + key_head) * DK + own;
    run_row<DK>(state, row, float(old_v[here * DV + dv]), old_g[here], float(old_beta[here]));
  }
  if (wanted < DV)
    UNROLL for (int i = 0; i < HELD; ++i) after[at + i] = state[i];

  for (uint t = 0; t < rows; ++t) {
    const uint here = t * value_heads + head, row = (t * key_heads + key_head) * DK + own;
    run_row<DK>(state, k + row, float(v[here * DV + dv]), g[here], float(beta[here]));
    float x[HELD];
    load_run(q + row, x);
    const float result = row_dot<DK>(state, x);
    if (lane % 4 == 0 && wanted < DV) y[here * DV + dv] = T(result);
  }
}
