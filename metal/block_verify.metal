// Block verification: which token the target chooses in every row, and how many drafts that confirms.
//
// `block_verify_scan` finds the best token of one part of one row's vocabulary, `block_verify_settle` the best of a row's parts, then
// compares with the draft. Of equal scores the lowest id wins, as with mx.argmax. A row's score is its logit; or, sampled, the logit
// over the temperature plus keyed noise (Gumbel-max), in float: the draw is a function of seed, position and token alone.

// (score, id) becomes the better of itself and (other_score, other_id).
inline void block_verify_better(thread float& score, thread uint& id, float other_score, uint other_id) {
  if (other_score > score || (other_score == score && other_id < id)) {
    score = other_score;
    id = other_id;
  }
}

// The best of a simdgroup, in every lane.
inline void block_verify_best_lane(thread float& score, thread uint& id) {
  for (ushort step = 1; step < 32; step *= 2) {
    const float other_score = metal::simd_shuffle_xor(score, step);
    const uint other_id = metal::simd_shuffle_xor(id, step);
    block_verify_better(score, id, other_score, other_id);
  }
}

// One threadgroup: the best of the tokens [begin, end) of one row.
template <typename T, bool SAMPLED, int SIMDGROUPS>
inline void block_verify_scan(
    const device T* logits,          // [vocabulary]     of this row
    float temperature,               //                  sampled only, like the next three
    uint seed_low, uint seed_high,
    uint position,                   //                  of the token that this row chooses
    device float* score,             // [1]              of the best token
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

// One threadgroup, one simdgroup a row. Short arrays come in the constant address space, longer ones in device: hence the types.
template <typename Scores, typename Ids, typename Drafts>
inline void block_verify_settle(
    Scores scores,                   // [rows, parts]    float, from block_verify_scan
    Ids ids,                         // [rows, parts]    uint
    Drafts drafts,                   // [rows - 1]       uint; for one row nothing is read
    device uint* choices,            // [rows]           what the target chooses
    device uint* counted,            // [2]              drafts accepted; the target's own token after them
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
