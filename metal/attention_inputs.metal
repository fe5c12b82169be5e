// Inputs of a layer's attention: converts the fused projection of queries, keys, and values into normalized, rotated heads in the
// layout of the cache. One simdgroup handles one head of one row. Value heads are only copied.
//
// In gated attention, each query head is followed by its gate, which this kernel skips.

template <typename T, int DIM, int ROTATED, int HEADS, int KV_HEADS, bool GATED, typename F>
inline void attention_inputs(
    const device T* projected,   // [rows, HEADS (x 2 if GATED) + 2 KV_HEADS, DIM]
    const device T* q_norm,      // [DIM]
    const device T* k_norm,      // [DIM]
    F frequencies,               // [ROTATED / 2]  float, positions per radian
    int first_position,          //               absolute position of row 0
    float eps,
    float scale,
    device T* queries,           // [HEADS, rows, DIM]
    device T* keys,              // [KV_HEADS, rows, DIM]
    device T* values,            // [KV_HEADS, rows, DIM]
    uint rows, uint row, uint head, uint lane) {
  constexpr uint WIDE = (GATED ? 2 : 1) * HEADS;
  const device T* own = projected + size_t(row) * (WIDE + 2 * KV_HEADS) * DIM;
  const int position = first_position + int(row);
  if (head < HEADS) {
    const device T* x = own + (GATED ? 2 : 1) * head * DIM;
    device T* out = queries + (size_t(head) * rows + row) * DIM;
    rotated_head<T, DIM, ROTATED>(x, 1, q_norm, 1, frequencies, 1, position, eps, scale, out, lane);
  } else if (head < HEADS + KV_HEADS) {
    const uint key = head - HEADS;
    device T* out = keys + (size_t(key) * rows + row) * DIM;
    rotated_head<T, DIM, ROTATED>(own + (WIDE + key) * DIM, 1, k_norm, 1, frequencies, 1, position, eps, scale, out, lane);
  } else if (head < HEADS + 2 * KV_HEADS) {
    const uint value = head - HEADS - KV_HEADS;
    const device T* x = own + (WIDE + KV_HEADS + value) * DIM;
    device T* out = values + (size_t(value) * rows + row) * DIM;
    for (uint i = lane; i < DIM; i += 32) out[i] = x[i];
  }
}
