// Inputs of a gated delta net: converts the fused projection into the inputs of the recurrence. Applies the short convolution and
// silu, normalizes queries and keys, scales the queries, and computes decay and beta from two numbers per value head.
// One simdgroup handles one head of one row.
//
// Computes in float and rounds each output once.

inline float silu(float x) { return x / (1.0f + metal::precise::exp(-x)); }

template <typename T, int DK, int DV, int HK, int HV, int TAPS, typename A, typename B>
inline void delta_inputs(
    const device T* projected,    // [rows, channels + HV * DV + 2 HV]: convolution inputs, output gate, b, a
    const device T* held,         // [TAPS - 1, channels]     the preceding rows
    const device T* taps,         // [channels, TAPS]         convolution weights
    A log_rate,                   // [HV]
    B bias,                       // [HV]                     added to a
    device T* queries,            // [rows, HK, DK]
    device T* keys,               // [rows, HK, DK]
    device T* values,             // [rows, HV, DV]
    device float* decay,          // [rows, HV]
    device T* beta,               // [rows, HV]
    device T* convolved,          // [TAPS - 1 + rows, channels]: convolution inputs, including the preceding rows
    uint rows, uint row, uint head, uint lane) {
  constexpr uint CHANNELS = 2 * HK * DK + HV * DV, WIDTH = CHANNELS + HV * DV + 2 * HV;
  constexpr int DIM = DK > DV ? DK : DV, PER_LANE = (DIM + 31) / 32;
  if (head >= 2 * HK + HV) return;
  const bool is_value = head >= 2 * HK;
  const uint first = is_value ? 2 * HK * DK + (head - 2 * HK) * DV : head * DK, dim = is_value ? DV : DK;

  float x[PER_LANE], squares = 0.0f;
  for (int j = 0; j < PER_LANE; ++j) {
    const uint i = lane + 32 * j, channel = first + i;
    x[j] = 0.0f;
    if (i >= dim) continue;
    float sum = 0.0f;
    for (uint tap = 0; tap < TAPS; ++tap) {
      const uint at = row + tap;  // counts the preceding rows too
      const T in = at < TAPS - 1 ? held[at * CHANNELS + channel] : projected[(at - (TAPS - 1)) * size_t(WIDTH) + channel];
      sum = metal::fma(float(in), float(taps[channel * TAPS + tap]), sum);
    }
    x[j] = silu(sum);
    squares += x[j] * x[j];
    convolved[(TAPS - 1 + row) * size_t(CHANNELS) + channel] = projected[row * size_t(WIDTH) + channel];
    for (uint before = row; before < TAPS - 1; before += rows)
      convolved[before * CHANNELS + channel] = held[before * CHANNELS + channel];
  }
  const float length = metal::precise::rsqrt(metal::simd_sum(squares) + 1e-6f);

  if (is_value) {
    const uint own = head - 2 * HK, at = row * HV + own;
    for (int j = 0; j < PER_LANE; ++j)
      if (lane + 32 * j < DV) values[at * DV + lane + 32 * j] = T(x[j]);
    if (lane == 0) {
      const device T* gates = projected + row * size_t(WIDTH) + CHANNELS + HV * DV;
      const float a = float(gates[HV + own]) + float(bias[own]);
      const float softplus = metal::max(a, 0.0f) + log1p(metal::precise::exp(-metal::abs(a)));
      decay[at] = metal::precise::exp(-metal::precise::exp(float(log_rate[own])) * softplus);
      beta[at] = T(1.0f / (1.0f + metal::precise::exp(-float(gates[own]))));
    }
  } else {
    const bool is_key = head >= HK;
    const float factor = is_key ? length : length * metal::precise::rsqrt(float(DK));
    device T* out = (is_key ? keys : queries) + (row * HK + (is_key ? head - HK : head)) * DK;
    for (int j = 0; j < PER_LANE; ++j)
      if (lane + 32 * j < DK) out[lane + 32 * j] = T(x[j] * factor);
  }
}
