// Block verification: finds the token that the target chooses in every row, and the number of drafts that match.
//
// `block_verify_scan` finds the best token in one part of the vocabulary of one row. `block_verify_settle` finds the best of a
// row's parts and compares it with the draft. For equal scores, the lowest id wins, as in mx.argmax. A token's score is its logit.
// When sampling, it is the logit divided by the temperature, plus keyed noise (Gumbel-max), in float. The noise depends only on
// seed, position, and token.

// Replaces (score, id) by (other_score, other_id) if that is better.
inline void block_verify_better(thread float& score, thread uint& id, float other_score, uint other_id) {
  if (other_score > score || (other_score == score && other_id < id)) {
    score = other_score;
    id = other_id;
  }
}

// Broadcasts the simdgroup's best (score, id) to all lanes.
inline void block_verify_best_lane(thread float& score, thread uint& id) {
  for (ushort step = 1; step < 32; step *= 2) {
    const float other_score = metal::simd_shuffle_xor(score, step);
    const uint other_id = metal::simd_shuffle_xor(id, step);
    block_verify_better(score, id, other_score, other_id);
  }
}

// Finds the best of the tokens [begin, end) of one row, with one threadgroup.
template <typename T, bool SAMPLED, int SIMDGROUPS>
inline void block_verify_scan(
    const device T* logits,          // [vocabulary]     this row
    float temperature,               //                  sampling only, like the next three
    uint seed_low, uint seed_high,
    uint position,                   //                  position of the token that this row chooses
    device float* score,             // [1]              best token
    device uint* id,                 // [1]
    threadgroup float* scores,       // [SIMDGROUPS]
    threadgroup uint* ids,           // [SIMDGROUPS]
    uint begin, uint end, uint simdgroup, uint lane) {
  float best = -INFINITY;
  uint best_id = begin;
  for (uint token = begin + simdgroup * 32 + lane; token < end; token += SIMDGROUPS * 32) {
    float value = float(logits[token]);
    if (SAMPLED) value = value / temperature + keyed_gumbel(seed_low, seed_high, position, token);
    if (value > best) {
      best = value;
      best_id = token;
    }
  }
  block_verify_best_lane(best, best_id);
  if (lane == 0) {
    scores[simdgroup] = best;
    ids[simdgroup] = best_id;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simdgroup == 0 && lane == 0) {
    for (uint i = 1; i < SIMDGROUPS; ++i) block_verify_better(best, best_id, scores[i], ids[i]);
    *score = best;
    *id = best_id;
  }
}

// Runs in one threadgroup with one simdgroup per row. MLX passes short arrays in the constant address space and longer ones in
// device, so their types are template parameters.
template <typename Scores, typename Ids, typename Drafts>
inline void block_verify_settle(
    Scores scores,                   // [rows, parts]    float, from block_verify_scan
    Ids ids,                         // [rows, parts]    uint
    Drafts drafts,                   // [rows - 1]       uint; not read if there is one row
    device uint* choices,            // [rows]           the target's choices
    device uint* counted,            // [2]              number of accepted drafts; the target's token after them
    threadgroup uint* chosen,        // [rows]
    uint parts, uint rows, uint row, uint lane) {
  float best = -INFINITY;
  uint best_id = 0xFFFFFFFFu;
  for (uint part = lane; part < parts; part += 32)
    block_verify_better(best, best_id, scores[row * parts + part], ids[row * parts + part]);
  block_verify_best_lane(best, best_id);
  if (lane == 0) chosen[row] = choices[row] = best_id;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (row == 0) {
    const bool refused = lane + 1 < rows && drafts[lane] != chosen[lane];
    const uint accepted = metal::simd_min(refused ? lane : rows - 1);
    if (lane == 0) {
      counted[0] = accepted;
      counted[1] = chosen[accepted];
    }
  }
}
