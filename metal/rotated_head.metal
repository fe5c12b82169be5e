// Prepares one head of a query or key for attention: RMSNorm over the head, then RoPE on its first ROTATED elements, in pairs
// (i, i + ROTATED / 2). One simdgroup handles one head of one row.
//
// Rounds to T where mx.fast.rms_norm and the products after it round, so kernels and plain MLX differ only in the order of one sum
// and in the last bits of cosine and sine.

template <typename T, int DIM, int ROTATED, typename F>
inline void rotated_head(
    const device T* x,      // [DIM]         elements are `stride` apart; likewise below
    size_t stride,
    const device T* norm,   // [DIM]         RMSNorm weights
    size_t norm_stride,
    F frequencies,          // [ROTATED / 2]  float, positions per radian; infinity: no rotation
    size_t frequency_stride,
    int position,           //               absolute position of this row
    float eps,
    float scale,            //               factor on the rotated elements (YaRN's attention factor)
    device T* out,          // [DIM]
    uint lane) {
  constexpr int HALF = ROTATED / 2, PAIRS = (HALF + 31) / 32, REST = (DIM - ROTATED + 31) / 32;

  float low[PAIRS], high[PAIRS], squares = 0.0f;
  for (int j = 0; j < PAIRS; ++j) {
    const uint i = lane + 32 * j;
    low[j] = i < HALF ? float(x[i * stride]) : 0.0f;
    high[j] = i < HALF ? float(x[(i + HALF) * stride]) : 0.0f;
    squares += low[j] * low[j] + high[j] * high[j];
  }
  for (int j = 0; j < REST; ++j) {
    const uint i = ROTATED + lane + 32 * j;
    const float rest = i < DIM ? float(x[i * stride]) : 0.0f;
    squares += rest * rest;
  }
  const float length = metal::precise::rsqrt(metal::simd_sum(squares) / float(DIM) + eps);
  const float factor = float(T(scale));

  for (int j = 0; j < PAIRS; ++j) {
    const uint i = lane + 32 * j;
    if (i >= HALF) break;
    const float a = float(T(factor * float(T(float(norm[i * norm_stride]) * float(T(low[j] * length))))));
    const float b = float(T(factor * float(T(float(norm[(i + HALF) * norm_stride]) * float(T(high[j] * length))))));
    const float angle = float(position) * (1.0f / frequencies[i * frequency_stride]);
    const float c = metal::precise::cos(angle), s = metal::precise::sin(angle);
    out[i] = T(a * c - b * s);
    out[i + HALF] = T(a * s + b * c);
  }
  for (int j = 0; j < REST; ++j) {
    const uint i = ROTATED + lane + 32 * j;
    if (i < DIM) out[i] = T(float(norm[i * norm_stride]) * float(T(float(x[i * stride]) * length)));
  }
}
