// K/V injection: the drafter's context rows, for all layers of a kind at once.
//
// One GEMM has projected S context rows to K and V of every drafter layer. This kernel normalises each K head (RMSNorm), rotates
// it to its absolute position (RoPE) and lays K and V out as the cache wants them. One simdgroup serves one (layer, head) of one row.
//
// Rounds to T wherever mx.fast.rms_norm and the products after it round, so that kernel and fallback differ only by the order of
// one sum and by the last bits of cosine and sine.

template <typename T, int DIM>
inline void kv_injection(
    const device T* k,                 // [DIM]        K of this row, layer and head; elements `stride` apart, and so for the others
    const device T* v,                 // [DIM]
    size_t stride,
    const device T* k_norm,            // [DIM]        RMSNorm weights of this layer
    size_t norm_stride,
    const device float* frequencies,   // [DIM / 2]    positions per radian; infinity leaves a pair unrotated
    size_t frequency_stride,
    int position,                      //              absolute, of this row
    float eps,
    float scale,                       //              on the keys (yarn's attention factor)
    device T* keys,                    // [DIM]        this row's place in the layout of the cache
    device T* values,                  // [DIM]
    uint lane) {
  constexpr int HALF = DIM / 2;
  constexpr int PER_LANE = (HALF + 31) / 32;

  float low[PER_LANE], high[PER_LANE], squares = 0.0f;
  for (int j = 0; j < PER_LANE; ++j) {
    const uint i = lane + 32 * j;
    low[j] = i < HALF ? float(k[i * stride]) : 0.0f;
    high[j] = i < HALF ? float(k[(i + HALF) * stride]) : 0.0f;
    squares += low[j] * low[j] + high[j] * high[j];
  }
  const float norm = metal::precise::rsqrt(metal::simd_sum(squares) / float(DIM) + eps);
  const float factor = float(T(scale));

  for (int j = 0; j < PER_LANE; ++j) {
    const uint i = lane + 32 * j;
    if (i >= HALF) break;
    const float x = float(T(factor * float(T(float(k_norm[i * norm_stride]) * float(T(low[j] * norm))))));
    const float y = float(T(factor * float(T(float(k_norm[(i + HALF) * norm_stride]) * float(T(high[j] * norm))))));
    const float angle = float(position) * (1.0f / frequencies[i * frequency_stride]);
    const float c = metal::precise::cos(angle), s = metal::precise::sin(angle);
    keys[i] = T(x * c - y * s);
    keys[i + HALF] = T(x * s + y * c);
    values[i] = v[i * stride];
    values[i + HALF] = v[(i + HALF) * stride];
  }
}
