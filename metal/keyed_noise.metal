// Keyed noise: a Gumbel value for every (seed, position, token id), and nothing else it depends on.
//
// Threefry-2x32 with 20 rounds (Salmon et al., SC 2011). The integers are those of mlx_engine/decoding/noise.py, bit for bit.

// The first output word of the counter (position, token) under a 64-bit seed, low word first.
inline uint keyed_bits(uint low, uint high, uint position, uint token) {
  const uint schedule[3] = {low, high, low ^ high ^ 0x1BD11BDAu};
  const uint turns[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  uint a = position + low, b = token + high;
  for (uint block = 0; block < 5; ++block) {
    for (uint i = 0; i < 4; ++i) {
      const uint turn = turns[(block & 1) * 4 + i];
      a += b;
      b = ((b << turn) | (b >> (32 - turn))) ^ a;
    }
    a += schedule[(block + 1) % 3];
    b += schedule[(block + 2) % 3] + block + 1;
  }
  return a;
}

// -log(-log u) with u = (top 23 bits + 0.5) / 2^23, which float holds exactly and which is never 0 or 1.
inline float keyed_gumbel(uint low, uint high, uint position, uint token) {
  const float uniform = (float(keyed_bits(low, high, position, token) >> 9) + 0.5f) * (1.0f / 8388608.0f);
  return -metal::precise::log(-metal::precise::log(uniform));
}
