// K/V injection: context rows for all drafter layers with the same window.
//
// One GEMM has projected the context rows to K and V of every drafter layer. This kernel normalizes each K head (RMSNorm), rotates
// it to its absolute position (RoPE) and writes K and V in the layout of the cache. One simdgroup handles one (layer, head) of one
// row.

template <typename T, int DIM>
inline void kv_injection(
    const device T* k,                 // [DIM]        K of this row, layer, and head, with elements `stride` apart; likewise below
    const device T* v,                 // [DIM]
    size_t stride,
    const device T* k_norm,            // [DIM]        RMSNorm weights of this layer
    size_t norm_stride,
    const device float* frequencies,   // [DIM / 2]    positions per radian; infinity: no rotation
    size_t frequency_stride,
    int position,                      //              absolute position of this row
    float eps,
    float scale,                       //              factor on the keys (YaRN's attention factor)
    device T* keys,                    // [DIM]        this row in the layout of the cache
    device T* values,                  // [DIM]
    uint lane) {
  rotated_head<T, DIM, DIM>(
      k, stride, k_norm, norm_stride, frequencies, frequency_stride, position, eps, scale, keys, lane);
  for (uint i = lane; i < DIM; i += 32) values[i] = v[i * stride];
}
