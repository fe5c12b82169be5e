// Gated delta net for one block: adds the kept rows of the previous block to the state, then runs the new rows on a copy.
//
// For each value head with state S [DV, DK], and each row t:
//   S = g_t S;   delta_t = beta_t (v_t - S k_t);   S = S + delta_t k_t';   y_t = S q_t
//
// A rejected row can't be removed from S. The kernel therefore writes the state before the new rows, and the next block replays the
// kept ones. The replay uses the same operations and gives the same bits.
//
// A simdgroup handles 8 rows of S with four lanes per row. A lane keeps DK / 4 consecutive elements in registers throughout, so S
// is read once and written once. Sums have the same order as in mlx-lm's kernel, which spreads a head over 32 lanes: chains of
// DK / 32 elements, then pairs, pairs of pairs, and so on; the last two steps are between lanes. Every product that is added to
// something is an explicit fma, so that the rounding doesn't depend on the compiler.

// Returns one element of S k or S q: the product of one row of S, held by four lanes, and x.
template <int DK>
inline float row_dot(thread float (&state)[DK / 4], thread float (&x)[DK / 4]) {
  constexpr int CHAIN = DK / 32;
  float sum[8];
  UNROLL for (int i = 0; i < 8; ++i) {
    sum[i] = 0.0f;
    UNROLL for (int j = 0; j < CHAIN; ++j) sum[i] = metal::fma(state[CHAIN * i + j], x[CHAIN * i + j], sum[i]);
  }
  float all = ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
  all += metal::simd_shuffle_xor(all, ushort(1));
  return all + metal::simd_shuffle_xor(all, ushort(2));
}

template <int N, typename P>
inline void load_run(P from, thread float (&run)[N]) {
  UNROLL for (int i = 0; i < N; ++i) run[i] = float(from[i]);
}

// Adds delta k' to a row of S.
template <int N>
inline void add_outer(thread float (&state)[N], thread float (&k)[N], float delta) {
  UNROLL for (int i = 0; i < N; ++i) state[i] = metal::fma(k[i], delta, state[i]);
}

template <int N>
inline void apply_decay(thread float (&state)[N], float g) {
  UNROLL for (int i = 0; i < N; ++i) state[i] *= g;
}

// Updates the state by one row: decay, then the row's contribution.
template <int DK, typename K>
inline void run_row(thread float (&state)[DK / 4], K k, float v, float g, float beta) {
  float x[DK / 4];
  load_run(k, x);
  apply_decay(state, g);
  add_outer(state, x, (v - row_dot<DK>(state, x)) * beta);
}

template <typename T, int DK, typename V, typename G, typename B, typename OV, typename OG, typename OB>
inline void gated_delta_replay(
    const device T* q,             // [rows, key_heads, DK]
    const device T* k,             // [rows, key_heads, DK]
    V v,                           // [rows, value_heads, DV] T
    G g,                           // [rows, value_heads]       float32
    B beta,                        // [rows, value_heads] T
    const device float* before,    // [value_heads, DV, DK]     state before the previous block
    const device T* old_k,         // [.., key_heads, DK]       previous block, like the next four
    OV old_v,                      // [.., value_heads, DV] T
    OG old_g,                      // [.., value_heads]         float32
    OB old_beta,                   // [.., value_heads] T
    uint kept,                     //                           number of kept rows of the previous block
    device T* y,                   // [rows, value_heads, DV]
    device float* after,           // [value_heads, DV, DK]     state after the kept rows
    uint rows, uint key_heads, uint value_heads, uint DV, uint head, uint eight, uint lane) {
  constexpr int HELD = DK / 4;
  const uint key_head = head / (value_heads / key_heads), own = HELD * (lane % 4), wanted = 8 * eight + lane / 4;
  const uint dv = metal::min(wanted, DV - 1);  // lanes past the last row recompute it and write nothing
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
