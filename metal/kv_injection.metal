// K/V injection: the drafter's context rows, for all layers of a kind at once.
//
// One GEMM has projected S context rows to K and V of every drafter layer. This kernel normalises each K head (RMSNorm), rotates
// it to its absolute position (RoPE) and lays K and V out as the cache wants them. One simdgroup serves one (layer, head) of one row.

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
  turned_head<T, DIM, DIM>(
      k, stride, k_norm, norm_stride, frequencies, frequency_stride, position, eps, scale, keys, lane);
  for (uint i = lane; i < DIM; i += 32) values[i] = v[i * stride];
}
